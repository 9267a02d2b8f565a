import { describe, expect, it } from "vitest";

import { bare, whole, type Run } from "./model";

const run = (part: Partial<Run>): Run => ({ id: "r", state: "completed", params: {}, output: null, error: null, ...part }) as Run;

describe("a run that is too large to be pushed", () => {
  it("keeps what was read of it, in the state that was pushed", () => {
    const read = run({ state: "running", params: { a: 1 }, output: [2], error: { message: "no" } });
    expect(whole(run({}), read)).toMatchObject({ state: "completed", params: { a: 1 }, output: [2], error: { message: "no" } });
  });
  it("is not shown as an empty one before it was read", () => expect(whole(run({}), null)).toBeNull());
  it("that is small is what was pushed", () => {
    expect(whole(run({ params: { a: 2 } }), run({ params: { a: 1 }, output: 1 }))).toMatchObject({ params: { a: 2 }, output: null });
    expect(whole(null, run({ output: 1 }))?.output).toBe(1);
    expect(whole(null, null)).toBeNull();
    expect([bare(run({})), bare(run({ output: 0 })), bare(run({ error: {} })), bare(null)]).toEqual([true, false, false, false]);
  });
});
