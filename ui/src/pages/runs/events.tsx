import { useEffect } from "react";

import type { Json } from "../../base/api";
import { useRead } from "../../base/query";
import { clean } from "../../logic/text";
import { Failure, Loading } from "../../parts/page";
import { Time } from "../../parts/time";
import type { Run } from "./model";

interface Event {
  at: string;
  actor: string | null;
  action: string;
  after: Json;
}

/** What was done to the run and by whom, with when it began and ended; newest first. */
export function Events({ run, changed }: { run: Run; changed: number }) {
  const read = useRead<{ items: Event[] }>(`/v1/runs/${run.id}/events`);
  const { again } = read;
  useEffect(again, [again, changed]);
  if (read.error) return <Failure of={read.error} again={read.again} />;
  if (read.data === null) return <Loading />;
  const items = [...read.data.items, ...own(run)].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return (
    <ol className="events">
      {items.map((one, n) => (
        <li key={`${one.at}${n}`}>
          <Time at={one.at} exact /> <strong>{clean(one.action)}</strong>
          {one.actor && <span className="quiet"> by {clean(one.actor)}</span>}
          {shown(one.after)}
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
  const found: Event[] = [{ at: run.created_at, action: "created", actor: run.actor, after: null }];
  if (run.started_at) found.push({ at: run.started_at, action: "began", actor: null, after: null });
  if (run.finished_at) found.push({ at: run.finished_at, action: run.state, actor: null, after: null });
  return found;
}
