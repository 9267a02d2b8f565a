import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Json } from "./api";
import { backoff, Live, type Pushed } from "./live";

/** The other end of the line: what a browser's socket is to us. */
class Wire {
  sent: Record<string, Json>[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  constructor(readonly url: string) {}
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, Json>);
  }
  close(): void {}
  tell(message: Record<string, Json>): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  hello(session = "one"): void {
    this.tell({ type: "hello", session, cursor: 1 });
  }
}

let wires: Wire[] = [];
const wire = (): Wire => wires[wires.length - 1] as Wire;
const made = (): Live => new Live(() => "ws://here/v1/live", (url) => {
  wires.push(new Wire(url));
  return wire() as unknown as WebSocket;
});

beforeEach(() => {
  wires = [];
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

describe("live", () => {
  it("subscribes once for all who watch the same, and gives the newest to who comes later", () => {
    const live = made();
    const [first, second]: [Pushed[], Pushed[]] = [[], []];
    live.watch("counts", {}, { push: (one) => first.push(one) });
    wire().hello();
    wire().tell({ type: "data", id: "s1", cursor: 7, gap: false, data: { ready: 1 } });
    live.watch("counts", {}, { push: (one) => second.push(one) });
    expect(wire().sent).toEqual([{ type: "subscribe", id: "s1", subject: "counts", args: {} }]);
    expect(first).toEqual(second);
  });

  it("comes back with its session and cursors", () => {
    const live = made();
    live.watch("task", { id: "x" }, { push: () => undefined });
    wire().hello();
    wire().tell({ type: "data", id: "s1", cursor: 7, gap: false, data: 1 });
    wire().onclose?.({ code: 1006 });
    expect(live.state.get()).toBe("connecting");
    vi.advanceTimersByTime(60_000);
    expect(wires.length).toBe(2);
    expect(wire().url).toBe("ws://here/v1/live?session=one");
    wire().hello();
    expect(wire().sent).toEqual([{ type: "subscribe", id: "s1", subject: "task", args: { id: "x" }, cursor: 7 }]);
  });

  it("goes on with a log after its last line", () => {
    const live = made();
    live.watch("log", { id: "x" }, { push: () => undefined }, true);
    wire().hello();
    wire().tell({ type: "data", id: "s1", cursor: 7, gap: false, data: [{ id: 4 }, { id: 9 }] });
    wire().onclose?.({ code: 4408 });
    vi.advanceTimersByTime(60_000);
    wire().hello();
    expect(wire().sent).toEqual([{ type: "subscribe", id: "s1", subject: "log", args: { id: "x", after: 9 } }]);
  });

  it("does not come back when its credential does not stand any more, until somebody logs in", () => {
    const live = made();
    live.watch("counts", {}, { push: () => undefined });
    wire().hello();
    wire().onclose?.({ code: 4401 });
    vi.advanceTimersByTime(600_000);
    expect([wires.length, live.state.get()]).toEqual([1, "refused"]);
    live.restart();
    expect(wires.length).toBe(2);
  });

  it("unsubscribes when nobody watches, and says when a subscription has ended", () => {
    const live = made();
    const ends: string[] = [];
    const stop = live.watch("counts", {}, { push: () => undefined });
    live.watch("nonsense", {}, { push: () => undefined, end: (code) => ends.push(code) });
    wire().hello();
    wire().tell({ type: "error", id: "s2", code: "NOT_FOUND", message: "there is no such subject" });
    stop();
    expect(ends).toEqual(["NOT_FOUND"]);
    expect(wire().sent[wire().sent.length - 1]).toEqual({ type: "unsubscribe", id: "s1" });
  });

  it("waits longer each time, but never for ever, and never all at once", () => {
    expect(backoff(0, 0)).toBe(200);
    expect(backoff(0, 1)).toBe(400);
    expect(backoff(3, 1)).toBeGreaterThan(backoff(2, 1));
    expect(backoff(1000, 1)).toBe(15_000);
  });

  it("asks whether somebody is there, and looks for another line when nobody answers", () => {
    const live = made();
    live.watch("counts", {}, { push: () => undefined });
    wire().hello();
    vi.advanceTimersByTime(16_000);
    expect(wire().sent.filter((one) => one["type"] === "ping").length).toBe(1);
    wire().tell({ type: "pong" });
    vi.advanceTimersByTime(30_000);
    expect(wires.length).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(wires.length).toBe(2);
    expect(wire().url).toBe("ws://here/v1/live?session=one");
    // what the old line still says is not heard
    wires[0]?.tell({ type: "hello", session: "old", cursor: 1 });
    expect(live.state.get()).toBe("connecting");
    wire().hello("two");
    expect(live.state.get()).toBe("open");
  });

  it("shows nobody what somebody else was shown", () => {
    const live = made();
    live.watch("counts", {}, { push: () => undefined });
    wire().hello();
    wire().tell({ type: "data", id: "s1", cursor: 7, gap: false, data: "theirs" });
    live.restart();
    const seen: Pushed[] = [];
    live.watch("counts", {}, { push: (one) => seen.push(one) });
    expect(seen).toEqual([]);
    wire().hello("two");
    expect(wire().sent).toEqual([{ type: "subscribe", id: "s1", subject: "counts", args: {} }]);
  });
});
