import { useState } from "react";

import { post, type Json } from "../../base/api";
import { Link } from "../../base/router";
import { may, useMe } from "../../base/session";
import { ended } from "../../logic/actions";
import { title, type Step } from "../../logic/steps";
import { clean, short } from "../../logic/text";
import { confirmed, Dialog } from "../../parts/dialog";
import { SchemaForm } from "../../parts/form";
import { JsonView } from "../../parts/json";
import { LogTail } from "../../parts/log";
import { Facts } from "../../parts/page";
import { StateBadge } from "../../parts/state";
import { Time, Took } from "../../parts/time";
import { told } from "../../parts/toast";
import { Fork } from "./actions";
import type { Run } from "./model";
import { Mistake } from "./run";

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
  if (!may(me, "writer")) return null;
  const plain = step.element < 0 && !step.catching && step.frame_id === run.id;
  const name = clean(title(step));
  const clear = (): void => {
    const question = { title: `Run ${name} again?`, text: "The step and everything after it is run again.", verb: "Run again" };
    void confirmed(question, () => post(`/v1/dag-runs/${run.id}/clear`, { tasks: [step.node] }), `${name} runs again`).then((yes) => yes && done());
  };
  const settle = (path: string, body: Record<string, unknown>, said: string) => async (): Promise<void> => {
    await told(() => post(path, body), said);
    setOpen(null);
    done();
  };
  return (
    <div className="actions">
      {run.kind !== "workflow" && plain && ended(step.state === "timed_out" || step.state === "upstream_failed" || step.state === "skipped" ? "failed" : step.state) && (
        <button type="button" onClick={clear}>Retry from here</button>
      )}
      {run.kind !== "workflow" && plain && step.state !== "completed" && <button type="button" onClick={() => setOpen("mark")}>Mark as done…</button>}
      {run.kind === "workflow" && step.state === "failed" && <button type="button" onClick={() => setOpen("skip")}>Skip…</button>}
      {run.kind === "workflow" && <button type="button" onClick={() => setOpen("fork")}>Fork from here…</button>}
      {open === "fork" && <Fork run={run} step={step} close={() => setOpen(null)} />}
      {(open === "mark" || open === "skip") && (
        <Dialog title={open === "mark" ? `Mark ${name} as done` : `Skip ${name}`} close={() => setOpen(null)}>
          <p>The run goes on as if this step had ended well and given this.</p>
          <SchemaForm schema={RESULT} verb={open === "mark" ? "Mark as done" : "Skip"} cancel={() => setOpen(null)}
            submit={(value) => open === "mark"
              ? settle(`/v1/dag-runs/${run.id}/mark`, { task: step.node, status: "COMPLETED", output: value["output"] ?? null }, `${name} counts as done`)()
              : settle(`/v1/runs/${run.id}/skip`, { step: step.node, result: value["output"] ?? null }, `${name} is skipped`)()} />
        </Dialog>
      )}
    </div>
  );
}
