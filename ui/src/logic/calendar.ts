/** The coming day: which jobs fire in which hour, on the clock of the zone people look at. */

import { offset } from "./axis";
import type { Zone } from "./time";

export type Coming = { job_id: string; name: string; at: string };
export type Slot = { job_id: string; name: string; times: number[] };
export type Hour = { from: number; label: string; day: string; slots: Slot[]; count: number };

const HOUR = 3_600_000;

/** An hour each from the one that has begun, with the jobs that fire in it. */
export function hours(coming: readonly Coming[], now: number, zone: Zone, many = 24): Hour[] {
  // zones a half hour off have their full hours elsewhere
  const off = offset(now, zone) % HOUR;
  const first = Math.floor((now + off) / HOUR) * HOUR - off;
  const found = Array.from({ length: many }, (_, index): Hour => {
    const from = first + index * HOUR;
    const local = new Date(from + offset(from, zone)).toISOString();
    return { from, label: local.slice(11, 16), day: local.slice(0, 10), slots: [], count: 0 };
  });
  for (const one of coming) {
    const at = Date.parse(one.at);
    const hour = found[Math.floor((at - first) / HOUR)];
    if (hour === undefined) continue;
    hour.count += 1;
    const there = hour.slots.find((slot) => slot.job_id === one.job_id);
    if (there === undefined) hour.slots.push({ job_id: one.job_id, name: one.name, times: [at] });
    else there.times.push(at);
  }
  return found;
}
