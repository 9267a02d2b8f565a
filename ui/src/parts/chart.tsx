import { useEffect, useRef, useState, type PointerEvent } from "react";

import { zone } from "../base/settings";
import { useStore } from "../base/store";
import { countTicks, place, timeTicks } from "../logic/axis";
import type { Tone } from "../logic/states";
import { number } from "../logic/text";
import { stamp } from "../logic/time";

export interface Series {
  name: string;
  tone: Tone;
  values: (number | null)[];
}
interface Props {
  label: string;
  /** Milliseconds of the first value, and between values. */
  from: number;
  step: number;
  series: Series[];
  /** Bars are stacked, lines are not. */
  kind?: "bars" | "lines";
  height?: number;
  show?: (value: number) => string;
  /** The same at the axis, where there is little room. */
  tick?: (value: number) => string;
  /** Which values the axis names, up to the largest. */
  ticks?: (most: number) => number[];
}
const LEFT = 50;
const BELOW = 20;
const ABOVE = 8;

/** A chart over time. What it draws is also there as a table, for those who do not see it. */
export function Chart({ label, from, step, series, kind = "bars", height = 160, show = number, tick = show, ticks = countTicks }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [over, setOver] = useState<number | null>(null);
  const chosen = useStore(zone);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.max(200, Math.round(entry.contentRect.width))));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const count = Math.max(0, ...series.map((one) => one.values.length));
  const to = from + count * step;
  const inside = width - LEFT - 4;
  const tall = height - BELOW - ABOVE;
  const sums = Array.from({ length: count }, (_, n) =>
    kind === "bars" ? series.reduce((sum, one) => sum + (one.values[n] ?? 0), 0) : Math.max(0, ...series.map((one) => one.values[n] ?? 0)));
  const levels = ticks(Math.max(0, ...sums));
  const top = levels[levels.length - 1] ?? 1;
  const y = (value: number): number => ABOVE + tall - place(value, 0, top, tall);
  const x = (n: number): number => LEFT + place(n, 0, count, inside);
  const move = (event: PointerEvent<SVGSVGElement>): void => {
    const at = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
    const n = Math.floor((at / inside) * count);
    setOver(n >= 0 && n < count ? n : null);
  };
  return (
    <figure className="chart">
      <figcaption>
        <span className="chart-name">{label}</span>
        <span className="legend">
          {series.map((one) => <span key={one.name}><i className={`swatch tone-${one.tone}`} aria-hidden="true" />{one.name}{over !== null && <b> {show(one.values[over] ?? 0)}</b>}</span>)}
          {over !== null && <span className="quiet">{stamp(new Date(from + over * step), chosen)}</span>}
        </span>
      </figcaption>
      <div ref={box}>
        <svg width={width} height={height} aria-hidden="true" onPointerMove={move} onPointerLeave={() => setOver(null)}>
          {levels.map((value) => (
            <g key={value}>
              <line x1={LEFT} x2={width} y1={y(value)} y2={y(value)} className="grid" />
              <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">{tick(value)}</text>
            </g>
          ))}
          {timeTicks(from, to, Math.max(2, Math.floor(inside / 90)), chosen).map((one) => (
            <TimeTick key={one.at} at={LEFT + place(one.at, from, to, inside)} y={height - 5} width={width} label={one.label} />
          ))}
          {over !== null && <rect x={x(over)} y={ABOVE} width={Math.max(1, inside / count)} height={tall} className="over" />}
          {kind === "bars" ? <Bars series={series} count={count} x={x} y={y} width={inside / Math.max(1, count)} />
            : series.map((one) => (
              <g key={one.name}>
                <path d={path(one.values, (n) => x(n + 0.5), y)} className={`line tone-${one.tone}`} />
                {lonely(one.values).map((n) => <circle key={n} cx={x(n + 0.5)} cy={y(one.values[n] ?? 0)} r={2.5} className={`dot tone-${one.tone}`} />)}
              </g>
            ))}
        </svg>
      </div>
      <div className="unseen"><table>
        <caption>{label}</caption>
        <thead><tr><th scope="col">Time</th>{series.map((one) => <th key={one.name} scope="col">{one.name}</th>)}</tr></thead>
        <tbody>
          {/* nobody wants to hear of an hour of nothing */}
          {sums.map((sum, n) => (sum > 0 || n === count - 1) && (
            <tr key={n}><th scope="row">{stamp(new Date(from + n * step), chosen)}</th>{series.map((one) => <td key={one.name}>{show(one.values[n] ?? 0)}</td>)}</tr>
          ))}
        </tbody>
      </table></div>
    </figure>
  );
}

/** In the middle under its moment, but never cut off at the edge. */
function TimeTick({ at, y, width, label }: { at: number; y: number; width: number; label: string }) {
  const ends = at + label.length * 3.5 > width;
  return <text x={ends ? width : at} y={y} textAnchor={ends ? "end" : "middle"}>{label}</text>;
}

function Bars({ series, count, x, y, width }: { series: Series[]; count: number; x: (n: number) => number; y: (value: number) => number; width: number }) {
  const gap = width > 6 ? 1.5 : width > 3 ? 0.5 : 0;
  return Array.from({ length: count }, (_, n) => {
    let sum = 0;
    return series.map((one) => {
      const value = one.values[n] ?? 0;
      const low = y(sum);
      sum += value;
      return value ? <rect key={`${n} ${one.name}`} x={x(n) + gap / 2} y={y(sum)} width={Math.max(0.5, width - gap)} height={Math.max(1, low - y(sum))} className={`bar tone-${one.tone}`} /> : null;
    });
  });
}

/** Where something was measured, but nothing before and after: a line would not be seen. */
export function lonely(values: (number | null)[]): number[] {
  const there = (n: number): boolean => (values[n] ?? null) !== null;
  return values.flatMap((_, n) => (there(n) && !there(n - 1) && !there(n + 1) ? [n] : []));
}

/** A line that breaks where nothing was measured. */
export function path(values: (number | null)[], x: (n: number) => number, y: (value: number) => number): string {
  let text = "";
  let down = false;
  for (const [n, value] of values.entries()) {
    if (value === null) down = false;
    else {
      text += `${down ? "L" : "M"}${x(n).toFixed(1)} ${y(value).toFixed(1)}`;
      down = true;
    }
  }
  return text;
}
