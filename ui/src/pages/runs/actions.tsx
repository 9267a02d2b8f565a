import { useState } from "react";

import { act, post, type Json } from "../../base/api";
import { useRead } from "../../base/query";
import { go } from "../../base/router";
import { may, useMe } from "../../base/session";
import { actionOf, LABEL, MEANING, request, verbs, type Verb } from "../../logic/actions";
import type { Schema, Typed } from "../../logic/schema";
import { title, type Step } from "../../logic/steps";
import { clean } from "../../logic/text";
import { confirmed, Dialog } from "../../parts/dialog";
import { SchemaForm } from "../../parts/form";
import { told } from "../../parts/toast";
import type { Run } from "./model";

const DANGER: ReadonlySet<Verb> = new Set(["cancel", "abandon"]);

/** What can be done to a run now; the server is asked only after a question where something is lost. */
export function Actions({ run, done }: { run: Run; done: () => void }) {
  const me = useMe();
  const [open, setOpen] = useState<"fork" | "signal" | null>(null);
  const name = clean(run.name);
  const press = async (verb: Verb): Promise<void> => {
    if (verb === "fork" || verb === "signal") {
      setOpen(verb);
      return;
    }
    const asked = request(run.kind, run.id, verb);
    const deed = (): Promise<unknown> => (asked.body === undefined ? act(asked.path) : post(asked.path, asked.body));
    const said = `${LABEL[verb]}: ${name}`;
    if (verb === "pause" || verb === "resume") await told(deed, said);
    else await confirmed({ title: `${LABEL[verb]}: ${name}?`, text: MEANING[verb], verb: LABEL[verb], danger: DANGER.has(verb) }, deed, said);
    done();
  };
  return (
    <>
      {verbs(run.kind, run.state).filter((verb) => may(me, actionOf(run.kind, verb))).map((verb) => (
        <button key={verb} type="button" className={DANGER.has(verb) ? "danger" : undefined} title={MEANING[verb]} onClick={() => void press(verb)}>{LABEL[verb]}</button>
      ))}
      {open === "signal" && <Signal run={run} close={() => setOpen(null)} />}
      {open === "fork" && <Fork run={run} step={null} close={() => setOpen(null)} />}
    </>
  );
}

function Signal({ run, close }: { run: Run; close: () => void }) {
  const declared = useRead<{ items: { name: string; version: string; signals: string[] | null }[] }>("/v1/workflows", { limit: 500 });
  if (declared.loading) return null;
  const names = [...new Set(declared.data?.items.filter((one) => one.name === run.name).flatMap((one) => one.signals ?? []) ?? [])];
  const schema: Schema = {
    properties: {
      name: { type: "string", title: "Signal", ...(names.length ? { enum: names } : {}), description: "What the workflow waits for: app.wait_for(name)." },
      value: { title: "Value", description: "Any JSON. Empty: null." },
    },
    required: ["name"],
  };
  const send = async (value: Record<string, Json>): Promise<void> => {
    await post(`/v1/runs/${run.id}/signal`, { name: value["name"], value: value["value"] ?? null });
    await told(() => Promise.resolve(true), "The signal was sent");
    close();
  };
  return (
    <Dialog title={`Signal to ${clean(run.name)}`} close={close}>
      <SchemaForm schema={schema} verb="Send" submit={send} cancel={close} {...(names[0] ? { start: { name: names[0] } } : {})} />
    </Dialog>
  );
}

/** A new run with this one's history: up to a step, with an edited output, or from the beginning with edited input. */
export function Fork({ run, step, close }: { run: Run; step: Step | null; close: () => void }) {
  const schema: Schema = step === null
    ? { properties: { arguments: { title: "Input", description: "Changed input runs everything again." } } }
    : { properties: { outputs: { title: "Outputs to change", description: 'Of steps before this one: {"charge#1": "p-2"}. Empty: as they were.' } } };
  const start: Typed = step === null ? { arguments: JSON.stringify(run.params, null, 2) } : { outputs: "" };
  const send = async (value: Record<string, Json>): Promise<void> => {
    const body = step === null ? { arguments: value["arguments"] ?? {} } : { step: step.node, ...(value["outputs"] ? { outputs: value["outputs"] } : {}) };
    const made = await post<{ id: string }>(`/v1/runs/${run.id}/fork`, body);
    close();
    go(`/runs/${made.id}`);
  };
  return (
    <Dialog title={step === null ? `Fork ${clean(run.name)}` : `Fork from ${clean(title(step))}`} close={close}>
      <p>{MEANING.fork} This run stays as it is.</p>
      <SchemaForm schema={schema} verb="Fork" start={start} submit={send} cancel={close} />
    </Dialog>
  );
}
