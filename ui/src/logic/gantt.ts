/** The timeline of a run: a bar for each step. (Ticks: axis.ts.) */

import type { Step } from "./steps";

export interface Bar {
  id: string;
  from: number;
  to: number;
  /** Since when it could have begun. */
  waited: number;
  /** It goes on. */
  open: boolean;
}
export interface Span {
  from: number;
  to: number;
}

/** When a step ran; null if it has not begun. One that goes on ends now. */
export function bar(step: Pick<Step, "id" | "created_at" | "started_at" | "finished_at">, now: number): Bar | null {
  if (step.started_at === null) return null;
  const from = Date.parse(step.started_at);
  const ended = step.finished_at === null ? null : Date.parse(step.finished_at);
  const created = Date.parse(step.created_at);
  return { id: step.id, from, to: Math.max(from, ended ?? now), waited: Math.min(created, from), open: ended === null };
}

/** From the first beginning to the last end, at least a moment long. */
export function extent(bars: readonly (Span | null)[], otherwise: Span): Span {
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

/** Where the words of a row stand, `words` wide as a fraction: after its bars, before them, or in the largest one. */
export function beside(bars: readonly { left: number; width: number }[], words: number): { left: number; inside: boolean } | { right: number; inside: boolean } {
  const first = Math.min(1, ...bars.map((one) => one.left));
  const last = Math.max(0, ...bars.map((one) => one.left + one.width));
  if (last + words <= 1) return { left: last, inside: false };
  if (first >= words) return { right: 1 - first, inside: false };
  const largest = bars.reduce((most, one) => (one.width > most.width ? one : most), { left: 0, width: 0 });
  return { left: Math.max(0, Math.min(largest.left, 1 - words)), inside: true };
}

/** Where a bar stands in a span, as fractions; null if it is outside. A bar is never too thin to see. */
export function placed(one: Span, shown: Span, thinnest = 0.003): { left: number; width: number } | null {
  const length = shown.to - shown.from;
  if (one.to < shown.from || one.from > shown.to || length <= 0) return null;
  const left = Math.max(0, (one.from - shown.from) / length);
  const right = Math.min(1, (one.to - shown.from) / length);
  const width = Math.max(thinnest, right - left);
  return { left: Math.min(left, 1 - width), width };
}
