import { gaps, said, story, type Segment } from "../logic/attempts";
import { placed } from "../logic/gantt";
import { tone } from "../logic/states";
import { span } from "../logic/time";

/** Attempts on one line: what was lost is hatched, the time when nobody had it is dotted. Also told in words. */
export function AttemptLine({ of, label, told }: { of: readonly Segment[]; label: string; told?: string }) {
  const first = of[0];
  if (!first) return null;
  const shown = { from: first.from, to: Math.max(first.from + 10, ...of.map((one) => one.to)) };
  return (
    <figure className="attempt-line" aria-label={label}>
      <div className="attempt-lane">
        {gaps(of).map((gap) => <Mark key={gap.from} from={gap.from} to={gap.to} shown={shown} name="attempt-gap" hint={`Nobody had it for ${span((gap.to - gap.from) / 1000)}`} />)}
        {of.map((one) => <Mark key={one.from} from={one.from} to={one.to} shown={shown} name={look(one)} hint={said(one)} />)}
      </div>
      <figcaption className="quiet">{told ?? story(of)}</figcaption>
    </figure>
  );
}

export function look(one: Segment): string {
  return `attempt-bar fill-${tone(one.outcome)}${one.outcome === "lost" ? " lost" : ""}${one.open ? " open" : ""}`;
}

function Mark({ from, to, shown, name, hint }: { from: number; to: number; shown: { from: number; to: number }; name: string; hint: string }) {
  const at = placed({ from, to }, shown);
  return at && <span className={name} title={hint} style={{ left: `${at.left * 100}%`, width: `${at.width * 100}%` }} />;
}
