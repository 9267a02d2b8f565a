import { describe, expect, it } from "vitest";
import { difference, folded, lines } from "./difference";

const said = (left: string[], right: string[]) => difference(left, right).map((line) => line.sign + line.text);

describe("difference", () => {
  it("keeps what is common", () => {
    expect(said(["a", "b", "c"], ["a", "x", "c"])).toEqual([" a", "-b", "+x", " c"]);
    expect(said([], ["a"])).toEqual(["+a"]);
    expect(said(["a"], [])).toEqual(["-a"]);
    expect(said(["a"], ["a"])).toEqual([" a"]);
  });

  it("gives both sides back, whatever they are", () => {
    let seed = 7;
    const random = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
    for (let round = 0; round < 200; round += 1) {
      const make = () => Array.from({ length: Math.floor(random() * 12) }, () => "abc"[Math.floor(random() * 3)] ?? "a");
      const [left, right] = [make(), make()];
      for (const most of [4000, 3]) {
        const found = difference(left, right, most);
        expect(found.filter((line) => line.sign !== "+").map((line) => line.text)).toEqual(left);
        expect(found.filter((line) => line.sign !== "-").map((line) => line.text)).toEqual(right);
      }
    }
  });

  it("does not mind the order of keys", () => {
    expect(lines({ b: 1, a: [{ d: 1, c: 2 }] })).toEqual(lines({ a: [{ c: 2, d: 1 }], b: 1 }));
  });

  it("folds what did not change", () => {
    const left = Array.from({ length: 20 }, (_, index) => `l${index}`);
    const right = left.map((line, index) => (index === 10 ? "other" : line));
    const shown = folded(difference(left, right), 2);
    expect(shown[0]).toBeNull();
    expect(shown[shown.length - 1]).toBeNull();
    expect(shown).toHaveLength(8);
  });
});
