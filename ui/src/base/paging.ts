/** Lists that are read again while somebody is far down in them. */

import type { Paged } from "./api";

export interface Shown<T> {
  items: T[];
  cursor: string | null;
}

/** What is shown after the beginning of a list was read again: the new beginning and, where the page ends within what was
    there, the rest of that; so that nobody who scrolled down is thrown back. A page of a filter without an index says how far it
    looked: what is older than that stays. */
export function joined<T>(was: Shown<T>, page: Paged<T>): Shown<T> {
  const until = page.scanned_until;
  if (until) {
    const rest = was.items.filter((one) => Date.parse(madeAt(one)) < Date.parse(until));
    return { items: [...page.items, ...rest], cursor: was.items.length ? was.cursor : page.next_cursor };
  }
  const last = page.items[page.items.length - 1];
  if (page.next_cursor !== null && last !== undefined && was.items.length > page.items.length) {
    const name = nameOf(last);
    const at = name === null ? -1 : was.items.findIndex((one) => nameOf(one) === name);
    if (at >= 0 && at < was.items.length - 1) return { items: [...page.items, ...was.items.slice(at + 1)], cursor: was.cursor };
  }
  return { items: page.items, cursor: page.next_cursor };
}

function madeAt(one: unknown): string {
  return String((one as { created_at?: unknown }).created_at ?? "");
}

function nameOf(one: unknown): string | null {
  if (typeof one !== "object" || one === null) return null;
  for (const field of ["id", "job_id", "dag_id", "execution_id", "name"]) {
    const value = (one as Record<string, unknown>)[field];
    if (typeof value === "string") return `${field} ${value}`;
  }
  return null;
}
