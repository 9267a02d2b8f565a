import type { Json } from "../base/api";
import { titled, type Schema, type Typed } from "../logic/schema";
import { Dialog } from "./dialog";
import { SchemaForm } from "./form";

/** A form of ours in a dialog; it closes when what was asked for is done. */
export function FormDialog({ title, schema, verb, submit, close, start }: {
  title: string; schema: Schema; verb: string; submit: (value: Record<string, Json>) => Promise<unknown>; close: () => void; start?: Typed;
}) {
  const send = async (value: Record<string, Json>): Promise<void> => {
    await submit(value);
    close();
  };
  return (
    <Dialog title={title} close={close}>
      <SchemaForm schema={titled(schema)} verb={verb} submit={send} cancel={close} {...(start ? { start } : {})} />
    </Dialog>
  );
}
