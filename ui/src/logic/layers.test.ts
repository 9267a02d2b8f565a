import { describe, expect, it } from "vitest";
import { picture, type GraphNode } from "./graph";
import { HEIGHT, WIDTH, layers, places, upright } from "./layers";

const node = (name: string, after: string[] = []): GraphNode => ({
  name, after, group: "", what: "work", each: false, conditional: false,
});
const open = new Set<string>();

describe("layers", () => {
  it("puts a box after everything it hangs on, by the longest way", () => {
    const drawn = picture([node("a"), node("b", ["a"]), node("c", ["a", "b"]), node("d")], open);
    expect(layers(drawn)).toEqual([["node:a", "node:d"], ["node:b"], ["node:c"]]);
  });

  it("places every box once even if boxes hang on each other", () => {
    const boxes = ["x", "y"].map((id) => ({ id, kind: "group" as const, label: id, members: [id] }));
    const drawn = { boxes, edges: [{ from: "x", to: "y" }, { from: "y", to: "x" }] };
    expect(layers(drawn).flat().sort()).toEqual(["x", "y"]);
  });

  it("turns a picture whose first is at the bottom", () => {
    const at = new Map([["a", { x: 0, y: 50 }], ["one", { x: 200, y: 100 }], ["two", { x: 200, y: 50 }], ["three", { x: 200, y: 0 }]]);
    const turned = upright(["a", "one", "two", "three"], at, false);
    expect([...turned].map(([id, place]) => [id, place.x, place.y])).toEqual([["a", 0, 50], ["one", 200, 0], ["two", 200, 50], ["three", 200, 100]]);
    expect(upright(["a", "three", "two", "one"], at, false)).toBe(at);
    const below = new Map([["one", { x: 90, y: 0 }], ["two", { x: 0, y: 0 }]]);
    expect(upright(["one", "two"], below, true).get("one")).toEqual({ x: 0, y: 0 });
  });

  it("lets no two boxes overlap, two thousand of them", () => {
    const nodes = Array.from({ length: 2000 }, (_, index) =>
      node(`n${index}`, index === 0 ? [] : [`n${Math.floor((index - 1) / 3)}`]),
    );
    const found = places(picture(nodes, open, 10_000));
    expect(found.size).toBe(2000);
    const taken = new Set([...found.values()].map((place) => `${Math.round(place.x / WIDTH)}:${Math.round(place.y)}`));
    expect(taken.size).toBe(2000);
    for (const x of new Set([...found.values()].map((place) => place.x))) {
      const ys = [...found.values()].filter((place) => place.x === x).map((place) => place.y).sort((a, b) => a - b);
      ys.slice(1).forEach((y, index) => expect(y - (ys[index] ?? 0)).toBeGreaterThanOrEqual(HEIGHT));
    }
  });
});
