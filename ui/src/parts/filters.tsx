import { useEffect, useState, type ReactNode } from "react";

import type { Args } from "../base/api";
import { setParams, useHere } from "../base/router";
import { word } from "../logic/states";

export interface Filter {
  name: string;
  label: string;
  /** Text to type, one of some, or any of some. */
  kind: "text" | "one" | "many";
  choices?: readonly string[];
}

/** What the address says of these filters, as arguments of a list. */
export function useFilters(filters: readonly Filter[]): Args {
  const url = useHere();
  return Object.fromEntries(
    filters.map((one) => [one.name, one.kind === "many" ? url.searchParams.getAll(one.name) : url.searchParams.get(one.name)]),
  );
}

/** Filters of a list, kept in the address. */
export function Filters({ filters, children }: { filters: readonly Filter[]; children?: ReactNode }) {
  const url = useHere();
  const set = filters.some((one) => url.searchParams.has(one.name));
  return (
    <form className="filters" role="search" aria-label="Filter the list" onSubmit={(event) => event.preventDefault()}>
      {filters.map((one) =>
        one.kind === "text" ? <Typed key={one.name} filter={one} value={url.searchParams.get(one.name) ?? ""} />
        : one.kind === "one" ? (
          <label key={one.name} className="inline">{one.label}
            <select value={url.searchParams.get(one.name) ?? ""} onChange={(event) => setParams({ [one.name]: event.target.value || null })}>
              <option value="">any</option>
              {one.choices?.map((choice) => <option key={choice} value={choice}>{word(choice)}</option>)}
            </select>
          </label>
        ) : <Many key={one.name} filter={one} chosen={url.searchParams.getAll(one.name)} />,
      )}
      {children}
      {set && <button type="button" className="small" onClick={() => setParams(Object.fromEntries(filters.map((one) => [one.name, null])))}>Clear</button>}
    </form>
  );
}

function Typed({ filter, value }: { filter: Filter; value: string }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    // while somebody types the list is not read for each letter
    const timer = setTimeout(() => setParams({ [filter.name]: text.trim() || null }), 300);
    return () => clearTimeout(timer);
  }, [text, value, filter.name]);
  return <label className="inline">{filter.label} <input type="search" value={text} onChange={(event) => setText(event.target.value)} /></label>;
}

function Many({ filter, chosen }: { filter: Filter; chosen: string[] }) {
  const toggle = (choice: string): void =>
    setParams({ [filter.name]: chosen.includes(choice) ? chosen.filter((one) => one !== choice) : [...chosen, choice] });
  return (
    <span className="chips" role="group" aria-label={filter.label}>
      {filter.choices?.map((choice) => (
        <button key={choice} type="button" className="chip" aria-pressed={chosen.includes(choice)} onClick={() => toggle(choice)}>{word(choice)}</button>
      ))}
    </span>
  );
}
