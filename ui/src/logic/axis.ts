/** Axes: where ticks stand. Time ticks stand on round times of the zone that is shown, also where its clocks change. */

import { parts, type Zone } from "./time";

export interface Tick {
  at: number;
  label: string;
}
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 28, 56, 112, 224, 365].map((n) => n * DAY),
];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Milliseconds between ticks so that there are about `wanted` of them and never more. */
export function step(from: number, to: number, wanted: number): number {
  const least = (to - from) / Math.max(1, wanted);
  return STEPS.find((one) => one >= least) ?? Math.ceil(least / DAY) * DAY;
}

/** Milliseconds by which the zone's clock is ahead of UTC at a moment. */
export function offset(at: number, zone: Zone): number {
  if (zone === "UTC") return 0;
  const p = parts(new Date(at), zone);
  const whole = Math.floor(at / SECOND) * SECOND;
  return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) - whole;
}

/** Ticks from `from` to `to` (milliseconds), on round local times. */
export function timeTicks(from: number, to: number, wanted: number, zone: Zone): Tick[] {
  if (!(to > from)) return [];
  const every = step(from, to, wanted);
  const ticks: Tick[] = [];
  const shift = every < MINUTE ? 0 : offset(from, zone);
  let local = Math.ceil((from + shift) / every) * every;
  for (let n = 0; n <= wanted * 2 + 2; n++, local += every) {
    const at = every < MINUTE ? local : unlocal(local, zone);
    if (at > to) break;
    if (at >= from && at !== ticks[ticks.length - 1]?.at) ticks.push({ at, label: label(at, every, zone) });
  }
  return ticks;
}

/** The moment at which the zone's clock shows `local`; in a gap, the first one after it. */
function unlocal(local: number, zone: Zone): number {
  const guess = local - offset(local, zone);
  const again = local - offset(guess, zone);
  if (again + offset(again, zone) === local) return again;
  return Math.max(guess, again);
}

function label(at: number, every: number, zone: Zone): string {
  const p = parts(new Date(at), zone);
  const two = (n: number): string => String(n).padStart(2, "0");
  if (every >= DAY || (p.hour === 0 && p.minute === 0 && p.second === 0 && every >= MINUTE)) return `${p.day} ${MONTHS[p.month - 1]}`;
  if (every >= MINUTE) return `${two(p.hour)}:${two(p.minute)}`;
  const seconds = `${two(p.hour)}:${two(p.minute)}:${two(p.second)}`;
  return every >= SECOND ? seconds : `${seconds}.${String(new Date(at).getUTCMilliseconds()).padStart(3, "0")}`;
}

/** Round numbers from 0 to at least `most`: 1, 2 or 5 times a power of ten apart. */
export function valueTicks(most: number, wanted = 4): number[] {
  if (!(most > 0) || !Number.isFinite(most)) return [0, 1];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return upTo(most, ([1, 2, 5, 10].find((n) => n * power >= rough) ?? 10) * power);
}

/** The same for what is counted: there is no half of a task. */
export function countTicks(most: number, wanted = 4): number[] {
  return most > 0 && most < wanted ? upTo(most, 1) : valueTicks(most, wanted);
}

/** The same for seconds: on round minutes and hours, not on 100 seconds. */
export function durationTicks(most: number, wanted = 4): number[] {
  if (!(most > 30)) return valueTicks(most, wanted);
  const every = STEPS.find((one) => one >= (most * SECOND) / wanted);
  return every === undefined ? valueTicks(most, wanted) : upTo(most, every / SECOND);
}

function upTo(most: number, every: number): number[] {
  // not one more for what a division leaves over
  const last = Math.ceil(most / every - 1e-9);
  return Array.from({ length: last + 1 }, (_, n) => Number((n * every).toPrecision(12)));
}

/** A position on a line of `width`, from a value between `from` and `to`. */
export function place(value: number, from: number, to: number, width: number): number {
  return to > from ? ((value - from) / (to - from)) * width : 0;
}
