import { useMemo, useState } from "react";

import type { Overview, Queue, TaskRow } from "../base/shapes";
import { useCalm, useChange, useEvery, usePages, useRead } from "../base/query";
import { Link, useParam } from "../base/router";
import { durationTicks, valueTicks } from "../logic/axis";
import { line, number } from "../logic/text";
import { brief, seconds, span } from "../logic/time";
import { Chart } from "../parts/chart";
import { Empty } from "../parts/empty";
import { Card, Failure, Figure, Loading, Page } from "../parts/page";
import { StateBadge } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { Crash } from "./crash";
import { Recovery } from "./recovery";

const RANGES = ["15m", "1h", "6h", "24h", "7d"];

export default function OverviewPage() {
  const [range, setRange] = useParam("range", "1h");
  const [turn, setTurn] = useState(0);
  const length = seconds(range) ?? 3600;
  // `turn` moves the range along with the clock
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const from = useMemo(() => new Date(Date.now() - length * 1000).toISOString(), [length, turn]);
  const points = length <= 3600 ? length / 60 : 96;
  const { data, error, again } = useRead<Overview>("/v1/overview", { from, points }, true);
  const tasks = usePages<TaskRow>("/v1/tasks", {}, 12);
  const broken = usePages<TaskRow>("/v1/tasks", { state: ["failed", "timed_out"] }, 8);
  const queues = usePages<Queue>("/v1/queues", {}, 50);
  const refresh = useCalm(() => {
    setTurn((n) => n + 1);
    tasks.again();
    broken.again();
    queues.again();
  }, 1000);
  useChange("counts", {}, refresh);
  useChange("nodes", {}, refresh);
  // what waits grows old without anything changing, and most of all where nothing moves
  useEvery(refresh, 5000);
  if (error && !data) return <Page title="Overview"><Failure of={error} again={again} /></Page>;
  if (!data) return <Page title="Overview"><Loading /></Page>;
  const sum = (values: number[]): number => values.reduce((a, b) => a + b, 0);
  const ended = sum(data.completed) + sum(data.failed);
  const minutes = Math.max(1, length / 60);
  const start = Date.parse(data.from);
  const idle = !ended && !tasks.items.length && !tasks.loading;
  return (
    <Page title="Overview" actions={<><Crash /><Ranges chosen={range} choose={setRange} /></>}>
      <Recovery />
      <div className="figures eight">
        <Figure name="Throughput" value={`${number(Math.round(((sum(data.completed) + sum(data.failed)) / minutes) * 10) / 10)}`} hint="ended a minute" />
        <Figure name="Failures" value={number(sum(data.failed))} hint={ended ? `${((sum(data.failed) / ended) * 100).toFixed(1)} % of what ended` : "nothing ended"} tone={sum(data.failed) ? "bad" : ""} to="/tasks?state=failed&state=timed_out" />
        <Figure name="Waiting" value={number(data.queues.ready)} hint={`${number(data.queues.scheduled)} later · ${number(data.queues.blocked)} blocked`} to="/tasks?state=ready" />
        <Figure name="Oldest waits" value={span(data.queues.oldest_ready)} hint="since it was due" tone={(data.queues.oldest_ready ?? 0) > 60 ? "warn" : ""} to="/queues" />
        <Figure name="Running" value={number(data.queues.running)} hint={`of ${number(data.workers.slots)} slots`} to="/tasks?state=running" />
        <Figure name="Workers" value={number(data.workers.active)} hint={[data.workers.draining && `${data.workers.draining} draining`, data.workers.dead && `${data.workers.dead} dead`].filter(Boolean).join(" · ") || "all well"} tone={data.workers.active ? "" : "bad"} to="/workers" />
        <Figure name="Schedule lag" value={span(data.schedule_lag ?? 0)} hint={data.late_jobs ? `${data.late_jobs} jobs late` : "on time"} tone={data.late_jobs ? "warn" : ""} to="/jobs" />
        <Figure name="Dead letters" value={number(data.dead)} hint={data.dead ? "redrive or discard" : "none"} tone={data.dead ? "bad" : ""} to="/dead" />
      </div>
      {idle ? (
        <Empty title="Nothing has happened yet" command={`weft enqueue hello '{"name": "you"}' --wait`}>Enqueue a task; what becomes of it appears here by itself.</Empty>
      ) : (
        <>
          <div className="columns charts">
            <Card>
              <Chart label="Ended" from={start} step={data.step * 1000} series={[
                { name: "completed", tone: "ok", values: data.completed }, { name: "failed", tone: "bad", values: data.failed },
                { name: "cancelled", tone: "off", values: data.cancelled }]} />
            </Card>
            <Card>
              <Chart label="Waiting and running" from={start} step={data.step * 1000} kind="lines" series={[
                { name: "waiting", tone: "warn", values: data.waiting }, { name: "running", tone: "busy", values: data.running }]} />
            </Card>
            <Card>
              <Chart label="How long the oldest waited" from={start} step={data.step * 1000} kind="lines" show={span} tick={brief} ticks={durationTicks}
                series={[{ name: "oldest", tone: "warn", values: data.oldest }]} />
            </Card>
            <Card>
              <Chart label="Share of failures" from={start} step={data.step * 1000} kind="lines" show={(value) => `${number(value)} %`} ticks={valueTicks}
                series={[{ name: "failed", tone: "bad", values: data.failed.map((bad, n) => share(bad, data.completed[n] ?? 0)) }]} />
            </Card>
          </div>
          <div className="columns">
            <Card title="Queues" actions={<Link to="/queues">all</Link>} flush>
              <Table label="Queues" rows={queues.items.slice(0, 8)} id={(one) => one.name} columns={QUEUES} to={(one) => `/queues/${encodeURIComponent(one.name)}`} />
            </Card>
            <Card title="Latest failures" actions={<Link to="/tasks?state=failed&state=timed_out">all</Link>} flush>
              {broken.items.length ? <Table label="Latest failures" rows={broken.items} id={(one) => one.id} columns={FAILED} to={(one) => `/tasks/${one.id}`} />
                : <Empty title="Nothing has failed" />}
            </Card>
          </div>
          <Card title="Latest tasks" actions={<Link to="/tasks">all</Link>} flush>
            <Table label="Latest tasks" rows={tasks.items} id={(one) => one.id} columns={TASKS} to={(one) => `/tasks/${one.id}`} />
          </Card>
        </>
      )}
    </Page>
  );
}

