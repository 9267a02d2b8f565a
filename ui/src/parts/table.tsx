import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent, type ReactNode } from "react";

import { go, useParam } from "../base/router";
import { clean, shown } from "../logic/text";
import { useWindowed } from "./windowed";

export interface Column<T> {
  name: string;
  head: ReactNode;
  cell: (row: T) => ReactNode;
  /** Left out where there is little room. */
  less?: boolean;
  right?: boolean;
  /** Takes what room there is, and is cut off. */
  wide?: boolean;
  /** Makes it sortable: only for lists that are there as a whole. */
  order?: (row: T) => string | number;
}
interface Props<T> {
  label: string;
  rows: T[];
  id: (row: T) => string;
  columns: Column<T>[];
  to?: (row: T) => string | null;
  chosen?: Set<string>;
  choose?: (ids: Set<string>) => void;
  more?: boolean;
  next?: () => void;
}
const ROW = 36;

/** A list. Arrow keys or j/k go through it, Enter opens, x chooses; only rows in sight are drawn. */
export function Table<T>({ label, rows, id, columns, to, chosen, choose, more = false, next }: Props<T>) {
  const [sort, setSort] = useParam("sort");
  const sorted = useMemo(() => order(rows, columns, sort), [rows, columns, sort]);
  const body = useRef<HTMLTableSectionElement>(null);
  const [active, setActive] = useState(0);
  const wanted = useRef<number | null>(null);
  const seen = useWindowed(sorted.length, ROW, body, false);
  const at = Math.min(active, Math.max(0, sorted.length - 1));

  useEffect(() => {
    if (wanted.current === null) return;
    const row = body.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"]`);
    if (!row) return;
    wanted.current = null;
    row.focus();
    row.scrollIntoView({ block: "nearest" });
  });
  useEffect(() => {
    if (more && next && seen.last >= sorted.length) next();
  }, [more, next, seen.last, sorted.length]);

  const move = (target: number): void => {
    const to = Math.max(0, Math.min(sorted.length - 1, target));
    wanted.current = to;
    setActive(to);
    const top = (body.current?.getBoundingClientRect().top ?? 0) + to * ROW;
    if (top < 0 || top > innerHeight - ROW) scrollBy(0, top - innerHeight / 2);
  };
  const toggle = (key: string): void => {
    if (!chosen || !choose) return;
    const changed = new Set(chosen);
    if (!changed.delete(key)) changed.add(key);
    choose(changed);
  };
  const key = (event: KeyboardEvent<HTMLTableSectionElement>): void => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = sorted[at];
    const steps: Record<string, number> = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: sorted.length - 1, PageDown: at + 12, PageUp: at - 12 };
    const step = steps[event.key];
    if (step !== undefined) move(step);
    else if (event.key === "Enter" && row && to && event.target instanceof HTMLTableRowElement) {
      const target = to(row);
      if (target) go(target);
    } else if ((event.key === "x" || event.key === " ") && row && event.target instanceof HTMLTableRowElement) toggle(id(row));
    else return;
    event.preventDefault();
  };
  const click = (event: MouseEvent<HTMLTableRowElement>, row: T): void => {
    const target = to?.(row);
    if (!target || (event.target as Element).closest("a, button, input, label") || getSelection()?.toString()) return;
    go(target);
  };
  const all = sorted.length > 0 && sorted.every((row) => chosen?.has(id(row)));
  const width = columns.length + (choose ? 1 : 0);
  return (
    <div className="table-frame">
      <table className="table" aria-label={label} aria-rowcount={more ? -1 : sorted.length + 1}>
        <thead>
          <tr>
            {choose && (
              <th scope="col" className="choose">
                <input type="checkbox" aria-label="Choose all that are listed" checked={all}
                  onChange={() => choose(all ? new Set() : new Set(sorted.map(id)))} />
              </th>
            )}
            {columns.map((one) => (
              <Head key={one.name} column={one} sort={sort} setSort={setSort} sortable={!more && !!one.order} />
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={key}>
          {seen.first > 0 && <tr aria-hidden="true"><td colSpan={width} className="gap" style={{ height: seen.first * ROW }} /></tr>}
          {sorted.slice(seen.first, seen.last).map((row, n) => {
            const index = seen.first + n;
            const name = id(row);
            const marked = chosen?.has(name) ?? false;
            return (
              <tr key={name} data-row={index} data-id={name} aria-rowindex={index + 2} tabIndex={index === at ? 0 : -1}
                className={`${to?.(row) ? "opens" : ""}${marked ? " marked" : ""}`} aria-selected={choose ? marked : undefined}
                onFocus={() => setActive(index)} onClick={(event) => click(event, row)}>
                {choose && (
                  <td className="choose">
                    <input type="checkbox" tabIndex={-1} checked={marked} onChange={() => toggle(name)} aria-label={`Choose ${clean(name)}`} />
                  </td>
                )}
                {columns.map((one) => (
                  <td key={one.name} className={classes(one)}>{shown(one.cell(row))}</td>
                ))}
              </tr>
            );
          })}
          {seen.last < sorted.length && <tr aria-hidden="true"><td colSpan={width} className="gap" style={{ height: (sorted.length - seen.last) * ROW }} /></tr>}
        </tbody>
      </table>
      {more && next && <p className="more"><button type="button" onClick={next}>Show more</button></p>}
    </div>
  );
}

function Head<T>({ column, sort, setSort, sortable }: { column: Column<T>; sort: string; setSort: (to: string) => void; sortable: boolean }) {
  const up = sort === column.name;
  const down = sort === `-${column.name}`;
  return (
    <th scope="col" className={classes(column)} aria-sort={up ? "ascending" : down ? "descending" : undefined}>
      {sortable ? (
        <button type="button" className="sort" onClick={() => setSort(up ? `-${column.name}` : down ? "" : column.name)}>
          {column.head}{(up || down) && <span aria-hidden="true">{up ? "↑" : "↓"}</span>}
        </button>
      ) : column.head}
    </th>
  );
}

function classes<T>(one: Column<T>): string | undefined {
  return [one.less && "less", one.right && "right", one.wide && "wide"].filter(Boolean).join(" ") || undefined;
}

function order<T>(rows: T[], columns: Column<T>[], sort: string): T[] {
  const column = columns.find((one) => one.name === sort.replace(/^-/, ""));
  const by = column?.order;
  if (!by) return rows;
  const turn = sort.startsWith("-") ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    return (x < y ? -1 : x > y ? 1 : 0) * turn;
  });
}
