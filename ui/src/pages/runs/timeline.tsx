import { useEffect, useMemo, useRef, type KeyboardEvent } from "react";

import { useRead } from "../../base/query";
import { useParam } from "../../base/router";
import { zone } from "../../base/settings";
import { useStore } from "../../base/store";
import { gaps, lost, said, segments, type Segment } from "../../logic/attempts";
import { timeTicks } from "../../logic/axis";
import { bar, beside, extent, placed, zoomed, type Span } from "../../logic/gantt";
import { tone, word } from "../../logic/states";
import { rows, title, type Step } from "../../logic/steps";
import { line } from "../../logic/text";
import { span } from "../../logic/time";
import { AttemptLine, look } from "../../parts/attempts";
import { useNow } from "../../parts/time";
import { useWindowed } from "../../parts/windowed";

const ROW = 28;
const NONE: readonly Segment[] = [];

interface Attempt {
  step_id: string | null;
  attempt: number;
  outcome: string;
  node_id: string | null;
  began_at: string | null;
  ended_at: string | null;
}

/** When each step ran; of one that was tried again every attempt, with the time in between. Where it is looked at closer is in
    the address. */
export function Timeline({ steps, run, turned, turn, chosen, choose, over, changed }: {
  steps: Step[]; run: { id: string; created_at: string }; turned: ReadonlySet<string>; turn: (id: string) => void; chosen: string | null;
  choose: (id: string) => void; over: boolean; changed: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const shownZone = useStore(zone);
  const tick = useNow();
  const now = over ? 0 : tick;
  const [zoom, setZoom] = useParam("zoom", "1");
  const [middle, setMiddle] = useParam("at", "0.5");
  const lines = useMemo(() => rows(steps, run.id, turned), [steps, run.id, turned]);
  const bars = useMemo(() => new Map(steps.map((step) => [step.id, bar(step, now)])), [steps, now]);
  const tried = useTried(run.id, changed, now);
  const all = useMemo(() => {
    const begun = Date.parse(run.created_at);
    return extent([...bars.values(), ...[...tried.values()].flat()], { from: begun, to: begun + 1000 });
  }, [bars, tried, run.created_at]);
  const own = tried.get("") ?? NONE;
  const factor = Math.min(1000, Math.max(1, Number(zoom) || 1));
  const centre = Math.min(1, Math.max(0, Number(middle) || 0));
  const shown = zoomed(all, factor, centre);
  const ticks = timeTicks(shown.from, shown.to, innerWidth < 640 ? 2 : 6, shownZone);
  const seen = useWindowed(lines.length, ROW, box, true);
  const closer = (by: number): void => setZoom(String(Math.min(1000, Math.max(1, factor * by))));
  const aside = (by: number): void => setMiddle(String(Math.min(1, Math.max(0, Number((centre + by / factor).toFixed(4))))));
  const key = (event: KeyboardEvent): void => {
    const does: Record<string, () => void> = {
      "+": () => closer(2), "=": () => closer(2), "-": () => closer(0.5), ArrowLeft: () => aside(-0.2), ArrowRight: () => aside(0.2),
    };
    const deed = does[event.key];
    if (!deed || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    deed();
  };
  // what is left for bars beside the names, the navigation and the panel of a step
  const lane = Math.max(120, innerWidth < 820 ? innerWidth - 154 : innerWidth - 442 - (chosen !== null && chosen !== "" && innerWidth >= 1100 ? 396 : 0));
  const room = (words: string): number => (words.length * 6.2 + 14) / lane;
  const folds = lines.some((row) => row.children > 0);
  const where = (at: number): string => `${(100 * (at - shown.from)) / (shown.to - shown.from)}%`;
  return (
    <>
    {own.length > 1 && <div className="card"><AttemptLine of={own} label="The workflow's own attempts" /></div>}
    <div className="timeline">
      <div className="timeline-bar">
        <span className="quiet">{span((shown.to - shown.from) / 1000)} shown{factor > 1 ? ` of ${span((all.to - all.from) / 1000)}` : ""}</span>
        <span className="buttons">
          <button type="button" className="small" onClick={() => aside(-0.2)} disabled={factor === 1} aria-label="Earlier">←</button>
          <button type="button" className="small" onClick={() => aside(0.2)} disabled={factor === 1} aria-label="Later">→</button>
          <button type="button" className="small" onClick={() => closer(0.5)} disabled={factor === 1} aria-label="Show more time">−</button>
          <button type="button" className="small" onClick={() => closer(2)} aria-label="Look closer">+</button>
        </span>
      </div>
      <div className="timeline-axis" aria-hidden="true">
        {ticks.map((one) => <span key={one.at} className="timeline-tick" style={{ left: where(one.at) }}>{(one.at - shown.from) / (shown.to - shown.from) + room(one.label) <= 1 ? one.label : "\u00a0"}</span>)}
      </div>
      <div className="timeline-rows" ref={box} tabIndex={0} role="group" aria-label="Timeline; plus and minus look closer, arrows move" onKeyDown={key}>
        <div className="timeline-height" style={{ height: lines.length * ROW }}>
          {lines.slice(seen.first, seen.last).map((row, n) => {
            const one = bars.get(row.step.id) ?? null;
            const at = one === null ? null : placed(one, shown);
            const name = line(title(row.step), 120);
            const took = one === null ? "" : span((one.to - one.from) / 1000);
            const tries = tried.get(row.step.id) ?? NONE;
            const more = `${row.step.attempt > 1 || tries.length > 1 ? ` · attempt ${Math.max(row.step.attempt, tries[tries.length - 1]?.attempt ?? 0)}` : ""}${lost(tries) ? `, ${lost(tries)} lost` : ""}`;
            const drawn = tries.length > 1 ? tries.flatMap((tried) => placed(tried, shown) ?? []) : at === null ? [] : [at];
            const beyond = beside(drawn, room(took + more));
            return (
              <div key={row.step.id} className={`timeline-row${chosen === row.step.id ? " chosen" : ""}`} style={{ top: (seen.first + n) * ROW }}>
                <span className="timeline-name" style={{ paddingLeft: Math.min(row.depth, 8) * 12 + (folds && row.children === 0 ? (innerWidth < 820 ? 6 : 24) : 0) }}>
                  {row.children > 0 && (
                    <button type="button" className="fold" aria-expanded={!row.closed} aria-label={`${row.children} inside ${name}`} onClick={() => turn(row.step.id)}>
                      {row.closed ? "▸" : "▾"}
                    </button>
                  )}
                  <button type="button" className="plain" onClick={() => choose(row.step.id)} title={name}>{name}</button>
                </span>
                <span className="timeline-lane">
                  {ticks.map((tickAt) => <span key={tickAt.at} className="timeline-line" style={{ left: where(tickAt.at) }} />)}
                  {tries.length > 1 && <Tries of={tries} shown={shown} name={name} />}
                  {at && tries.length <= 1 && (
                    <button type="button" tabIndex={-1} className={`timeline-step fill-${tone(row.step.state)}${one?.open ? " open" : ""}`}
                      style={{ left: `${at.left * 100}%`, width: `${at.width * 100}%` }} onClick={() => choose(row.step.id)}
                      title={`${name}: ${word(row.step.state)}, ${took}${row.step.attempt > 1 ? `, attempt ${row.step.attempt}` : ""}`}
                      aria-label={`${name}, ${word(row.step.state)}, ${took}`} />
                  )}
                  {drawn.length > 0 && (
                    <span className={beyond.inside ? "timeline-took over" : "timeline-took"} style={"left" in beyond ? { left: `${beyond.left * 100}%` } : { right: `${beyond.right * 100}%` }}>{took}{more}</span>
                  )}
                </span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
    </>
  );
}

/** The attempts of one step: hatched what was lost, dotted while nobody had it. */
function Tries({ of, shown, name }: { of: readonly Segment[]; shown: Span; name: string }) {
  const put = (from: number, to: number, kind: string, hint: string) => {
    const at = placed({ from, to }, shown);
    return at && <span key={`${kind}${from}`} className={kind} role="img" aria-label={`${name}: ${hint}`} title={hint} style={{ left: `${at.left * 100}%`, width: `${at.width * 100}%` }} />;
  };
  return (
    <>
      {gaps(of).map((gap) => put(gap.from, gap.to, "attempt-gap", `nobody had it for ${span((gap.to - gap.from) / 1000)}`))}
      {of.map((one) => put(one.from, one.to, look(one), said(one)))}
    </>
  );
}

/** Steps that were tried more than once; "" is the workflow itself. */
function useTried(run: string, changed: number, now: number): ReadonlyMap<string, readonly Segment[]> {
  const read = useRead<{ items: Attempt[] }>(`/v1/runs/${run}/attempts`, {}, true);
  const { again } = read;
  useEffect(again, [again, changed]);
  const items = read.data?.items;
  return useMemo(() => {
    const by = new Map<string, Attempt[]>();
    for (const one of items ?? []) by.set(one.step_id ?? "", [...(by.get(one.step_id ?? "") ?? []), one]);
    return new Map([...by].map(([step, of]) => [step, segments(of.map((one) => ({ attempt: one.attempt, outcome: one.outcome, node: one.node_id, began: one.began_at, ended: one.ended_at })), now)]));
  }, [items, now]);
}
