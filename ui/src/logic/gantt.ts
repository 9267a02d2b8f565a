// The timeline of a run: a bar for each step, ticks that fall on round times in the zone people look at.

import type { Step } from "./steps";

export type Bar = { id: string; from: number; to: number; waited: number; open: boolean };
export type Span = { from: number; to: number };
export type Tick = { at: number; label: string };

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE,
  5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY,
  90 * DAY, 365 * DAY,
];

/** When a step ran; null if it has not begun. One that goes on ends now. */
export function bar(step: Pick<Step, "id" | "created_at" | "started_at" | "finished_at">, now: number): Bar | null {
  if (step.started_at === null) return null;
  const from = Date.parse(step.started_at);
  const ended = step.finished_at === null ? null : Date.parse(step.finished_at);
  const created = Date.parse(step.created_at);
  return { id: step.id, from, to: Math.max(from, ended ?? now), waited: Math.min(created, from), open: ended === null };
}

/** From the first beginning to the last end, at least a moment long. */
export function span(bars: readonly (Bar | null)[], otherwise: Span): Span {
  let from = Infinity;
  let to = -Infinity;
  for (const one of bars) {
    if (one === null) continue;
    from = Math.min(from, one.from);
    to = Math.max(to, one.to);
  }
  if (from === Infinity) return otherwise;
  return { from, to: Math.max(to, from + 10) };
}

/** A part of a span: `zoom` 1 is all, 2 half; `middle` 0 to 1 is where. Never outside. */
export function zoomed(all: Span, zoom: number, middle: number): Span {
  const length = (all.to - all.from) / Math.max(1, zoom);
  const wanted = all.from + (all.to - all.from) * middle - length / 2;
  const from = Math.min(Math.max(all.from, wanted), all.to - length);
  return { from, to: from + length };
}

/** Where a bar stands in a span, as fractions; null if it is outside. A bar is never too thin to see. */
export function placed(one: Bar, shown: Span, thinnest = 0.003): { left: number; width: number } | null {
  const length = shown.to - shown.from;
  if (one.to < shown.from || one.from > shown.to || length <= 0) return null;
  const left = Math.max(0, (one.from - shown.from) / length);
  const right = Math.min(1, (one.to - shown.from) / length);
  const width = Math.max(thinnest, right - left);
  return { left: Math.min(left, 1 - width), width };
}

/** Some six round times in a span, in a zone. Days and hours are counted in that zone, its changes included. */
export function ticks(shown: Span, zone: string, wanted = 6): Tick[] {
  const length = shown.to - shown.from;
  const step = STEPS.find((one) => length / one <= wanted) ?? STEPS[STEPS.length - 1] ?? DAY;
  const found: Tick[] = [];
  let at = rounded(shown.from, step, zone);
  for (let count = 0; at <= shown.to && count < 4 * wanted; count += 1) {
    if (at >= shown.from) found.push({ at, label: label(at, step, zone) });
    const next = step < HOUR ? at + step : rounded(at + step + step / 2, step, zone);
    at = next > at ? next : at + step;
  }
  return found;
}

/** `1.2 s`, `3 min 4 s`, `2 h 5 min`: short, with two parts at most. */
export function lasted(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < SECOND) return `${ms} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 1 : 0)} s`;
  if (ms < HOUR) return two(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return two(ms, HOUR, "h", MINUTE, "min");
  return two(ms, DAY, "d", HOUR, "h");
}

function two(ms: number, large: number, name: string, small: number, other: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${other}`;
}

/** The last round time at or before a moment, round in the zone's own clock. */
function rounded(at: number, step: number, zone: string): number {
  const off = step < HOUR ? 0 : offset(at, zone);
  const local = Math.floor((at + off) / step) * step;
  // the offset may be another one there
  return local - (step < HOUR ? 0 : offset(local - off, zone));
}

/** How far a zone's clock is ahead of UTC. */
export function offset(at: number, zone: string): number {
  const part = new Map(clock(zone).formatToParts(at).map((one) => [one.type, Number(one.value)]));
  const shown = Date.UTC(
    part.get("year") ?? 0, (part.get("month") ?? 1) - 1, part.get("day") ?? 1, part.get("hour") ?? 0,
    part.get("minute") ?? 0, part.get("second") ?? 0,
  );
  return shown - Math.floor(at / SECOND) * SECOND;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clock(zone: string): Intl.DateTimeFormat {
  let found = clocks.get(zone);
  if (found === undefined) {
    found = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone, year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric",
      second: "numeric", hourCycle: "h23",
    });
    clocks.set(zone, found);
  }
  return found;
}

function label(at: number, step: number, zone: string): string {
  const local = new Date(at + offset(at, zone)).toISOString();
  if (step >= DAY) return local.slice(0, 10);
  if (step >= MINUTE) return local.slice(11, 16);
  if (step >= SECOND) return local.slice(11, 19);
  return `${local.slice(17, 23)} s`;
}
