import { expect, test } from "vitest";

import { joined } from "./paging";

const rows = (...ids: string[]): { id: string; state?: string }[] => ids.map((id) => ({ id }));

test("who scrolled down keeps the rest of the list", () => {
  const was = { items: rows("e", "d", "c", "b", "a"), cursor: "after a" };
  const found = joined(was, { items: [{ id: "f" }, { id: "e", state: "new" }, { id: "d" }], next_cursor: "after d" });
  expect(found).toEqual({ items: [{ id: "f" }, { id: "e", state: "new" }, ...rows("d", "c", "b", "a")], cursor: "after a" });
});

test("a page that holds all of it, or does not meet what was there, takes its place", () => {
  const was = { items: rows("c", "b", "a"), cursor: null };
  expect(joined(was, { items: rows("c"), next_cursor: null })).toEqual({ items: rows("c"), cursor: null });
  expect(joined(was, { items: rows("z", "y"), next_cursor: "after y" })).toEqual({ items: rows("z", "y"), cursor: "after y" });
  expect(joined({ items: rows("a"), cursor: null }, { items: rows("b", "a"), next_cursor: null }).items).toEqual(rows("b", "a"));
  expect(joined({ items: [1, 2, 3], cursor: "c" }, { items: [1], next_cursor: "d" })).toEqual({ items: [1], cursor: "d" });
});

test("what a filter without an index found further back stays", () => {
  const made = (id: string, created_at: string): { id: string; created_at: string } => ({ id, created_at });
  const old = made("a", "2026-01-01T00:00:00Z");
  const was = { items: [made("c", "2026-03-01T00:00:00Z"), old], cursor: "after a" };
  const page = { items: [made("d", "2026-03-02T00:00:00Z")], next_cursor: "after d", scanned_until: "2026-02-01T00:00:00Z" };
  expect(joined(was, page)).toEqual({ items: [...page.items, old], cursor: "after a" });
});
