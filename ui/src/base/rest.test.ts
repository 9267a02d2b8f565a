import { describe, expect, it } from "vitest";

import { range } from "../parts/windowed";
import { address, refusal } from "./api";

describe("addresses", () => {
  it("leave out what is empty and repeat lists", () => {
    expect(address("/v1/tasks", { state: ["ready", "running"], kind: "", queue: null, limit: 5 })).toBe("/v1/tasks?state=ready&state=running&limit=5");
    expect(address("/v1/me")).toBe("/v1/me");
  });
});

describe("refusals", () => {
  it("read both envelopes", () => {
    const ours = refusal(404, "/v1/x", '{"error": {"code": "NOT_FOUND", "message": "no", "request_id": "r1"}}', null);
    expect([ours.code, ours.message, ours.request, ours.where]).toEqual(["NOT_FOUND", "no", "r1", "/v1/x"]);
    expect(refusal(409, "/aiopslab/x", '{"error": "taken", "code": "CONFLICT"}', null).message).toBe("taken");
  });
  it("survive what is not ours", () => expect(refusal(502, "/v1/x", "<html>", "r2").message).toContain("502"));
});

describe("rows in sight", () => {
  it("are few, whatever the length", () => {
    expect(range(1_000_000, 36, 36 * 5000, 720)).toEqual({ first: 4988, last: 5032 });
    expect(range(3, 36, 0, 720)).toEqual({ first: 0, last: 3 });
    expect(range(0, 36, 0, 720)).toEqual({ first: 0, last: 0 });
    expect(range(10, 36, 99_999, 720)).toEqual({ first: 10, last: 10 });
  });
});
