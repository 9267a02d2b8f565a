import { useCalm, useChange, useRead } from "../base/query";
import type { Match } from "../base/router";
import { useMe } from "../base/session";
import type { Node } from "../base/shapes";
import { span } from "../logic/time";
import { Copy } from "../parts/empty";
import { Card, Facts, Failure, Figure, Loading, Page } from "../parts/page";
import { StateBadge, Tags } from "../parts/state";
import { Time, Took } from "../parts/time";
import { drain, drains } from "./draining";

export default function Worker({ match }: { match: Match }) {
  const id = match["id"] ?? "";
  const me = useMe();
  const { data, error, again } = useRead<Node>(`/v1/nodes/${id}`, {}, true);
  const calm = useCalm(again, 1000);
  useChange("nodes", {}, calm, 2500);
  const crumbs = [{ to: "/workers", text: "Workers" }];
  if (!data) return <Page title="Worker" crumbs={crumbs}>{error ? <Failure of={error} again={again} /> : <Loading />}</Page>;
  return (
    <Page title={`${data.hostname}:${data.pid}`} crumbs={crumbs} badge={<StateBadge state={data.status} hint={data.asleep && !data.running ? "idle" : null} />}
      actions={drains(me, data) && <button type="button" className="danger" onClick={() => drain(data, again)}>Drain…</button>}>
      {data.status === "draining" && <div className="note tone-warn" role="status">It takes no more tasks, ends the {data.running} it has, and stops.</div>}
      <div className="figures">
        <Figure name="Running" value={data.running} hint={data.concurrency ? `of ${data.concurrency} at a time` : "runs no tasks"} />
        <Figure name="Last beat" value={span(data.beat_age)} hint={`dead after ${span(data.lease)}`} tone={data.beat_age > data.lease / 2 ? "warn" : ""} />
        <Figure name="Up" value={<Took from={data.started_at} to={data.status === "dead" ? data.beat_at : null} />} hint="since its start" />
      </div>
      <Card>
        <Facts of={[
          ["Id", <span key="id" className="mono whole">{data.id} <Copy text={data.id} /></span>],
          ["Address", data.ip_address],
          ["Does", <Tags key="roles" of={data.roles} />],
          ["Queues", data.queues?.length ? <Tags key="queues" of={data.queues} /> : "all"],
          ["Can", data.capabilities.length ? <Tags key="can" of={data.capabilities} /> : null],
          ["Version", data.version],
          ["Started", <Time key="started" at={data.started_at} />],
          ["Beat", <Time key="beat" at={data.beat_at} exact />],
        ]} />
      </Card>
      <Card title={`Handlers (${data.handlers.length})`}><Tags of={data.handlers} /></Card>
    </Page>
  );
}
