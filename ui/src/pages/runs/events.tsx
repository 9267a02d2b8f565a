import { useEffect } from "react";

import type { Json } from "../../base/api";
import { useRead } from "../../base/query";
import { clean } from "../../logic/text";
import { Empty } from "../../parts/empty";
import { Failure, Loading } from "../../parts/page";
import { Time } from "../../parts/time";
import type { Run } from "./model";

interface Event {
  at: string;
  actor?: string | null;
  action?: string;
  event?: string;
  state?: string | null;
  after?: Json;
  detail?: Json;
}

/** What was done to the run, and by whom; then what it did itself. */
export function Events({ run, changed }: { run: Run; changed: number }) {
  const read = useRead<{ items: Event[] }>(`/v1/runs/${run.id}/events`);
  const { again } = read;
  useEffect(again, [again, changed]);
  if (read.error && read.error.status !== 404) return <Failure of={read.error} again={read.again} />;
  if (read.loading) return <Loading />;
  const items = read.data?.items ?? own(run);
  if (items.length === 0) return <Empty title="Nothing has happened to it yet" />;
  return (
    <ol className="events">
      {items.map((one, n) => (
        <li key={`${one.at}${n}`}>
          <Time at={one.at} exact /> <strong>{clean(one.action ?? one.event ?? one.state ?? "")}</strong>
          {one.actor && <span className="quiet"> by {clean(one.actor)}</span>}
          {shown(one.after ?? one.detail ?? null)}
        </li>
      ))}
    </ol>
  );
}

function shown(value: Json) {
  if (value === null || (typeof value === "object" && Object.keys(value).length === 0)) return null;
  return <code className="event-detail">{clean(JSON.stringify(value)).slice(0, 300)}</code>;
}

function own(run: Run): Event[] {
  const found: Event[] = [{ at: run.created_at, event: "created", actor: run.actor }];
  if (run.started_at) found.push({ at: run.started_at, event: "began" });
  if (run.finished_at) found.push({ at: run.finished_at, event: run.state });
  return found;
}
