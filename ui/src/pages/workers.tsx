import { useCalm, useChange, usePages } from "../base/query";
import { Link, useParam } from "../base/router";
import { useMe } from "../base/session";
import type { Node } from "../base/shapes";
import { clean } from "../logic/text";
import { span } from "../logic/time";
import { Empty } from "../parts/empty";
import { Failure, Loading, Page } from "../parts/page";
import { StateBadge, Tags } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { Crash } from "./crash";
import { drain, drains } from "./draining";
import { Recovery } from "./recovery";

export default function Workers() {
  const me = useMe();
  const [dead, setDead] = useParam("dead");
  const list = usePages<Node>("/v1/nodes", { status: dead ? ["starting", "active", "draining", "dead"] : ["starting", "active", "draining"] });
  const calm = useCalm(list.anew);
  useChange("nodes", {}, calm, 2500);
  const columns: Column<Node>[] = list.items.some((one) => drains(me, one)) ? [...COLUMNS, {
    name: "deeds", head: <span className="unseen">Actions</span>, right: true, less: true,
    cell: (one) => drains(me, one) && <button type="button" className="small" aria-label={clean(`Drain ${one.hostname}:${one.pid}`)} onClick={() => drain(one, list.again)}>Drain…</button>,
  }] : COLUMNS;
  return (
    <Page title="Workers" actions={<Crash />}>
      <Recovery />
      <div className="filters">
        <label className="inline"><input type="checkbox" checked={dead !== ""} onChange={(event) => setDead(event.target.checked ? "yes" : "")} /> Show dead ones too</label>
      </div>
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : !list.items.length && !list.error ? (
        <Empty title="No process is alive" command="weft worker app:app">Start a worker on any machine that reaches the database:</Empty>
      ) : (
        <Table label="Workers" rows={list.items} id={(one) => one.id} columns={columns} to={(one) => `/workers/${one.id}`} more={list.more} next={list.next} />
      )}
    </Page>
  );
}

const COLUMNS: Column<Node>[] = [
  { name: "status", head: "State", cell: (one) => <StateBadge state={one.status} hint={one.asleep && !one.running ? "idle" : null} />, order: (one) => one.status },
  { name: "host", head: "Host", cell: (one) => <Link to={`/workers/${one.id}`}>{`${one.hostname}:${one.pid}`}</Link>, order: (one) => one.hostname },
  { name: "roles", head: "Does", cell: (one) => <Tags of={one.roles} />, less: true },
  { name: "queues", head: "Queues", cell: (one) => one.queues?.join(", ") || "all", wide: true, less: true },
  { name: "busy", head: "Running", cell: (one) => (one.concurrency ? `${one.running} of ${one.concurrency}` : "–"), right: true, order: (one) => one.running },
  { name: "beat", head: "Last beat", cell: (one) => one.beat_age < 1 ? "now" : `${span(one.beat_age)} ago`, right: true, less: true, order: (one) => one.beat_age },
  { name: "started", head: "Started", cell: (one) => <Time at={one.started_at} relative />, right: true, less: true, order: (one) => one.started_at },
  { name: "version", head: "Version", cell: (one) => one.version, less: true },
];
