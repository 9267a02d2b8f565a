/** Which tone a state has: the same word looks the same everywhere, whatever vocabulary it comes from. */

export type Tone = "ok" | "bad" | "busy" | "wait" | "warn" | "off";

const TONES: Record<Tone, string[]> = {
  ok: ["completed", "active", "ok", "idle", "resolved", "success", "succeeded"],
  bad: ["failed", "dead", "timed_out", "timeout", "error", "blocked_run", "firing"],
  busy: ["running", "busy", "claimed", "compensating"],
  wait: ["queued", "ready", "scheduled", "pending", "created", "starting", "waiting", "connecting", "reconnecting"],
  warn: ["cancelling", "lost", "snoozed", "released", "blocked", "paused", "draining", "retry", "compensated", "unknown"],
  off: ["cancelled", "canceled", "discarded", "skipped", "ignored", "deleted", "offline", "revoked", "expired", "disconnected"],
};
const BY_WORD = new Map(Object.entries(TONES).flatMap(([tone, words]) => words.map((word) => [word, tone as Tone])));
const SIGNS: Record<Tone, string> = { ok: "✓", bad: "✕", busy: "▸", wait: "○", warn: "‖", off: "–" };

export function tone(state: string): Tone {
  return BY_WORD.get(state.toLowerCase()) ?? "off";
}

/** Never by colour alone. */
export function sign(state: string): string {
  return SIGNS[tone(state)];
}

/** `TIMED_OUT` → `timed out`. */
export function word(state: string): string {
  return state.toLowerCase().replaceAll("_", " ");
}
