import { describe, expect, it } from "vitest";

import { countTicks, durationTicks, offset, place, step, timeTicks, valueTicks } from "./axis";

const at = (text: string): number => Date.parse(text);
const labels = (from: string, to: string, wanted: number, zone: string): string[] => timeTicks(at(from), at(to), wanted, zone).map((one) => one.label);

describe("time axis", () => {
  it("never makes more ticks than wanted", () => {
    for (const hours of [0.001, 0.1, 1, 7, 23, 24 * 9, 24 * 400]) {
      const to = at("2026-03-20T05:17:31Z");
      for (const wanted of [2, 5, 9]) expect(timeTicks(to - hours * 3.6e6, to, wanted, "UTC").length).toBeLessThanOrEqual(wanted + 1);
    }
  });
  it("stands on round times", () => {
    expect(labels("2026-01-05T09:07:00Z", "2026-01-05T10:03:00Z", 6, "UTC")).toEqual(["09:10", "09:20", "09:30", "09:40", "09:50", "10:00"]);
  });
  it("stands on round times of the zone that is shown", () => {
    expect(labels("2026-01-05T00:00:00Z", "2026-01-05T12:00:00Z", 4, "Asia/Kolkata")).toEqual(["06:00", "09:00", "12:00", "15:00"]);
  });
  it("says the day at midnight", () => {
    expect(labels("2026-01-05T18:00:00Z", "2026-01-06T06:00:00Z", 4, "UTC")).toEqual(["18:00", "21:00", "6 Jan", "03:00", "06:00"]);
  });
  it("keeps its times when clocks go forward and back", () => {
    // Berlin: 2026-03-29 02:00 → 03:00
    expect(labels("2026-03-28T18:00:00Z", "2026-03-29T10:00:00Z", 6, "Europe/Berlin")).toEqual(["21:00", "29 Mar", "03:00", "06:00", "09:00", "12:00"]);
    // and 2026-10-25 03:00 → 02:00
    const ticks = timeTicks(at("2026-10-24T22:00:00Z"), at("2026-10-25T12:00:00Z"), 8, "Europe/Berlin");
    expect(ticks.every((one, n) => n === 0 || one.at > (ticks[n - 1]?.at ?? 0))).toBe(true);
  });
  it("is empty for nothing", () => expect(timeTicks(5, 5, 4, "UTC")).toEqual([]));
  it("goes below a second", () => expect(labels("2026-01-05T09:00:00.000Z", "2026-01-05T09:00:00.400Z", 4, "UTC")[1]).toBe("09:00:00.100"));
  it("knows offsets", () => {
    expect(offset(at("2026-07-01T00:00:00Z"), "Europe/Berlin")).toBe(7.2e6);
    expect(offset(at("2026-01-01T00:00:00Z"), "Asia/Kolkata")).toBe(5.5 * 3.6e6);
  });
  it("chooses steps from milliseconds to years", () => {
    expect(step(0, 100, 10)).toBe(10);
    expect(step(0, 3.6e6, 6)).toBe(600_000);
    expect(step(0, 86400e3 * 5000, 5)).toBeGreaterThanOrEqual(86400e3 * 1000);
  });
});

describe("value axis", () => {
  it("covers the largest value with round steps", () => {
    for (const most of [0.003, 1, 7, 99, 100, 101, 12345, 9e9]) {
      const ticks = valueTicks(most);
      expect(ticks[ticks.length - 1]).toBeGreaterThanOrEqual(most);
      expect(ticks.length).toBeLessThanOrEqual(6);
    }
  });
  it("has no half of what is counted", () => {
    for (const most of [1, 2, 3, 4, 7, 250]) expect(countTicks(most).every(Number.isInteger)).toBe(true);
    expect(countTicks(2)).toEqual([0, 1, 2]);
    expect(countTicks(0)).toEqual([0, 1]);
  });
  it("has round minutes and hours for what lasts", () => {
    expect(durationTicks(83)).toEqual([0, 30, 60, 90]);
    expect(durationTicks(5000)).toEqual([0, 1800, 3600, 5400]);
    expect(durationTicks(0.004)).toEqual(valueTicks(0.004));
    for (const most of [31, 61, 3599, 86_401, 9e6]) {
      const ticks = durationTicks(most);
      expect(ticks[ticks.length - 1]).toBeGreaterThanOrEqual(most);
      expect(ticks.length).toBeLessThanOrEqual(6);
    }
  });
  it("has a floor for nothing", () => expect(valueTicks(0)).toEqual([0, 1]));
  it("places", () => {
    expect(place(5, 0, 10, 200)).toBe(100);
    expect(place(5, 3, 3, 200)).toBe(0);
  });
});
