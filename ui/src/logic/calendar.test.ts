import { describe, expect, it } from "vitest";
import { hours } from "./calendar";

describe("hours", () => {
  const now = Date.parse("2026-01-05T10:20:00Z");

  it("holds what fires in each, a job once", () => {
    const coming = ["10:30", "10:45", "12:00"].map((time) => ({ job_id: "a", name: "a", at: `2026-01-05T${time}:00Z` }));
    const found = hours(coming, now, "UTC");
    expect(found).toHaveLength(24);
    expect(found[0]).toMatchObject({ label: "10:00", count: 2 });
    expect(found[0]?.slots).toHaveLength(1);
    expect(found[2]?.count).toBe(1);
  });

  it("leaves out what is later, and begins at the zone's full hour", () => {
    const found = hours([{ job_id: "a", name: "a", at: "2027-01-05T10:30:00Z" }], now, "Asia/Kolkata");
    expect(found.map((hour) => hour.count)).toEqual(Array(24).fill(0));
    expect(found[0]?.label).toBe("15:00");
  });
});
