import { describe, expect, it } from "vitest";
import { picture, tally, worst, type GraphNode } from "./graph";

const node = (name: string, after: string[] = [], group = ""): GraphNode => ({
  name, after, group, what: "work", each: false, conditional: false,
});
const none = new Set<string>();

describe("picture", () => {
  it("draws a small graph as it is", () => {
    const drawn = picture([node("a"), node("b", ["a"], "g")], none);
    expect(drawn.boxes.map((box) => box.id)).toEqual(["node:a", "node:b"]);
    expect(drawn.edges).toEqual([{ from: "node:a", to: "node:b" }]);
  });

  it("closes groups of a large one, and opens those that were asked for", () => {
    const nodes = [node("a"), node("b", ["a"], "g.h"), node("c", ["b"], "g"), node("d", ["c"])];
    const closed = picture(nodes, none, 2);
    expect(closed.boxes.map((box) => box.id)).toEqual(["node:a", "group:g", "node:d"]);
    expect(closed.edges).toEqual([{ from: "node:a", to: "group:g" }, { from: "group:g", to: "node:d" }]);
    const opened = picture(nodes, new Set(["group:g"]), 2);
    expect(opened.boxes.map((box) => box.id)).toEqual(["node:a", "group:g.h", "node:c", "node:d"]);
  });

  it("draws a crowd of alike nodes as one box", () => {
    const many = Array.from({ length: 1998 }, (_, index) => node(`m${index}`, ["first"]));
    const nodes = [node("first"), ...many, node("last", many.map((one) => one.name))];
    const closed = picture(nodes, none);
    expect(closed.boxes).toHaveLength(3);
    expect(closed.boxes[1]).toMatchObject({ id: "crowd:m0", kind: "crowd" });
    expect(closed.boxes[1]?.members).toHaveLength(1998);
    expect(picture(nodes, new Set(["crowd:m0"])).boxes).toHaveLength(2000);
  });

  it("loses no node, whatever is open", () => {
    const nodes = Array.from({ length: 300 }, (_, index) =>
      node(`n${index}`, index < 7 ? [] : [`n${index % 7}`], index % 3 === 0 ? `g${index % 5}.x` : ""),
    );
    for (const opened of [none, new Set(["group:g0"]), new Set(["group:g0", "group:g0.x", "crowd:n7"])]) {
      const members = picture(nodes, opened).boxes.flatMap((box) => box.members);
      expect([...members].sort()).toEqual(nodes.map((one) => one.name).sort());
    }
  });
});

describe("worst", () => {
  it("shows what needs attention first", () => {
    expect(worst(["completed", "failed", "running"])).toBe("failed");
    expect(worst(["completed", "running"])).toBe("running");
    expect(worst(["completed", "skipped"])).toBe("completed");
    expect(worst([])).toBe("pending");
  });

  it("counts what is in each state", () => {
    const states = new Map([["a", "completed"], ["b", "failed"]]);
    expect(tally(["a", "b", "c"], states)).toEqual(new Map([["completed", 1], ["failed", 1], ["pending", 1]]));
  });
});
