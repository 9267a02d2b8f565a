import { describe, expect, it } from "vitest";

import { gaps, lost, segments, story, type Tried } from "./attempts";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 5, 9, 0, second)).toISOString();
const NOW = Date.parse(at(30));
const one = (attempt: number, outcome: string, began: number | null, ended: number | null): Tried => ({
  attempt, outcome, node: null, began: began === null ? null : at(began), ended: ended === null ? null : at(ended),
});

describe("attempts on a line", () => {
  it("stand in the order of time, with what was between them", () => {
    const found = segments([one(2, "running", 9, null), one(1, "lost", 0, 6)], NOW);
    expect(found.map((two) => [two.attempt, two.to - two.from, two.open])).toEqual([[1, 6000, false], [2, 21_000, true]]);
    expect(gaps(found)).toEqual([{ from: Date.parse(at(6)), to: Date.parse(at(9)) }]);
    expect(lost(found)).toBe(1);
    expect(story(found)).toBe("lost once with its worker, taken up again after 3.0 s; it goes on");
  });
  it("are told as they are", () => {
    expect(story(segments([one(1, "lost", 0, 6)], NOW))).toBe("lost once with its worker, waiting to be taken up");
    expect(story(segments([one(1, "completed", 0, 6)], NOW))).toBe("not interrupted; it is done");
    expect(story([])).toBe("");
  });
  it("leave out what never began, and never end before they began", () => {
    expect(segments([one(1, "released", null, 3), one(2, "retry", 5, 4)], NOW)).toMatchObject([{ attempt: 2, from: Date.parse(at(5)), to: Date.parse(at(5)) }]);
  });
});
