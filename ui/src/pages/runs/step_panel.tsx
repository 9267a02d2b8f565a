import { useState } from "react";

import { act, post, type Json } from "../../base/api";
import { Link } from "../../base/router";
import { may, useMe } from "../../base/session";
import { ended, ofPlan, ofStep, stepVerbs, type Asked, type StepVerb } from "../../logic/actions";
import { title, type Step } from "../../logic/steps";
import { clean, short } from "../../logic/text";
import { confirmed, Dialog } from "../../parts/dialog";
import { SchemaForm } from "../../parts/form";
import { JsonView } from "../../parts/json";
import { LogTail } from "../../parts/log";
import { Facts } from "../../parts/page";
import { StateBadge } from "../../parts/state";
import { Time, Took } from "../../parts/time";
import { toast } from "../../parts/toast";
import { Fork } from "./actions";
import type { Run } from "./model";
import { Mistake } from "./run";

const AGAIN: Record<Exclude<StepVerb, "mark">, { label: string; text: string }> = {
  retry: { label: "Retry", text: "This step is run again, or what failed inside of it." },
  rerun: { label: "Retry from here", text: "The step and everything after it is run again." },
  reset: { label: "Reset the block", text: "The block it opened is run from its beginning, and everything after it." },
};
const RESULT = { properties: { output: { description: "What it shall have given, as JSON. Empty: nothing." } } };

/** One step: when it ran, what it gave, what it logged, and what can be done from here. */
export function StepPanel({ run, step, close, done }: { run: Run; step: Step; close: () => void; done: () => void }) {
  return (
    <aside className="run-side" aria-label={`Step ${clean(title(step))}`}>
      <header className="card-head">
        <h2>{clean(title(step))}</h2>
        <button type="button" className="plain" aria-label="Close the step" onClick={close}>✕</button>
      </header>
      <p><StateBadge state={step.state} /></p>
      <StepActions run={run} step={step} done={done} />
      <Facts of={[
        ["Attempt", step.attempt || null],
        ["Began", step.started_at ? <Time at={step.started_at} exact /> : null],
        ["Took", step.started_at ? <Took from={step.started_at} to={step.finished_at} /> : null],
        ["Parts", step.parts ? `${step.parts_ended} of ${step.parts} ended, ${step.parts_failed} failed` : null],
        ["Reruns", step.reruns || null],
        ["Task", step.task_id ? <Link to={`/tasks/${step.task_id}`}>{short(step.task_id)}</Link> : null],
      ]} />
      {step.error && <Mistake error={step.error} />}
      {step.item !== null && <><h3>Element</h3><JsonView value={step.item as Json} label="Element" /></>}
      <h3>Output</h3>
      {step.output === null ? <p className="quiet">None.</p> : <JsonView value={step.output as Json} label="Output of the step" />}
      {step.task_id && <><h3>Log</h3><LogTail task={step.task_id} /></>}
    </aside>
  );
}

function StepActions({ run, step, done }: { run: Run; step: Step; done: () => void }) {
  const me = useMe();
  const [open, setOpen] = useState<"fork" | "mark" | "skip" | null>(null);
  const name = clean(title(step));
  const steers = may(me, ofPlan(run.kind));
  const offered = steers ? stepVerbs(run.kind, ended(run.state), { ...step, outer: step.frame_id === run.id }) : [];
  const again = (verb: Exclude<StepVerb, "mark">): void => {
    const question = { title: `${AGAIN[verb].label}: ${name}?`, text: AGAIN[verb].text, verb: "Run again" };
    void confirmed(question, () => send(ofStep(run.kind, run.id, step, verb)), `${name} runs again`).then((yes) => yes && done());
  };
  const settle = async (asked: Asked, said: string): Promise<void> => {
    await send(asked);
    toast(said);
    setOpen(null);
    done();
  };
  return (
    <div className="actions">
      {offered.map((verb) => verb === "mark"
        ? <button key={verb} type="button" onClick={() => setOpen("mark")}>Mark as done…</button>
        : <button key={verb} type="button" title={AGAIN[verb].text} onClick={() => again(verb)}>{AGAIN[verb].label}</button>)}
      {steers && run.kind === "workflow" && step.state === "failed" && <button type="button" onClick={() => setOpen("skip")}>Skip…</button>}
      {steers && run.kind === "workflow" && <button type="button" onClick={() => setOpen("fork")}>Fork from here…</button>}
      {open === "fork" && <Fork run={run} step={step} close={() => setOpen(null)} />}
      {(open === "mark" || open === "skip") && (
        <Dialog title={open === "mark" ? `Mark ${name} as done` : `Skip ${name}`} close={() => setOpen(null)}>
          <p>The run goes on as if this step had ended well and given this.</p>
          <SchemaForm schema={RESULT} verb={open === "mark" ? "Mark as done" : "Skip"} cancel={() => setOpen(null)}
            submit={(value) => open === "mark"
              ? settle(ofStep(run.kind, run.id, step, "mark", value["output"] ?? null), `${name} counts as done`)
              : settle({ method: "POST", path: `/v1/runs/${run.id}/skip`, body: { step: step.node, result: value["output"] ?? null } }, `${name} is skipped`)} />
        </Dialog>
      )}
    </div>
  );
}

function send(asked: Asked): Promise<unknown> {
  return asked.body === undefined ? act(asked.path) : post(asked.path, asked.body);
}
