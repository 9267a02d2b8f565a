/** Two documents side by side: as lines of JSON with their keys in order, so that only what means something differs. */

export type Line = { sign: " " | "+" | "-"; text: string };

/** JSON with sorted keys, two spaces deep. */
export function lines(value: unknown): string[] {
  return JSON.stringify(sorted(value), null, 2)?.split("\n") ?? ["nothing"];
}

export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}

/** What was taken away and what was added, with the longest common part kept. Myers' greedy way, bounded. */
export function difference(left: readonly string[], right: readonly string[], most = 4000): Line[] {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < left.length - start && end < right.length - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const before = left.slice(start, left.length - end);
  const after = right.slice(start, right.length - end);
  const middle = before.length + after.length > most ? apart(before, after) : myers(before, after);
  return [...same(left.slice(0, start)), ...middle, ...same(left.slice(left.length - end))];
}

/** Only what changed, with some lines around it; null stands for lines left out. */
export function folded(found: readonly Line[], around = 3): (Line | null)[] {
  const near = new Uint8Array(found.length);
  found.forEach((line, index) => {
    if (line.sign === " ") return;
    for (let at = Math.max(0, index - around); at <= Math.min(found.length - 1, index + around); at += 1) near[at] = 1;
  });
  const shown: (Line | null)[] = [];
  found.forEach((line, index) => {
    if (near[index] === 1) shown.push(line);
    else if (shown[shown.length - 1] !== null) shown.push(null);
  });
  return shown;
}

function myers(before: readonly string[], after: readonly string[]): Line[] {
  const trace: Map<number, number>[] = [];
  let reach = new Map<number, number>([[1, 0]]);
  for (let steps = 0; steps <= before.length + after.length; steps += 1) {
    trace.push(new Map(reach));
    const next = new Map(reach);
    for (let k = -steps; k <= steps; k += 2) {
      const down = k === -steps || (k !== steps && (next.get(k - 1) ?? -1) < (next.get(k + 1) ?? -1));
      let x = down ? (next.get(k + 1) ?? 0) : (next.get(k - 1) ?? 0) + 1;
      let y = x - k;
      while (x < before.length && y < after.length && before[x] === after[y]) {
        x += 1;
        y += 1;
      }
      next.set(k, x);
      if (x >= before.length && y >= after.length) return back(trace, before, after);
    }
    reach = next;
  }
  return apart(before, after);
}

function back(trace: readonly Map<number, number>[], before: readonly string[], after: readonly string[]): Line[] {
  const found: Line[] = [];
  let x = before.length;
  let y = after.length;
  for (let steps = trace.length - 1; steps >= 0; steps -= 1) {
    const reach = trace[steps] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -steps || (k !== steps && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const fromX = reach.get(from) ?? 0;
    const fromY = fromX - from;
    while (x > fromX && y > fromY && x > 0 && y > 0) {
      found.push({ sign: " ", text: before[x - 1] ?? "" });
      x -= 1;
      y -= 1;
    }
    if (steps > 0) found.push(down ? { sign: "+", text: after[y - 1] ?? "" } : { sign: "-", text: before[x - 1] ?? "" });
    x = fromX;
    y = fromY;
  }
  return found.reverse();
}

function apart(before: readonly string[], after: readonly string[]): Line[] {
  return [
    ...before.map((text) => ({ sign: "-" as const, text })),
    ...after.map((text) => ({ sign: "+" as const, text })),
  ];
}

function same(texts: readonly string[]): Line[] {
  return texts.map((text) => ({ sign: " " as const, text }));
}
