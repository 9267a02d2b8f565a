import { describe, expect, it } from "vitest";
import { actionOf, ofPlan, ofStep, request, stepVerbs, verbs } from "./actions";

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
    expect(request("dag", "x", "cancel")).toEqual({ method: "POST", path: "/v1/runs/x/cancel", body: { compensate: true } });
    expect(request("flow", "x", "pause").path).toBe("/v1/runs/x/pause");
    expect(request("flow", "x", "retry")).toEqual({ method: "POST", path: "/v1/runners/x/repair", body: { dry_run: false } });
  });

  it("name the action that the server asks for", () => {
    expect([actionOf("dag", "cancel"), actionOf("dag", "retry"), actionOf("flow", "retry"), actionOf("workflow", "retry"), actionOf("workflow", "fork")]).toEqual(["run.write", "dag.run", "flow.run", "run.write", "run.write"]);
    expect(ofPlan("dag")).toBe("dag.run");
  });

  it("of a step fit its run", () => {
    const step = { state: "failed", block: null, element: -1, catching: false, outer: true };
    expect(stepVerbs("dag", false, step)).toEqual(["rerun", "mark"]);
    expect(stepVerbs("dag", false, { ...step, element: 2 })).toEqual([]);
    expect(stepVerbs("flow", false, step)).toEqual(["mark"]);
    expect(stepVerbs("flow", true, { ...step, element: 2, block: "b" })).toEqual(["retry", "rerun", "reset", "mark"]);
    expect(stepVerbs("workflow", true, step)).toEqual([]);
  });

  it("of a step go where its run came from", () => {
    expect(ofStep("dag", "x", { id: "s", node: "load" }, "rerun")).toMatchObject({ path: "/v1/dag-runs/x/clear", body: { tasks: ["load"] } });
    expect(ofStep("flow", "x", { id: "s", node: "load" }, "rerun").path).toBe("/v1/runners/x/steps/s/rerun");
    expect(ofStep("flow", "x", { id: "s", node: "load" }, "mark", 1)).toMatchObject({ path: "/v1/runners/x/steps/s/mark", body: { state: "completed", output: 1 } });
  });
});
