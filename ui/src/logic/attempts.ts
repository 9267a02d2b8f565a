/** Attempts of a task as bars on a line: what was lost or failed, the gap until somebody took it up again, how it went on. */

import { tone, word } from "./states";
import { span } from "./time";

/** A try, whoever tells of it: a task's own list, or that of a run. */
export interface Tried {
  attempt: number;
  outcome: string;
  node: string | null;
  began: string | null;
  ended: string | null;
}
export interface Segment {
  from: number;
  to: number;
  attempt: number;
  outcome: string;
  node: string | null;
  /** It goes on. */
  open: boolean;
}

/** In the order of time. One that never began has none; one without an end ends now. */
export function segments(of: readonly Tried[], now: number): Segment[] {
  const found: Segment[] = [];
  for (const one of of) {
    if (one.began === null) continue;
    const from = Date.parse(one.began);
    const open = one.ended === null;
    found.push({ from, to: Math.max(from, one.ended === null ? now : Date.parse(one.ended)), attempt: one.attempt, outcome: one.outcome, node: one.node, open });
  }
  return found.sort((a, b) => a.from - b.from);
}

/** The times in between, when nobody had it. */
export function gaps(of: readonly Segment[]): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const [n, one] of of.entries()) {
    const next = of[n + 1];
    if (next && next.from > one.to) found.push({ from: one.to, to: next.from });
  }
  return found;
}

export function lost(of: readonly Segment[]): number {
  return of.filter((one) => one.outcome === "lost").length;
}

/** `Attempt 1, lost, 2.3 s`. */
export function said(one: Segment): string {
  return `Attempt ${one.attempt}, ${word(one.outcome)}, ${span((one.to - one.from) / 1000)}`;
}

/** What happened between, in words: `lost with its worker; taken up again after 1.2 s`. */
export function story(of: readonly Segment[]): string {
  const last = of[of.length - 1];
  if (!last) return "";
  const pause = gaps(of).reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const many = lost(of);
  const before = many ? `lost ${many === 1 ? "once" : `${many} times`} with its worker, ` : "";
  const taken = of.length > 1 ? `taken up again after ${span(pause / 1000)}` : last.outcome === "lost" ? "waiting to be taken up" : "not interrupted";
  const now = tone(last.outcome) === "ok" ? "; it is done" : last.open && of.length > 1 ? "; it goes on" : "";
  return `${before}${taken}${now}`;
}
