import { useId, useState, type FormEvent, type ReactNode } from "react";

import { ask, post, type Json, type Refused } from "../../base/api";
import { asRefused } from "../../base/query";
import { go } from "../../base/router";
import { zones } from "../../logic/zones";
import { Dialog } from "../../parts/dialog";
import { Failure } from "../../parts/page";
import { toast } from "../../parts/toast";
import { CronPreview } from "./cron";
import type { Job } from "./model";

interface Draft {
  name: string;
  job_type: Job["job_type"];
  cron_expression: string;
  timezone: string;
  run_at: string;
  delay_seconds: string;
  payload: string;
  queue: string;
  tags: string;
  misfire: string;
  overlap: string;
}

/** A job, new or changed. What a cron expression means is shown while it is typed. */
export function Edit({ job, close, saved }: { job: Job | null; close: () => void; saved?: () => void }) {
  const [draft, setDraft] = useState<Draft>(() => from(job));
  const [wrong, setWrong] = useState<string | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  const [busy, setBusy] = useState(false);
  const change = (part: Partial<Draft>): void => setDraft((was) => ({ ...was, ...part }));
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const made = body(draft);
    setWrong(typeof made === "string" ? made : null);
    if (typeof made === "string") return;
    setBusy(true);
    setRefused(null);
    try {
      if (job === null) go(`/jobs/${(await post<Job>("/v1/jobs", made)).job_id}`);
      else await ask("PUT", `/v1/jobs/${job.job_id}`, { body: { ...made, version: job.version } });
      toast(job === null ? "The job was created" : "The job was changed");
      saved?.();
      close();
    } catch (error) {
      setRefused(asRefused(error));
      setBusy(false);
    }
  };
  const text = (name: keyof Draft, label: string, hint?: string): ReactNode => (
    <Row label={label} hint={hint}>{(id) => <input id={id} value={draft[name]} autoComplete="off" onChange={(event) => change({ [name]: event.target.value })} />}</Row>
  );
  const choice = (name: keyof Draft, label: string, choices: string[]): ReactNode => (
    <Row label={label}>{(id) => <select id={id} value={draft[name]} onChange={(event) => change({ [name]: event.target.value } as Partial<Draft>)}>{choices.map((one) => <option key={one}>{one}</option>)}</select>}</Row>
  );
  return (
    <Dialog title={job === null ? "New job" : "Change the job"} close={close} wide>
      <form className="form" onSubmit={(event) => void send(event)} noValidate>
        {refused && <Failure of={refused} />}
        {wrong && <p className="wrong" role="alert" ref={(one) => one?.scrollIntoView({ block: "nearest" })}>{wrong}</p>}
        <Row label="Name">{(id) => <input id={id} data-first value={draft.name} autoComplete="off" onChange={(event) => change({ name: event.target.value })} />}</Row>
        {choice("job_type", "Type", ["CRON", "ONE_TIME", "DELAYED"])}
        {draft.job_type === "CRON" && (
          <>
            {text("cron_expression", "Cron expression", "Minute, hour, day of the month, month, day of the week.")}
            <Row label="Time zone">{(id) => <><input id={id} list={`${id}-zones`} value={draft.timezone} autoComplete="off" onChange={(event) => change({ timezone: event.target.value })} /><datalist id={`${id}-zones`}>{zones().map((one) => <option key={one} value={one} />)}</datalist></>}</Row>
            <CronPreview expression={draft.cron_expression} zone={draft.timezone} />
          </>
        )}
        {draft.job_type === "ONE_TIME" && text("run_at", "At", "With its zone: 2026-01-31T09:00:00+01:00")}
        {draft.job_type === "DELAYED" && text("delay_seconds", "Delay in seconds")}
        <Row label="What to do" hint='{"task": "report", "args": {}}, {"dag": "nightly"}, {"workflow": "checkout"} or {"endpoint": "https://…"}'>
          {(id) => <textarea id={id} className="mono" rows={5} spellCheck={false} value={draft.payload} onChange={(event) => change({ payload: event.target.value })} />}
        </Row>
        <div className="two">
          {text("queue", "Queue")}
          {text("tags", "Tags", "With commas between them.")}
          {choice("misfire", "If a time was missed", ["fire_once", "skip", "catch_up"])}
          {choice("overlap", "If the last one still runs", ["allow", "skip", "queue", "cancel_previous"])}
        </div>
        <footer className="dialog-foot">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" className="primary" disabled={busy}>{job === null ? "Create" : "Save"}</button>
        </footer>
      </form>
    </Dialog>
  );
}

function Row({ label, hint, children }: { label: string; hint?: string | undefined; children: (id: string) => ReactNode }) {
  const id = useId();
  return <div className="field"><label htmlFor={id}>{label}</label>{children(id)}{hint && <p className="hint">{hint}</p>}</div>;
}

function from(job: Job | null): Draft {
  return {
    name: job?.name ?? "", job_type: job?.job_type ?? "CRON", cron_expression: job?.cron_expression ?? "0 9 * * MON-FRI",
    timezone: job?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone, run_at: job?.run_at ?? "",
    delay_seconds: job?.delay_seconds == null ? "" : String(job.delay_seconds),
    payload: JSON.stringify(job?.payload ?? { task: "" }, null, 2), queue: job?.queue ?? "default", tags: job?.tags.join(", ") ?? "",
    misfire: job?.misfire ?? "fire_once", overlap: job?.overlap ?? "allow",
  };
}

/** What to send, or what is wrong. */
function body(draft: Draft): Record<string, Json> | string {
  if (!draft.name.trim()) return "Name is needed.";
  let payload: Json;
  try {
    payload = JSON.parse(draft.payload) as Json;
  } catch (error) {
    return `What to do is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (payload === null || typeof payload !== "object" || Array.isArray(payload)) return "What to do must be an object.";
  const when: Record<string, Json> =
    draft.job_type === "CRON" ? { cron_expression: draft.cron_expression.trim(), timezone: draft.timezone.trim() || "UTC" }
    : draft.job_type === "ONE_TIME" ? { run_at: draft.run_at.trim() }
    : { delay_seconds: Number(draft.delay_seconds) };
  const tags = draft.tags.split(",").map((one) => one.trim()).filter(Boolean);
  return { name: draft.name.trim(), job_type: draft.job_type, payload, queue: draft.queue.trim(), tags, misfire: draft.misfire, overlap: draft.overlap, ...when };
}