function share(bad: number, good: number): number | null {
  return bad + good ? (bad / (bad + good)) * 100 : null;
}

export function Ranges({ chosen, choose }: { chosen: string; choose: (range: string) => void }) {
  return (
    <span className="chips" role="group" aria-label="Range">
      {RANGES.map((one) => <button key={one} type="button" className="chip" aria-pressed={one === chosen} onClick={() => choose(one)}>{one}</button>)}
    </span>
  );
}

const QUEUES: Column<Queue>[] = [
  { name: "name", head: "Queue", cell: (one) => <Link to={`/queues/${encodeURIComponent(one.name)}`}>{one.name}</Link>, wide: true },
  { name: "ready", head: "Waiting", cell: (one) => number(one.ready.count), right: true },
  { name: "running", head: "Running", cell: (one) => number(one.running.count), right: true },
  { name: "oldest", head: "Oldest", cell: (one) => span(one.ready.count ? one.oldest_ready : null), right: true },
];
const FAILED: Column<TaskRow>[] = [
  { name: "kind", head: "Kind", cell: (one) => <Link to={`/tasks/${one.id}`}>{one.kind}</Link> },
  { name: "error", head: "Error", cell: (one) => <span title={line(one.error_message ?? "", 1000)}>{line(`${one.error_type ?? ""}: ${one.error_message ?? ""}`)}</span>, wide: true },
  { name: "at", head: "When", cell: (one) => <Time at={one.finished_at} relative />, right: true },
];
const TASKS: Column<TaskRow>[] = [
  { name: "kind", head: "Kind", cell: (one) => <Link to={`/tasks/${one.id}`}>{one.kind}</Link>, wide: true },
  { name: "queue", head: "Queue", cell: (one) => one.queue, less: true },
  { name: "state", head: "State", cell: (one) => <StateBadge state={one.state} hint={one.reason} /> },
  { name: "attempt", head: "Attempt", cell: (one) => one.attempt, right: true, less: true },
  { name: "created", head: "Created", cell: (one) => <Time at={one.created_at} relative />, right: true },
];
