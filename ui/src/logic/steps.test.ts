import { describe, expect, it } from "vitest";
import { FEW, inOrder, rows, statesOf, title, type Step } from "./steps";

const step = (id: string, frame = "run", more: Partial<Step> = {}): Step => ({
  id, run_id: "run", frame_id: frame, node: id, element: -1, catching: false, depth: 0, state: "completed", task_id: null,
  attempt: 1, reruns: 0, parts: 0, parts_ended: 0, parts_failed: 0, block: null, item: null, output: null, error: null,
  created_at: "2026-01-01T00:00:00Z", started_at: "2026-01-01T00:00:00Z", finished_at: null, ...more,
});
const none = new Set<string>();

describe("rows", () => {
  it("put steps under the step that opened their block", () => {
    const found = rows([step("b", "a"), step("a"), step("c", "b")], "run", none);
    expect(found.map((row) => [row.step.id, row.depth])).toEqual([["a", 0], ["b", 1], ["c", 2]]);
  });

  it("put elements and catching blocks under their node", () => {
    const all = [step("e0", "run", { node: "a", element: 0 }), step("a"), step("inner", "e0"), step("k", "run", { node: "a", catching: true })];
    expect(rows(all, "run", none).map((row) => [row.step.id, row.depth])).toEqual([["a", 0], ["k", 1], ["e0", 1], ["inner", 2]]);
  });

  it("hide many children until they are asked for", () => {
    const many = Array.from({ length: FEW + 1 }, (_, index) => step(`m${index}`, "a", { node: "m", element: index }));
    expect(rows([step("a"), ...many], "run", none)).toHaveLength(1);
    const opened = rows([step("a"), ...many], "run", new Set(["a"]));
    expect(opened).toHaveLength(FEW + 2);
    expect(opened[3]?.step.element).toBe(2);
  });

  it("show a step whose parent has not come yet", () => {
    expect(rows([step("b", "missing")], "run", none)).toHaveLength(1);
  });
});

describe("steps of a workflow", () => {
  it("stand as its code came to them, and what undid them afterwards", () => {
    const at = (node: string, created_at: string) => ({ node, created_at });
    const forked = [at("ship#10", "2026-01-05T09:00:01Z"), at("approval#2", "2026-01-05T09:00:00Z"), at("reserve#1", "2026-01-05T09:00:00Z"),
      at("release#~1", "2026-01-05T09:00:05Z"), at("recall#~2", "2026-01-05T09:00:04Z"), at("each#3.1", "2026-01-05T09:00:00Z")];
    expect(inOrder(forked).map((one) => one.node)).toEqual(["reserve#1", "approval#2", "each#3.1", "ship#10", "recall#~2", "release#~1"]);
  });
});

describe("names and states", () => {
  it("say what a step is", () => {
    expect(title(step("ship"))).toBe("ship");
    expect(title(step("ship", "run", { element: 3, catching: true }))).toBe("catch of ship [3]");
  });

  it("of a node come from the node itself, not from its elements", () => {
    const found = statesOf([step("a"), step("a1", "a", { node: "a", element: 0, state: "failed" })], "run");
    expect(found).toEqual(new Map([["a", "completed"]]));
  });
});
