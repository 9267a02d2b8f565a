import { describe, expect, it } from "vitest";

import { matching, zones } from "./zones";

describe("zones", () => {
  it("are all that the browser knows, and UTC", () => {
    expect(zones().length).toBeGreaterThan(300);
    expect(zones()).toContain("UTC");
    expect(new Set(zones()).size).toBe(zones().length);
  });
  it("are found by parts of their names, cities first", () => {
    expect(matching("berl", "Asia/Tokyo")).toEqual(["Europe/Berlin"]);
    expect(matching("new york", "Asia/Tokyo")).toEqual(["America/New_York"]);
    expect(matching("tokyo", "Asia/Tokyo")).toEqual(["local", "Asia/Tokyo"]);
    expect(matching("", "Asia/Tokyo")[0]).toBe("local");
    expect(matching("atlantis", "UTC")).toEqual([]);
  });
});
