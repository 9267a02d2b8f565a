import type { Json } from "../base/api";
import type { Schema, Typed } from "../logic/schema";
import { Dialog } from "./dialog";
import { SchemaForm } from "./form";

/** A form in a dialog; it closes when what was asked for is done. */
export function FormDialog({ title, schema, verb, submit, close, start, lead }: {
  title: string; schema: Schema; verb: string; submit: (value: Record<string, Json>) => Promise<unknown>; close: () => void; start?: Typed; lead?: string;
}) {
  const send = async (value: Record<string, Json>): Promise<void> => {
    await submit(value);
    close();
  };
  return (
    <Dialog title={title} close={close}>
      {lead && <p className="dialog-text quiet">{lead}</p>}
      <SchemaForm schema={schema} verb={verb} submit={send} cancel={close} {...(start ? { start } : {})} />
    </Dialog>
  );
}
