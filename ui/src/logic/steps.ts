/** A run's steps as they come from the server, and as trees, bars and states that pages show. */

export type Step = {
  id: string;
  run_id: string;
  frame_id: string;
  node: string;
  element: number;
  catching: boolean;
  depth: number;
  state: string;
  task_id: string | null;
  attempt: number;
  reruns: number;
  parts: number;
  parts_ended: number;
  parts_failed: number;
  block: string | null;
  item: unknown;
  output: unknown;
  error: { type?: string; message?: string } | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
};

/** A workflow's steps as its code came to them: `charge#1`, `ship#2`, and what undid them (`refund#~1`) afterwards. A fork has
    the steps it began with all from one moment, so that the time says nothing. */
export function inOrder<T extends Pick<Step, "node" | "created_at">>(steps: readonly T[]): T[] {
  const key = (one: T): [number, number] => {
    const found = /#(~?)(\d+)[^#]*$/.exec(one.node);
    return [found?.[1] ? 1 : 0, Number(found?.[2] ?? 0)];
  };
  return [...steps].sort((a, b) => {
    const [[x, m], [y, n]] = [key(a), key(b)];
    return x - y || (x ? Date.parse(a.created_at) - Date.parse(b.created_at) : m - n) || Date.parse(a.created_at) - Date.parse(b.created_at);
  });
}

/** A step in its place: how deep, how many are below it, whether those are hidden. */
export type Row = { step: Step; depth: number; children: number; closed: boolean };

/** More children than this are hidden until asked for. */
export const FEW = 20;

/** The tree as lines from top to bottom. `turned` are steps that somebody opened or closed against the rule. */
export function rows(steps: readonly Step[], run: string, turned: ReadonlySet<string>): Row[] {
  const below = new Map<string, Step[]>();
  const known = new Set(steps.map((step) => step.id));
  const nodes = new Map(steps.filter((step) => step.element < 0 && !step.catching).map((step) => [`${step.frame_id} ${step.node}`, step.id]));
  for (const step of steps) {
    // an element stands below its node. A parent that is not here (a page that has not come) must not hide its children
    const own = step.element < 0 && !step.catching ? undefined : nodes.get(`${step.frame_id} ${step.node}`);
    const parent = own ?? (known.has(step.frame_id) ? step.frame_id : run);
    const there = below.get(parent);
    if (there === undefined) below.set(parent, [step]);
    else there.push(step);
  }
  for (const list of below.values()) list.sort(byTime);
  const found: Row[] = [];
  const stack: { step: Step; depth: number }[] = (below.get(run) ?? []).map((step) => ({ step, depth: 0 })).reverse();
  const seen = new Set<string>();
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (seen.has(top.step.id)) continue;
    seen.add(top.step.id);
    const children = below.get(top.step.id) ?? [];
    const closed = children.length > 0 && children.length > FEW !== turned.has(top.step.id);
    found.push({ ...top, children: children.length, closed });
    if (closed) continue;
    for (const step of [...children].reverse()) stack.push({ step, depth: top.depth + 1 });
  }
  return found;
}

/** What a step is called among people: `ship`, `ship [3]`, `catch of ship`. */
export function title(step: Pick<Step, "node" | "element" | "catching">): string {
  const name = step.element < 0 ? step.node : `${step.node} [${step.element}]`;
  return step.catching ? `catch of ${name}` : name;
}

/** State of each node of a frame, for the graph. */
export function statesOf(steps: readonly Step[], frame: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const step of steps) {
    if (step.frame_id === frame && step.element < 0 && !step.catching) found.set(step.node, step.state);
  }
  return found;
}

function byTime(a: Step, b: Step): number {
  const left = a.started_at ?? "9999";
  const right = b.started_at ?? "9999";
  if (left !== right) return left < right ? -1 : 1;
  if (a.node !== b.node) return a.created_at === b.created_at ? (a.id < b.id ? -1 : 1) : a.created_at < b.created_at ? -1 : 1;
  return a.element - b.element;
}
