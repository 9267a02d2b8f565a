import { useEffect, useMemo, useRef, useState } from "react";

import type { Json } from "../base/api";
import { live } from "../base/live";
import { zone } from "../base/settings";
import { useStore } from "../base/store";
import { clean } from "../logic/text";
import { clock } from "../logic/time";
import { Empty } from "./empty";
import { useWindowed } from "./windowed";

interface Line {
  id: number;
  attempt: number;
  at: string;
  level: string;
  message: string;
  fields: Json;
}
const ROW = 20;
const MOST = 20_000;

/** A task's log as it grows. It follows the end until the reader scrolls up. */
export function LogTail({ task }: { task: string }) {
  const [lines, setLines] = useState<Line[]>([]);
  const [lost, setLost] = useState(0);
  const [ended, setEnded] = useState<string | null>(null);
  const [wanted, setWanted] = useState("");
  const [follow, setFollow] = useState(true);
  const chosen = useStore(zone);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    setLines([]);
    setLost(0);
    setEnded(null);
    return live.watch("log", { id: task }, {
      push: ({ data, gap }) => {
        const more = (data ?? []) as unknown as Line[];
        setLines((was) => {
          const from = was[was.length - 1]?.id ?? 0;
          const all = [...was, ...more.filter((one) => one.id > from)];
          return all.length > MOST ? all.slice(-MOST) : all;
        });
        if (gap) setLost((n) => n + 1);
      },
      end: (_code, message) => setEnded(message),
    }, true);
  }, [task]);
  const rows = useMemo(() => split(lines, wanted), [lines, wanted]);
  const seen = useWindowed(rows.length, ROW, box, true);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [rows.length, follow]);
  const scrolled = (): void => {
    const element = box.current;
    if (element) setFollow(element.scrollHeight - element.scrollTop - element.clientHeight < ROW * 2);
  };
  if (!lines.length)
    return <Empty title={ended ? "No log" : "Nothing logged yet"}>{ended ? clean(ended) : "Lines appear here as the task writes them, with ctx.log or Python's logging."}</Empty>;
  return (
    <div className="log">
      <div className="log-bar">
        <label className="inline">Contains <input type="search" value={wanted} onChange={(event) => setWanted(event.target.value)} /></label>
        <label className="inline"><input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} /> Follow</label>
        <span className="quiet">{lines.length.toLocaleString("en")} {lines.length === 1 ? "line" : "lines"}{lost ? " · some lines were left out" : ""}</span>
      </div>
      <div className="log-lines" ref={box} onScroll={scrolled} role="log" aria-label="Log" tabIndex={0}>
        <div className="log-height" style={{ height: rows.length * ROW }}>
          <div className="log-seen" style={{ transform: `translateY(${seen.first * ROW}px)` }}>
            {rows.slice(seen.first, seen.last).map((one) => (
              <div key={one.key} className={`log-line level-${level(one.line.level)}`}>
                <span className="log-at">{one.first ? clock(new Date(one.line.at), chosen, true) : ""}</span>
                <span className="log-level">{one.first ? clean(one.line.level) : ""}</span>
                <span>{one.text}</span>
              </div>
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}

/** Lines with line breaks become several rows: rows have one height. */
function split(lines: Line[], wanted: string): { key: string; line: Line; text: string; first: boolean }[] {
  const low = wanted.toLowerCase();
  return lines.flatMap((one) => {
    const fields = one.fields && typeof one.fields === "object" && Object.keys(one.fields).length ? ` ${JSON.stringify(one.fields)}` : "";
    const text = clean(one.message + fields);
    if (low && !text.toLowerCase().includes(low)) return [];
    return text.split("\n").map((part, n) => ({ key: `${one.id}.${n}`, line: one, text: part, first: n === 0 }));
  });
}

function level(name: string): string {
  return ["debug", "info", "warning", "error", "critical"].includes(name) ? name : "info";
}
