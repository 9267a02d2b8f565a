import { act } from "../base/api";
import { useCalm, useChange, usePages } from "../base/query";
import { Link } from "../base/router";
import { may, useMe, type Me } from "../base/session";
import type { Queue } from "../base/shapes";
import { count } from "../logic/text";
import { span } from "../logic/time";
import { Empty } from "../parts/empty";
import { Failure, Loading, Page } from "../parts/page";
import { StateBadge } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { told } from "../parts/toast";

export default function Queues() {
  const me = useMe();
  const list = usePages<Queue>("/v1/queues", {}, 200);
  const calm = useCalm(list.anew);
  useChange("queues", {}, calm);
  useChange("counts", {}, calm);
  return (
    <Page title="Queues">
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : !list.items.length && !list.error ? (
        <Empty title="There is no queue yet" command={`weft enqueue hello '{"name": "you"}' --queue mail`}>A queue is there as soon as something is put into it.</Empty>
      ) : (
        <Table label="Queues" rows={list.items} id={(one) => one.name} columns={columns(me, list.again)} to={(one) => `/queues/${encodeURIComponent(one.name)}`} more={list.more} next={list.next} />
      )}
    </Page>
  );
}

export function pause(queue: Queue, after: () => void): Promise<unknown> {
  const verb = queue.settings.paused ? "resume" : "pause";
  return told(() => act(`/v1/queues/${encodeURIComponent(queue.name)}/${verb}`), `${queue.name} ${verb === "pause" ? "is paused; what runs goes on" : "goes on"}`).then(after);
}

export function limits(queue: Queue): string {
  const most = Math.min(queue.settings.max_running ?? Infinity, queue.operator.max_running ?? Infinity);
  const rate = queue.settings.rate ?? queue.operator.rate;
  return [Number.isFinite(most) && `${most} at once`, rate && `${rate.limit} per ${span(rate.period)}`].filter(Boolean).join(", ");
}

function columns(me: Me | null, after: () => void): Column<Queue>[] {
  return [
    { name: "name", head: "Queue", cell: (one) => <Link to={`/queues/${encodeURIComponent(one.name)}`}>{one.name}</Link>, wide: true, order: (one) => one.name },
    { name: "state", head: "State", cell: (one) => <StateBadge state={one.paused ? "paused" : "active"} />, order: (one) => Number(one.paused) },
    { name: "ready", head: "Waiting", cell: (one) => count(one.ready), right: true, order: (one) => one.ready.count },
    { name: "oldest", head: "Oldest", cell: (one) => (one.ready.count ? span(one.oldest_ready) : "–"), right: true, less: true, order: (one) => (one.ready.count ? (one.oldest_ready ?? 0) : -1) },
    { name: "scheduled", head: "Later", cell: (one) => count(one.scheduled), right: true, less: true, order: (one) => one.scheduled.count },
    { name: "blocked", head: "Blocked", cell: (one) => count(one.blocked), right: true, less: true, order: (one) => one.blocked.count },
    { name: "running", head: "Running", cell: (one) => count(one.running), right: true, order: (one) => one.running.count },
    { name: "rate", head: "Ended a minute", cell: (one) => count(one.finished_last_minute), right: true, less: true, order: (one) => one.finished_last_minute.count },
    { name: "failed", head: "Failed an hour", cell: (one) => count(one.failed_last_hour), right: true, less: true, order: (one) => one.failed_last_hour.count },
    { name: "limits", head: "Limits", cell: (one) => limits(one) || "–", less: true },
    ...(may(me, "queue.write") ? [{
      name: "deeds", head: <span className="unseen">Actions</span>, right: true, less: true,
      cell: (one: Queue) => <button type="button" className="small" onClick={() => void pause(one, after)}>{one.settings.paused ? "Resume" : "Pause"}</button>,
    }] : []),
  ];
}
