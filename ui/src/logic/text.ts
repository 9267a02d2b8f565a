/** What tasks, logs and people wrote is hostile: React escapes it, this takes out what could still mislead a reader. */

// CSI and OSC sequences of terminals, then what is left of control characters but tab and newline
const SEQUENCES = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\-_]?|\u009b[0-?]*[ -/]*[@-~]/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// marks that turn the direction of what follows, and what has no width: shown, so that nobody is fooled by them
const HIDDEN = /[\u200b\u200e\u200f\u061c\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** One or several lines, without sequences; hidden marks become visible as `‹U+202E›`. */
export function clean(text: string): string {
  return text
    .replace(SEQUENCES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, "\ufffd")
    .replace(HIDDEN, (mark) => `‹U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** The same on one line, cut to a length. */
export function line(text: string, most = 300): string {
  const flat = clean(text).replace(/\s+/g, " ").trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** Whatever a part is given to show: text is cleaned by it, so that no page can forget to. */
export function shown<T>(given: T): T {
  return typeof given === "string" ? (clean(given) as T) : given;
}

/** Large counts as people say them; `+` where the server stopped counting. */
export function count(of: { count: number; at_least: boolean } | number | null | undefined): string {
  if (of === null || of === undefined) return "–";
  if (typeof of === "number") return number(of);
  // at least none says nothing
  if (of.at_least && of.count === 0) return "–";
  return number(of.count) + (of.at_least ? "+" : "");
}

export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100_000) return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
  return new Intl.NumberFormat("en", { maximumFractionDigits: 2 }).format(value);
}

export function short(id: string): string {
  // uuid7 begins with the time: of neighbours only the end differs
  return id.length === 36 ? `…${id.slice(-8)}` : id;
}
