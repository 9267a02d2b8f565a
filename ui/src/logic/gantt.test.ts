import { describe, expect, it } from "vitest";
import { bar, beside, extent, placed, zoomed } from "./gantt";

const at = (text: string) => Date.parse(text);

describe("bars", () => {
  const step = { id: "a", created_at: "2026-01-01T00:00:00Z", started_at: "2026-01-01T00:00:02Z", finished_at: null };

  it("go on until now where a step goes on", () => {
    expect(bar(step, at("2026-01-01T00:00:09Z"))).toMatchObject({ open: true, to: at("2026-01-01T00:00:09Z") });
    expect(bar({ ...step, started_at: null }, 0)).toBeNull();
  });

  it("stand inside what is shown, never too thin", () => {
    const one = { id: "a", from: 50, to: 50, waited: 50, open: false };
    expect(placed(one, { from: 0, to: 100 })).toEqual({ left: 0.5, width: 0.003 });
    expect(placed(one, { from: 60, to: 100 })).toBeNull();
    expect(placed({ ...one, from: -10, to: 500 }, { from: 0, to: 100 })).toEqual({ left: 0, width: 1 });
    const edge = placed({ ...one, from: 100, to: 100 }, { from: 0, to: 100 });
    expect((edge?.left ?? 2) + (edge?.width ?? 2)).toBeLessThanOrEqual(1);
  });

  it("span from the first beginning to the last end", () => {
    const bars = [{ id: "a", from: 5, to: 90, waited: 5, open: false }, null];
    expect(extent(bars, { from: 0, to: 1 })).toEqual({ from: 5, to: 90 });
    expect(extent([null], { from: 0, to: 1 })).toEqual({ from: 0, to: 1 });
  });

  it("have their words where nothing is covered, or in the largest", () => {
    expect(beside([{ left: 0.1, width: 0.2 }], 0.3)).toMatchObject({ left: expect.closeTo(0.3) as number, inside: false });
    expect(beside([{ left: 0.6, width: 0.3 }], 0.3)).toMatchObject({ right: 0.4, inside: false });
    // lost for long, then done quickly: neither end has room, and the end of the first bar is what is looked at
    expect(beside([{ left: 0, width: 0.9 }, { left: 0.95, width: 0.05 }], 0.3)).toEqual({ left: 0, inside: true });
    expect(beside([{ left: 0.1, width: 0.1 }, { left: 0.9, width: 0.1 }], 0.3)).toEqual({ left: 0.1, inside: true });
  });

  it("zoom never outside", () => {
    expect(zoomed({ from: 0, to: 100 }, 2, 0.5)).toEqual({ from: 25, to: 75 });
    expect(zoomed({ from: 0, to: 100 }, 4, 0)).toEqual({ from: 0, to: 25 });
    expect(zoomed({ from: 0, to: 100 }, 4, 1)).toEqual({ from: 75, to: 100 });
  });
});
