import { useEffect, useState } from "react";

import type { Json } from "../../base/api";
import { useRead } from "../../base/query";
import { zone } from "../../base/settings";
import { useStore } from "../../base/store";
import { clean } from "../../logic/text";
import { dated } from "../../logic/time";
import { JsonView } from "../../parts/json";
import type { Run } from "./model";

interface Reason {
  code: string;
  summary: string;
  reasons: string[];
}

/** Why is it not running? Answered unasked for a run that stands still. */
export function Why({ run, changed }: { run: Run; changed: number }) {
  const still = run.state !== "running" || Boolean(run.stalled_at);
  const [asked, ask] = useState(false);
  const read = useRead<Reason>(still || asked ? `/v1/runs/${run.id}/explain` : null);
  const { again } = read;
  const chosen = useStore(zone);
  useEffect(again, [again, changed]);
  if (!still && !asked) return <p><button type="button" className="small" onClick={() => ask(true)}>Why is it not done yet?</button></p>;
  if (read.error || read.data === null) return null;
  const more = read.data.reasons.filter((one) => one !== read.data?.summary);
  return (
    <div className="why" role="status">
      <p><strong>{still ? "Why is it not running?" : "What is it doing?"}</strong> {dated(clean(read.data.summary), chosen)}</p>
      {more.length > 0 && <ul>{more.slice(0, 8).map((one) => <li key={one}>{dated(clean(one), chosen)}</li>)}</ul>}
    </div>
  );
}

/** What the workflow's code says of itself: what it gave to `set_state` last. */
export function Says({ run, changed }: { run: Run; changed: number }) {
  const read = useRead<{ state: Json }>(`/v1/runs/${run.id}/state`);
  const { again } = read;
  useEffect(again, [again, changed]);
  const state = read.data?.state ?? null;
  if (state === null) return null;
  return typeof state === "string" ? <p className="says"><span className="quiet">{run.finished_at ? "It said last:" : "It says:"}</span> {clean(state)}</p> : <JsonView value={state} label="What the workflow says of itself" />;
}
