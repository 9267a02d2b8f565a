import { describe, expect, it } from "vitest";
import { bar, lasted, offset, placed, span, ticks, zoomed } from "./gantt";

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
    expect(span(bars, { from: 0, to: 1 })).toEqual({ from: 5, to: 90 });
    expect(span([null], { from: 0, to: 1 })).toEqual({ from: 0, to: 1 });
  });

  it("zoom never outside", () => {
    expect(zoomed({ from: 0, to: 100 }, 2, 0.5)).toEqual({ from: 25, to: 75 });
    expect(zoomed({ from: 0, to: 100 }, 4, 0)).toEqual({ from: 0, to: 25 });
    expect(zoomed({ from: 0, to: 100 }, 4, 1)).toEqual({ from: 75, to: 100 });
  });
});

describe("ticks", () => {
  it("fall on round times", () => {
    const found = ticks({ from: at("2026-01-01T10:00:07Z"), to: at("2026-01-01T10:04:40Z") }, "UTC");
    expect(found.map((tick) => tick.label)).toEqual(["10:01", "10:02", "10:03", "10:04"]);
  });

  it("are round in the zone, not in UTC", () => {
    const found = ticks({ from: at("2026-01-01T00:00:00Z"), to: at("2026-01-02T00:00:00Z") }, "Asia/Kolkata");
    expect(found.map((tick) => tick.label)).toEqual(["06:00", "12:00", "18:00", "00:00"]);
  });

  it("stay at midnight when the clocks change", () => {
    const found = ticks({ from: at("2026-03-26T00:00:00Z"), to: at("2026-04-01T00:00:00Z") }, "Europe/Berlin");
    expect(found.map((tick) => tick.label)).toEqual([
      "2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31", "2026-04-01",
    ]);
    const hours = found.map((tick) => (tick.at + offset(tick.at, "Europe/Berlin")) % 86_400_000);
    expect(new Set(hours)).toEqual(new Set([0]));
  });

  it("are few, whatever is shown", () => {
    for (const length of [1, 10, 999, 6e4, 1e7, 1e9, 1e11, 1e12]) {
      const found = ticks({ from: 1.7e12, to: 1.7e12 + length }, "America/St_Johns");
      expect(found.length).toBeLessThanOrEqual(8 + (length > 5e11 ? 30 : 0));
    }
  });
});

describe("lasted", () => {
  it("has two parts at most", () => {
    const said = [0, 999, 1500, 61_000, 3_600_000, 7_500_000, 90_000_000].map(lasted);
    expect(said).toEqual(["0 ms", "999 ms", "1.5 s", "1 min 1 s", "1 h", "2 h 5 min", "1 d 1 h"]);
  });
});
