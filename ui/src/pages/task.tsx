import { useEffect } from "react";

import { act } from "../base/api";
import { useLive, useRead } from "../base/query";
import { Link, type Match } from "../base/router";
import { may, useMe } from "../base/session";
import { zone } from "../base/settings";
import type { Attempt, Explained, Problem, Task } from "../base/shapes";
import { useStore } from "../base/store";
import { clean, short } from "../logic/text";
import { dated, span } from "../logic/time";
import { confirmed } from "../parts/dialog";
import { Copy, Empty } from "../parts/empty";
import { JsonView } from "../parts/json";
import { LogTail } from "../parts/log";
import { Card, Facts, Failure, Loading, Page } from "../parts/page";
import { StateBadge, Tags } from "../parts/state";
import { Tabs } from "../parts/tabs";
import { Time, Took, useNow } from "../parts/time";
import { told } from "../parts/toast";
import { AttemptLine } from "../parts/attempts";
import { ofTask } from "./recovery";

const WAITING = ["queued", "ready", "scheduled", "blocked"];
const ENDED = ["completed", "failed", "timed_out", "cancelled"];

export default function TaskPage({ match }: { match: Match }) {
  const id = match["id"] ?? "";
  const read = useRead<Task>(`/v1/tasks/${id}`, {}, true);
  const pushed = useLive<Task>(read.data ? "task" : null, { id });
  const task = pushed.data ?? read.data;
  const crumbs = [{ to: "/tasks", text: "Tasks" }];
  if (!task) return <Page title="Task" crumbs={crumbs}>{read.error ? <Failure of={read.error} again={read.again} /> : <Loading />}</Page>;
  return (
    <Page title={task.kind} crumbs={crumbs} badge={<StateBadge state={task.state} hint={task.reason} />} actions={<Deeds task={task} after={read.again} />}>
      {WAITING.includes(task.state) && <Why id={id} />}
      {task.state === "running" && task.cancel_requested_at && <div className="note tone-warn">It was told to stop <Time at={task.cancel_requested_at} relative />, and ends by force after 30 seconds.</div>}
      {task.progress !== null && !ENDED.includes(task.state) && (
        <div className="note tone-busy"><progress max={100} value={task.progress} aria-label="Progress" /> {task.progress} % {clean(task.progress_message ?? "")}</div>
      )}
      {task.error && <Broken error={task.error} />}
      <Card>
        <Facts of={[
          ["Id", <span key="id" className="mono whole">{task.id} <Copy text={task.id} /></span>],
          ["Queue", <Link key="queue" to={`/queues/${encodeURIComponent(task.queue)}`}>{task.queue}</Link>],
          ["Attempt", `${task.attempt}${task.max_attempts ? ` of ${task.max_attempts}` : ""}${task.losses ? `, and ${task.losses} lost with ${task.losses === 1 ? "its worker" : "their workers"}` : ""}`],
          ["Priority", task.priority],
          ["Created", <Time key="created" at={task.created_at} />],
          ["Due", <Time key="due" at={task.run_at} />],
          ["Started", task.started_at && <Time key="started" at={task.started_at} exact />],
          ["Took", task.started_at && <Took key="took" from={task.started_at} to={task.finished_at} />],
          ["Ended", task.finished_at && <Time key="ended" at={task.finished_at} exact />],
          ["Worker", task.node_id && <Link key="node" to={`/workers/${task.node_id}`} className="mono">{task.node_id.slice(0, 8)}</Link>],
          ["Longest time", task.timeout && span(task.timeout)],
          ["Run", task.run_id && <Link key="run" to={`/runs/${task.run_id}`} className="mono" title={task.run_id}>{short(task.run_id)}</Link>],
          ["Parent", task.parent_id && <Link key="parent" to={`/tasks/${task.parent_id}`} className="mono" title={task.parent_id}>{short(task.parent_id)}</Link>],
          ["Concurrency key", task.concurrency_key && clean(task.concurrency_key)],
          ["Dedupe key", task.dedupe_key && clean(task.dedupe_key)],
          ["Correlation id", task.correlation_id && clean(task.correlation_id)],
          ["Needs", task.capabilities.length > 0 && <Tags key="needs" of={task.capabilities} />],
          ["Tags", task.tags.length > 0 && <Tags key="tags" of={task.tags} />],
        ].map(([name, value]) => [name as string, value === false ? null : value])} />
      </Card>
      <Tabs label="Of this task" tabs={[
        { name: "data", label: "In and out", show: () => <Data task={task} /> },
        { name: "attempts", label: "Attempts", hint: task.attempts.length + (ENDED.includes(task.state) || task.state === "running" ? 1 : 0), show: () => <Attempts task={task} /> },
        { name: "log", label: "Log", show: () => <LogTail task={id} /> },
      ]} />
    </Page>
  );
}

