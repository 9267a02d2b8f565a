/** What of a graph is drawn: groups and crowds of alike nodes stand as one box until somebody opens them, so that a
    plan of two thousand nodes is a picture and not a carpet. Pure; layout.ts says where the boxes go. */

export type GraphNode = {
  name: string;
  after: readonly string[];
  group: string;
  what: string;
  each: boolean;
  conditional: boolean;
};

export type Box = {
  id: string;
  kind: "node" | "group" | "crowd";
  label: string;
  members: readonly string[];
};

export type Edge = { from: string; to: string };

export type Picture = { boxes: Box[]; edges: Edge[] };

/** More nodes than this, and groups and crowds are closed until opened. */
export const MANY = 60;
/** So many nodes with the same neighbours are a crowd. */
export const CROWD = 6;

/** What to draw. `opened` are the ids of groups and crowds that somebody wants to see inside. */
export function picture(nodes: readonly GraphNode[], opened: ReadonlySet<string>, many = MANY): Picture {
  const owner = nodes.length > many ? owners(nodes, opened) : new Map<string, Box>();
  const boxes = new Map<string, Box>();
  const boxOf = new Map<string, string>();
  for (const node of nodes) {
    const box = owner.get(node.name) ?? single(node);
    boxes.set(box.id, box);
    boxOf.set(node.name, box.id);
  }
  return { boxes: [...boxes.values()], edges: edges(nodes, boxOf) };
}

/** How a box with many members is doing: what needs attention first. */
export function worst(states: Iterable<string>): string {
  const there = new Set(states);
  return ATTENTION.find((state) => there.has(state)) ?? "pending";
}

const ATTENTION = [
  "failed", "timed_out", "upstream_failed", "blocked", "compensating", "running", "ready", "waiting", "paused", "scheduled",
  "pending", "created", "cancelled", "compensated", "completed", "skipped",
];

/** How many members are in each state. */
export function tally(members: readonly string[], states: ReadonlyMap<string, string>): Map<string, number> {
  const found = new Map<string, number>();
  for (const name of members) {
    const state = states.get(name) ?? "pending";
    found.set(state, (found.get(state) ?? 0) + 1);
  }
  return found;
}

function owners(nodes: readonly GraphNode[], opened: ReadonlySet<string>): Map<string, Box> {
  const members = new Map<string, string[]>();
  const loose: GraphNode[] = [];
  for (const node of nodes) {
    const closed = closedGroup(node.group, opened);
    if (closed === null) loose.push(node);
    else push(members, closed, node.name);
  }
  const found = new Map<string, Box>();
  for (const [group, names] of members) {
    const box: Box = { id: `group:${group}`, kind: "group", label: group, members: names };
    for (const name of names) found.set(name, box);
  }
  for (const [name, box] of crowds(loose, nodes, opened)) found.set(name, box);
  return found;
}

/** The outermost group on the way to a node that nobody has opened; null if it is to be seen. */
function closedGroup(group: string, opened: ReadonlySet<string>): string | null {
  if (group === "") return null;
  const parts = group.split(".");
  for (let end = 1; end <= parts.length; end += 1) {
    const prefix = parts.slice(0, end).join(".");
    if (!opened.has(`group:${prefix}`)) return prefix;
  }
  return null;
}

/** Loose nodes that wait for the same and are waited for by the same. */
function crowds(loose: readonly GraphNode[], all: readonly GraphNode[], opened: ReadonlySet<string>): Map<string, Box> {
  const before = new Map<string, string[]>();
  for (const node of all) for (const name of node.after) push(before, name, node.name);
  const alike = new Map<string, GraphNode[]>();
  for (const node of loose) {
    const key = JSON.stringify([node.group, [...node.after].sort(), [...(before.get(node.name) ?? [])].sort()]);
    push(alike, key, node);
  }
  const found = new Map<string, Box>();
  for (const together of alike.values()) {
    const first = together[0];
    if (first === undefined || together.length < CROWD) continue;
    const box: Box = {
      id: `crowd:${first.name}`, kind: "crowd", label: `${first.name} … ${together.length} alike`,
      members: together.map((node) => node.name),
    };
    if (!opened.has(box.id)) for (const node of together) found.set(node.name, box);
  }
  return found;
}

function edges(nodes: readonly GraphNode[], boxOf: ReadonlyMap<string, string>): Edge[] {
  const found = new Map<string, Edge>();
  for (const node of nodes) {
    const to = boxOf.get(node.name);
    if (to === undefined) continue;
    for (const name of node.after) {
      const from = boxOf.get(name);
      if (from !== undefined && from !== to) found.set(`${from}\u0000${to}`, { from, to });
    }
  }
  return [...found.values()];
}

function single(node: GraphNode): Box {
  return { id: `node:${node.name}`, kind: "node", label: node.name, members: [node.name] };
}

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const there = map.get(key);
  if (there === undefined) map.set(key, [value]);
  else there.push(value);
}
