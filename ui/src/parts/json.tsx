import { useState, type ReactNode } from "react";

import type { Json } from "../base/api";
import { clean } from "../logic/text";
import { Copy } from "./empty";

const AT_ONCE = 100;

/** JSON that opens and closes. Long lists are shown a hundred at a time, long texts are cut until asked for. */
export function JsonView({ value, label = "JSON", open = 2 }: { value: Json | undefined; label?: string; open?: number }) {
  if (value === undefined) return <span className="quiet">–</span>;
  return (
    <div className="json" role="group" aria-label={label}>
      <div className="json-copy"><Copy text={JSON.stringify(value, null, 2)} /></div>
      <Value value={value} depth={0} open={open} name={null} />
    </div>
  );
}

function Value({ value, depth, open, name }: { value: Json; depth: number; open: number; name: string | null }): ReactNode {
  const before = name === null ? null : <span className="json-name">{clean(name)}: </span>;
  if (value === null || typeof value !== "object")
    return <div className="json-line">{before}<Plain value={value} /></div>;
  const list = Array.isArray(value);
  const entries: [string, Json][] = list ? value.map((one, n) => [String(n), one]) : Object.entries(value);
  if (!entries.length) return <div className="json-line">{before}<span className="quiet">{list ? "[]" : "{}"}</span></div>;
  return <Nest entries={entries} list={list} depth={depth} open={open} before={before} />;
}

function Nest({ entries, list, depth, open, before }: {
  entries: [string, Json][]; list: boolean; depth: number; open: number; before: ReactNode;
}) {
  const [shown, setShown] = useState(depth < open);
  const [most, setMost] = useState(AT_ONCE);
  const size = `${entries.length} ${list ? (entries.length === 1 ? "item" : "items") : entries.length === 1 ? "field" : "fields"}`;
  return (
    <div className="json-nest">
      <button type="button" className="json-line json-fold" aria-expanded={shown} onClick={() => setShown(!shown)}>
        <span aria-hidden="true">{shown ? "▾" : "▸"}</span> {before}<span className="quiet">{list ? "[" : "{"}{size}{list ? "]" : "}"}</span>
      </button>
      {shown && (
        <div className="json-inside">
          {entries.slice(0, most).map(([key, one]) => <Value key={key} name={key} value={one} depth={depth + 1} open={open} />)}
          {entries.length > most && (
            <button type="button" className="small" onClick={() => setMost(most + AT_ONCE)}>Show {Math.min(AT_ONCE, entries.length - most)} more of {entries.length - most}</button>
          )}
        </div>
      )}
    </div>
  );
}

function Plain({ value }: { value: null | boolean | number | string }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span className={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const text = clean(value);
  const cut = text.length > 400 && !whole;
  return (
    <span className="json-string">
      &quot;{cut ? `${text.slice(0, 400)}…` : text}&quot;
      {cut && <> <button type="button" className="small" onClick={() => setWhole(true)}>all {text.length} characters</button></>}
    </span>
  );
}
