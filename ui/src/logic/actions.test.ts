import { describe, expect, it } from "vitest";
import { request, verbs } from "./actions";

describe("verbs", () => {
  it("fit the state", () => {
    expect(verbs("dag", "running")).toEqual(["pause", "cancel"]);
    expect(verbs("dag", "paused")).toEqual(["resume", "cancel"]);
    expect(verbs("dag", "failed")).toEqual(["retry"]);
    expect(verbs("dag", "completed")).toEqual([]);
    expect(verbs("workflow", "waiting")).toEqual(["pause", "signal", "cancel", "abandon", "fork"]);
    expect(verbs("workflow", "blocked")).toContain("resume");
    expect(verbs("workflow", "completed")).toEqual(["fork"]);
    expect(verbs("workflow", "compensating")).toEqual(["signal", "fork"]);
  });

  it("become the request of their kind", () => {
    expect(request("dag", "x", "retry")).toEqual({ method: "POST", path: "/v1/dag-runs/x/rerun" });
    expect(request("workflow", "x", "abandon")).toEqual({
      method: "POST", path: "/v1/runs/x/cancel", body: { compensate: false },
    });
    expect(request("dag", "x", "cancel").body).toBeUndefined();
  });
});
