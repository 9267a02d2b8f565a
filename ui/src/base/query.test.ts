import { describe, expect, it } from "vitest";

import type { Pushed, Watcher } from "./live";
import { watchChange } from "./query";

const pushed = (changed: number): Pushed => ({ data: { changed }, cursor: changed, gap: false });

/** A subscription of which `known` was pushed already, if anything was. */
function line(known: Pushed | null = null): { watch: (s: string, a: object, watcher: Watcher) => () => void; tell: (one: Pushed) => void } {
  const watchers = new Set<Watcher>();
  return {
    watch: (_subject, _args, watcher) => {
      if (known) watcher.push(known);
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    tell: (one) => watchers.forEach((watcher) => watcher.push(one)),
  };
}

describe("a list that is read again when it changed", () => {
  it("is read again after the first push: it may have changed after it was read and before it was watched", () => {
    const from = line();
    let reads = 0;
    watchChange(from, "runs", {}, { changed: () => reads++, end: () => undefined });
    expect(reads).toBe(0);
    from.tell(pushed(1));
    expect(reads).toBe(1);
    from.tell(pushed(2));
    expect(reads).toBe(2);
  });

  it("is not read again for what others were pushed before it was read", () => {
    const from = line(pushed(1));
    let reads = 0;
    const stop = watchChange(from, "runs", {}, { changed: () => reads++, end: () => undefined });
    expect(reads).toBe(0);
    from.tell(pushed(2));
    expect(reads).toBe(1);
    stop();
    from.tell(pushed(3));
    expect(reads).toBe(1);
  });
});
