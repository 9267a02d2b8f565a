import { useLive } from "../base/query";
import { Link } from "../base/router";
import type { Task } from "../base/shapes";
import { store, useStore } from "../base/store";
import { lost, segments, type Segment, type Tried } from "../logic/attempts";
import { clean } from "../logic/text";
import { AttemptLine } from "../parts/attempts";
import { StateBadge } from "../parts/state";
import { useNow } from "../parts/time";
import "../style/runs.css";

interface Crashed {
  pid: number;
  node: string | null;
  /** What it ran when it was killed. */
  tasks: string[];
}
export const crashed = store<Crashed | null>(null);

/** After a crash: what the killed worker ran, and how each came back. Stays until it is dismissed. */
export function Recovery() {
  const now = useStore(crashed);
  if (!now) return null;
  return (
    <section className="card recovery" aria-label="Recovery">
      <header className="card-head">
        <h2>Worker {now.pid} was killed</h2>
        <button type="button" className="plain" aria-label="Dismiss" onClick={() => crashed.set(null)}>✕</button>
      </header>
      {now.tasks.length === 0
        ? <p className="quiet">It ran nothing at that moment, so nothing had to come back. Try again when something runs.</p>
        : <ol className="recovered">{now.tasks.map((id) => <Came key={id} id={id} killed={now.node} />)}</ol>}
    </section>
  );
}

function Came({ id, killed }: { id: string; killed: string | null }) {
  const { data } = useLive<Task>("task", { id });
  const clock = useNow();
  if (!data) return null;
  const line = ofTask(data, data.finished_at ? 0 : clock);
  const gone = "its worker is gone; that is noticed within seconds";
  const unseen = data.state === "running" && killed !== null && data.node_id === killed;
  return (
    <li>
      <Link to={`/tasks/${id}?tab=attempts`} className="strong">{clean(data.kind)}</Link>{" "}
      {data.run_id && <Link to={`/runs/${data.run_id}?tab=timeline`}>its run</Link>}{" "}
      <StateBadge state={data.state} hint={lost(line) && data.state !== "running" ? "after a loss" : null} />
      <AttemptLine of={line} label={`Attempts of ${clean(data.kind)}`} {...(unseen ? { told: gone } : {})} />
      {unseen && line.length === 0 && <p className="quiet">{gone}</p>}
    </li>
  );
}

/** A task's attempts and the one it is in. */
export function ofTask(task: Task, now: number): Segment[] {
  const tried: Tried[] = task.attempts.map((one) => ({
    attempt: one.attempt, outcome: one.outcome ?? "unknown", node: one.node_id ?? null, began: one.started_at ?? one.claimed_at ?? null, ended: one.ended_at ?? null,
  }));
  if (task.started_at) tried.push({ attempt: task.attempt, outcome: task.state, node: task.node_id, began: task.started_at, ended: task.finished_at });
  return segments(tried, now);
}