function Deeds({ task, after }: { task: Task; after: () => void }) {
  const me = useMe();
  const cancel = (): void => void confirmed(
    { title: "Cancel this task?", verb: "Cancel it", danger: true, text: task.state === "running" ? "It is told to stop, and ends by force after 30 seconds." : "It ends at once and does not run." },
    () => act(`/v1/tasks/${task.id}/cancel`), "Cancelled").then(after);
  const redrive = (): void => void told(() => act(`/v1/tasks/${task.id}/redrive`), "Queued again; its past is kept").then(after);
  if (!ENDED.includes(task.state)) return may(me, "task.cancel") && <button type="button" className="danger" onClick={cancel}>Cancel…</button>;
  if (task.state === "completed" || !may(me, "task.redrive")) return null;
  return <button type="button" className="primary" onClick={redrive}>Run again</button>;
}

/** Asked again while somebody looks: what is in the way changes. */
function Why({ id }: { id: string }) {
  const turn = Math.floor(useNow() / 3000);
  const found = useRead<Explained>(`/v1/tasks/${id}/explain`, {}, true);
  const again = found.again;
  const chosen = useStore(zone);
  useEffect(() => again(), [turn, again]);
  if (!found.data) return null;
  return (
    <section className="note tone-warn" aria-label="Why is it not running?">
      <p><strong>Why is it not running?</strong> {dated(clean(found.data.summary), chosen)}</p>
      {found.data.reasons.length > 1 && <ul>{found.data.reasons.map((one) => <li key={one}>· {dated(clean(one), chosen)}</li>)}</ul>}
    </section>
  );
}

function Broken({ error }: { error: Problem }) {
  return (
    <div className="failure">
      <p><strong>{clean(error.type ?? "Error")}: {clean(error.message ?? "")}</strong></p>
      {error.traceback && <details><summary>Traceback</summary><pre className="traceback" tabIndex={0}>{clean(error.traceback)}</pre></details>}
    </div>
  );
}

function Data({ task }: { task: Task }) {
  return (
    <div className="columns">
      <Card title="Payload"><JsonView value={task.payload} label="Payload" /></Card>
      <Card title="Result">{task.state === "completed" ? <JsonView value={task.result} label="Result" /> : <Empty title={ENDED.includes(task.state) ? "It has none" : "Not yet"} />}</Card>
    </div>
  );
}

function Attempts({ task }: { task: Task }) {
  const clock = useNow();
  const last: Attempt[] = task.attempt > 0 && !WAITING.includes(task.state)
    ? [{ attempt: task.attempt, node_id: task.node_id, started_at: task.started_at, ended_at: task.finished_at, outcome: task.state, error: task.error }] : [];
  const all = [...task.attempts, ...last];
  if (!all.length) return <Empty title="It was not tried yet" />;
  return (
    <>
    {all.length > 1 && <Card><AttemptLine of={ofTask(task, clock)} label="Attempts over time" /></Card>}
    <ol className="attempts">
      {all.map((one, n) => (
        <li key={n} className="card">
          <p className="attempt-head"><strong>Attempt {one.attempt}</strong> <StateBadge state={one.outcome ?? one.state ?? "unknown"} />
            {one.node_id && <> on <Link to={`/workers/${one.node_id}`} className="mono">{one.node_id.slice(0, 8)}</Link></>}
            <span className="quiet"><Time at={one.started_at ?? one.claimed_at} exact /> · <Took from={one.started_at ?? one.claimed_at} to={one.ended_at ?? one.finished_at} /></span>
          </p>
          {one.error && <Broken error={one.error} />}
        </li>
      ))}
    </ol>
    </>
  );
}
