import { useEffect, useState } from "react";

import { zone, zoneName } from "../base/settings";
import { store, useStore } from "../base/store";
import { clean } from "../logic/text";
import { ago, span, stamp } from "../logic/time";

const now = store(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The time, once a second, from one clock for the whole page. */
export function useNow(): number {
  useEffect(() => {
    if (readers++ === 0) timer = setInterval(() => document.hidden || now.set(Date.now()), 1000);
    return () => {
      if (--readers === 0) clearInterval(timer);
    };
  }, []);
  return useStore(now);
}

/** A moment in the chosen zone; `relative` as `3 min ago`, with the moment itself as a hint. */
export function Time({ at, relative = false, exact = false }: { at: string | null | undefined; relative?: boolean; exact?: boolean }) {
  const chosen = useStore(zone);
  if (!at) return <span className="quiet">–</span>;
  const when = new Date(at);
  const full = `${stamp(when, chosen, true)} ${zoneName(chosen)}`;
  return (
    <time dateTime={at} title={full} className="time">
      {relative ? <Ago at={when} /> : stamp(when, chosen, exact)}
    </time>
  );
}

function Ago({ at }: { at: Date }) {
  return <>{ago(at, useNow())}</>;
}

/** A cron expression; its zone is told unless it is UTC, because nine o'clock is not the same everywhere. */
export function When({ cron, zone: of }: { cron: string; zone: string }) {
  return <><code>{clean(cron)}</code>{of !== "UTC" && <span className="quiet"> {clean(of)}</span>}</>;
}

/** How long something took or takes: grows while it has no end. */
export function Took({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  if (!from) return <span className="quiet">–</span>;
  if (to) return <>{span((Date.parse(to) - Date.parse(from)) / 1000)}</>;
  return <Growing from={Date.parse(from)} />;
}

function Growing({ from }: { from: number }) {
  const at = useNow();
  const [begun] = useState(() => Date.now());
  return <>{span(Math.max(0, Math.max(at, begun) - from) / 1000)}</>;
}
