import { useMemo, useRef, useState } from "react";

import { ask, part, type Json } from "../base/api";
import { useCalm, useChange, useLive, useRead } from "../base/query";
import { useParam, type Match } from "../base/router";
import { may, useMe } from "../base/session";
import type { Overview, Queue } from "../base/shapes";
import type { Schema } from "../logic/schema";
import { durationTicks } from "../logic/axis";
import { count } from "../logic/text";
import { brief, seconds, span } from "../logic/time";
import { Chart } from "../parts/chart";
import { FormDialog } from "../parts/form_dialog";
import { Card, Failure, Figure, Loading, Page } from "../parts/page";
import { StateBadge } from "../parts/state";
import { toast } from "../parts/toast";
import { Ranges } from "./overview";
import { limits, pause } from "./queues";
import { TaskList } from "./task_list";

const LIMITS: Schema = {
  properties: {
    max_running: { type: "integer", minimum: 0, maximum: 1000000, title: "At once", description: "How many may run at once; empty: any number." },
    limit: { type: "integer", minimum: 1, title: "Rate", description: "How many may start in a period; empty: any number." },
    period: { type: "number", minimum: 0.001, title: "Period", description: "Seconds." },
    burst: { type: "integer", minimum: 1, title: "Burst", description: "How many may start at once; empty: as many as the rate." },
  },
};

export default function QueuePage({ match }: { match: Match }) {
  const name = match["name"] ?? "";
  const me = useMe();
  const read = useRead<Queue>(`/v1/queues/${part(name)}`, {}, true);
  const pushed = useLive<Queue>(read.data ? "queue" : null, { name });
  const queue = useNewest(pushed.data, read.data);
  const [editing, setEditing] = useState(false);
  const [range, setRange] = useParam("range", "1h");
  const [turn, setTurn] = useState(0);
  const length = seconds(range) ?? 3600;
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const from = useMemo(() => new Date(Date.now() - length * 1000).toISOString(), [length, turn]);
  const past = useRead<Overview>("/v1/overview", { from, points: length <= 3600 ? length / 60 : 96, queue: name }, true);
  const calm = useCalm(() => setTurn((n) => n + 1), 2000);
  useChange("counts", {}, calm);
  // its settings are not in the feed of tasks
  useChange("queues", {}, useCalm(read.anew));
  if (read.error && !queue) return <Page title={name} crumbs={[{ to: "/queues", text: "Queues" }]}><Failure of={read.error} again={read.again} /></Page>;
  if (!queue) return <Page title={name} crumbs={[{ to: "/queues", text: "Queues" }]}><Loading /></Page>;
  const save = async (value: Record<string, Json>): Promise<void> => {
    const rate = value["limit"] === undefined ? null : { limit: value["limit"], period: value["period"] ?? 60, ...(value["burst"] === undefined ? {} : { burst: value["burst"] }) };
    await ask("PATCH", `/v1/queues/${part(name)}`, { body: { max_running: value["max_running"] ?? null, rate } });
    toast("Saved; it holds from the next claim on");
    read.again();
  };
  const text = (value: number | null | undefined): string => (value === null || value === undefined ? "" : String(value));
  const set = queue.settings;
  return (
    <Page title={name} crumbs={[{ to: "/queues", text: "Queues" }]} badge={<StateBadge state={queue.paused ? "paused" : "active"} hint={queue.operator.paused ? "by the operator" : null} />}
      actions={may(me, "queue.write") && (
        <>
          <button type="button" onClick={() => setEditing(true)}>Limits…</button>
          <button type="button" onClick={() => void pause(queue, read.again)}>{set.paused ? "Resume" : "Pause"}</button>
        </>
      )}>
      <div className="figures">
        <Figure name="Waiting" value={count(queue.ready)} hint={queue.ready.count ? `oldest ${span(queue.oldest_ready)}` : "nothing is due"} />
        <Figure name="Running" value={count(queue.running)} hint={limits(queue) || "no limits"} />
        <Figure name="Later" value={count(queue.scheduled)} hint="not due yet" />
        <Figure name="Blocked" value={count(queue.blocked)} hint="behind a key or a limit" />
        <Figure name="Ended" value={count(queue.finished_last_minute)} hint="in the last minute" />
        <Figure name="Failed" value={count(queue.failed_last_hour)} hint="in the last hour" tone={queue.failed_last_hour.count ? "bad" : ""} />
      </div>
      {past.data && (
        <Card title="Over time" actions={<Ranges chosen={range} choose={setRange} />}>
          <Chart label="Ended" height={120} from={Date.parse(past.data.from)} step={past.data.step * 1000} series={[
            { name: "completed", tone: "ok", values: past.data.completed }, { name: "failed", tone: "bad", values: past.data.failed },
            { name: "cancelled", tone: "off", values: past.data.cancelled }]} />
          <Chart label="Waiting and running" height={120} kind="lines" from={Date.parse(past.data.from)} step={past.data.step * 1000} series={[
            { name: "waiting", tone: "warn", values: past.data.waiting }, { name: "running", tone: "busy", values: past.data.running }]} />
          <Chart label="How long the oldest waited" height={120} kind="lines" show={span} tick={brief} ticks={durationTicks} from={Date.parse(past.data.from)} step={past.data.step * 1000}
            series={[{ name: "oldest", tone: "warn", values: past.data.oldest }]} />
        </Card>
      )}
      <TaskList queue={name} />
      {editing && (
        <FormDialog title={`Limits of ${name}`} schema={LIMITS} verb="Save" submit={save} close={() => setEditing(false)}
          start={{ max_running: text(set.max_running), limit: text(set.rate?.limit), period: text(set.rate?.period), burst: text(set.rate?.burst) }} />
      )}
    </Page>
  );
}

/** Whichever came last: what was done here is read at once, and must not be hidden by what was pushed before. */
function useNewest<T>(pushed: T | null, read: T | null): T | null {
  const was = useRef({ pushed, read, newest: pushed ?? read });
  const newest = read !== was.current.read ? read : pushed !== was.current.pushed ? pushed : was.current.newest;
  was.current = { pushed, read, newest: newest ?? was.current.newest };
  return was.current.newest;
}
