/** Where boxes go when there are many: in layers by the longest way to them, each layer sorted by the middle of what it
    hangs on. Linear in boxes and edges, where dagre's network simplex takes seconds for two thousand of them. */

import type { Edge, Picture } from "./graph";

export type Place = { x: number; y: number };

export const WIDTH = 190;
export const HEIGHT = 46;
const ACROSS = 70;
const DOWN = 18;
/** A layer with more boxes than this is broken into columns. */
const TALL = 40;

/** Layer of each box: one more than the farthest box it hangs on. Boxes on a circle go where they are met. */
export function layers(picture: Picture): string[][] {
  const after = new Map<string, string[]>(picture.boxes.map((box) => [box.id, []]));
  const waiting = new Map<string, number>(picture.boxes.map((box) => [box.id, 0]));
  for (const edge of picture.edges) {
    after.get(edge.from)?.push(edge.to);
    waiting.set(edge.to, (waiting.get(edge.to) ?? 0) + 1);
  }
  const found: string[][] = [];
  let now = picture.boxes.filter((box) => waiting.get(box.id) === 0).map((box) => box.id);
  const left = new Set(picture.boxes.map((box) => box.id));
  while (left.size > 0) {
    // closed groups can hang on each other: somebody begins
    if (now.length === 0) now = [...left].slice(0, 1);
    now = now.filter((id) => left.has(id));
    for (const id of now) left.delete(id);
    if (now.length > 0) found.push(now);
    const next: string[] = [];
    for (const id of now) {
      for (const to of after.get(id) ?? []) {
        const still = (waiting.get(to) ?? 0) - 1;
        waiting.set(to, still);
        if (still === 0 && left.has(to)) next.push(to);
      }
    }
    now = next;
  }
  return found;
}

/** The same picture, mirrored if more neighbours stand against the order in which they were written than with it. */
export function upright(ids: readonly string[], at: ReadonlyMap<string, Place>, down: boolean): ReadonlyMap<string, Place> {
  const ranks = new Map<number, number[]>();
  for (const id of ids) {
    const place = at.get(id);
    if (!place) continue;
    const rank = Math.round(down ? place.y : place.x);
    ranks.set(rank, [...(ranks.get(rank) ?? []), down ? place.x : place.y]);
  }
  const turns = [...ranks.values()].flatMap((across) => across.slice(1).map((value, n) => Math.sign(value - (across[n] ?? 0))));
  if (turns.reduce((sum, one) => sum + one, 0) >= 0) return at;
  const all = [...at.values()].map((place) => (down ? place.x : place.y));
  const ends = Math.min(...all) + Math.max(...all);
  return new Map([...at].map(([id, place]) => [id, down ? { ...place, x: ends - place.x } : { ...place, y: ends - place.y }]));
}

/** A place for every box, left to right. */
export function places(picture: Picture): Map<string, Place> {
  const columns = ordered(layers(picture), picture.edges).flatMap(broken);
  const tallest = Math.max(1, ...columns.map((column) => column.length));
  const found = new Map<string, Place>();
  columns.forEach((column, index) => {
    const top = ((tallest - column.length) * (HEIGHT + DOWN)) / 2;
    column.forEach((id, row) => found.set(id, { x: index * (WIDTH + ACROSS), y: top + row * (HEIGHT + DOWN) }));
  });
  return found;
}

function ordered(levels: string[][], edges: readonly Edge[]): string[][] {
  const before = new Map<string, string[]>();
  for (const edge of edges) {
    const there = before.get(edge.to);
    if (there === undefined) before.set(edge.to, [edge.from]);
    else there.push(edge.from);
  }
  const at = new Map<string, number>();
  return levels.map((level) => {
    const middle = new Map(level.map((id, index) => [id, mean(before.get(id) ?? [], at, index)]));
    const sorted = [...level].sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
    sorted.forEach((id, index) => at.set(id, index / sorted.length));
    return sorted;
  });
}

function mean(ids: readonly string[], at: ReadonlyMap<string, number>, otherwise: number): number {
  const known = ids.map((id) => at.get(id)).filter((value) => value !== undefined);
  return known.length === 0 ? otherwise : known.reduce((sum, value) => sum + value, 0) / known.length;
}

function broken(column: string[]): string[][] {
  const found: string[][] = [];
  for (let start = 0; start < column.length; start += TALL) found.push(column.slice(start, start + TALL));
  return found;
}
