import { expect, test } from "vitest";

import { Calm, oneAtATime } from "./calm";

test("what changes now and then is seen at once", () => {
  const calm = new Calm(1000);
  for (const at of [0, 400, 800, 1500, 2600, 9000]) {
    expect(calm.wait(at)).toBe(0);
    calm.take(at);
  }
});

test("a burst is read a few times at once, then at a steady pace, and once more at its end", () => {
  const calm = new Calm(1000);
  const read: number[] = [];
  let due: number | null = null;
  for (let now = 0; now <= 20_000; now += 10) {
    if (now <= 10_000) due = now + calm.wait(now);
    if (due !== null && now >= due) {
      calm.take(now);
      read.push(now);
      due = null;
    }
  }
  expect(read.slice(0, 4)).toEqual([0, 10, 20, 30]);
  expect(read.length).toBeLessThanOrEqual(15);
  expect(read[read.length - 1]).toBeGreaterThanOrEqual(10_000);
});

test("where reads take long they come more rarely, and at the old pace again when they do not", () => {
  const calm = new Calm(250, 1);
  calm.take(0);
  calm.took(100);
  expect(calm.wait(0)).toBe(1000);
  calm.took(5);
  expect(calm.wait(0)).toBe(250);
});

test("a clock that goes back takes no turn and gives none", () => {
  const calm = new Calm(1000, 1);
  calm.take(5000);
  expect(calm.wait(1000)).toBe(1000);
  expect(calm.wait(2000)).toBe(0);
});

test("reads do not overlap, and what was asked for meanwhile is one more", async () => {
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const read = oneAtATime(async () => {
    most = Math.max(most, ++running);
    await new Promise<void>((end) => ends.push(end));
    running -= 1;
  });
  const turn = (): Promise<void> => new Promise((go) => setTimeout(go));
  let answered = 0;
  for (let asked = 0; asked < 3; asked++) void read().then(() => answered++);
  await turn();
  expect(ends.length).toBe(1);
  ends[0]?.();
  await turn();
  expect([ends.length, answered]).toEqual([2, 0]);
  ends[1]?.();
  await turn();
  expect([ends.length, most, running, answered]).toEqual([2, 1, 0, 3]);
  void read();
  await turn();
  expect(ends.length).toBe(3);
});
