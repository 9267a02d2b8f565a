/** Times and durations as people read them. Pure: now and the zone are given. */

export type Zone = "local" | "UTC" | (string & {});

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let found = formats.get(key);
  if (!found) {
    found = new Intl.DateTimeFormat("en-GB", { ...options, hourCycle: "h23", ...(zone === "local" ? {} : { timeZone: zone }) });
    formats.set(key, found);
  }
  return found;
}

/** The parts of a moment in a zone, as numbers; months from 1. */
export function parts(at: Date, zone: Zone): { year: number; month: number; day: number; hour: number; minute: number; second: number } {
  const found: Record<string, number> = {};
  const shape = format(zone, { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
  for (const one of shape.formatToParts(at)) if (one.type !== "literal") found[one.type] = Number(one.value);
  return found as ReturnType<typeof parts>;
}

const two = (n: number): string => String(n).padStart(2, "0");

/** `2026-01-05 09:30:00`, with milliseconds if asked for. */
export function stamp(at: Date, zone: Zone, exact = false): string {
  if (Number.isNaN(at.getTime())) return "–";
  const p = parts(at, zone);
  const fraction = exact ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "";
  return `${p.year}-${two(p.month)}-${two(p.day)} ${two(p.hour)}:${two(p.minute)}:${two(p.second)}${fraction}`;
}

const WRITTEN = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g;

/** What the server says, with the moments in it as they are shown everywhere else. */
export function dated(text: string, zone: Zone): string {
  return text.replace(WRITTEN, (at) => stamp(new Date(at), zone));
}

/** Only the time of day. */
export function clock(at: Date, zone: Zone, exact = false): string {
  return stamp(at, zone, exact).slice(11);
}

/** `in 3 min`, `2 h ago`; `now` within a second. */
export function ago(at: Date, now: number): string {
  const seconds = (at.getTime() - now) / 1000;
  if (Number.isNaN(seconds)) return "–";
  if (Math.abs(seconds) < 1) return "now";
  return seconds > 0 ? `in ${rough(seconds)}` : `${rough(-seconds)} ago`;
}

/** In one unit: how long ago is not asked to the second. */
function rough(seconds: number): string {
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  if (seconds < 3570) return `${Math.round(seconds / 60)} min`;
  if (seconds < 84600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** In one unit and few letters, for axes: `50 s`, `1.5 min`, `12 h`. */
export function brief(seconds: number): string {
  const [value, unit] = seconds < 60 ? [seconds, "s"] : seconds < 3600 ? [seconds / 60, "min"] : seconds < 86400 ? [seconds / 3600, "h"] : [seconds / 86400, "d"];
  return `${Number(value.toFixed(1))} ${unit}`;
}

/** A duration in its two largest units: `840 ms`, `12.4 s`, `3 min 20 s`, `2 d 4 h`. */
export function span(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0) return `-${span(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return pair(whole, 60, "min", 1, "s");
  if (whole < 86400) return pair(whole, 3600, "h", 60, "min");
  return pair(whole, 86400, "d", 3600, "h");
}

function pair(value: number, large: number, big: string, small: number, little: string): string {
  const rest = Math.floor((value % large) / small);
  return rest ? `${Math.floor(value / large)} ${big} ${rest} ${little}` : `${Math.floor(value / large)} ${big}`;
}

/** Seconds of `15m`, `6h`, `7d`; null for what is none. */
export function seconds(text: string): number | null {
  const found = /^(\d{1,6})(s|m|h|d)$/.exec(text);
  if (!found) return null;
  return Number(found[1]) * { s: 1, m: 60, h: 3600, d: 86400 }[found[2] as "s" | "m" | "h" | "d"];
}
