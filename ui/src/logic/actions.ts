/** What can be done to a run, by its kind and state, and the request that does it. */

export type Kind = "dag" | "workflow" | "flow";
export type Verb = "cancel" | "abandon" | "pause" | "resume" | "retry" | "fork" | "signal";
export type Asked = { method: "POST"; path: string; body?: unknown };

const ENDED = new Set(["completed", "failed", "cancelled", "compensated"]);

export function ended(state: string): boolean {
  return ENDED.has(state);
}

/** The verbs a run's page offers. */
export function verbs(kind: Kind, state: string): Verb[] {
  const found: Verb[] = [];
  if (!ended(state)) {
    if (state === "paused" || state === "blocked") found.push("resume");
    else if (state !== "compensating" && state !== "created") found.push("pause");
    if (kind === "workflow") found.push("signal");
    if (state !== "compensating") found.push("cancel");
    if (kind === "workflow" && state !== "compensating") found.push("abandon");
  }
  if (state === "failed" || (kind !== "workflow" && state === "cancelled")) found.push("retry");
  if (kind === "workflow") found.push("fork");
  return found;
}

/** The request for a verb that needs no more than the run. */
export function request(kind: Kind, id: string, verb: Exclude<Verb, "fork" | "signal">): Asked {
  const at = `${kind === "workflow" ? "/v1/runs" : "/v1/dag-runs"}/${encodeURIComponent(id)}`;
  switch (verb) {
    case "cancel":
      return kind === "workflow" ? post(`${at}/cancel`, { compensate: true }) : post(`${at}/cancel`);
    case "abandon":
      return post(`${at}/cancel`, { compensate: false });
    case "pause":
    case "resume":
      return post(`${at}/${verb}`);
    case "retry":
      return post(kind === "workflow" ? `${at}/retry` : `${at}/rerun`);
  }
}

/** What a verb does, for the question before it. */
export const MEANING: Record<Verb, string> = {
  cancel: "Nothing more of it is started, what runs is told to stop, and what a workflow did is undone.",
  abandon: "It ends where it is. What it did is not undone.",
  pause: "Nothing more of it is started until it is resumed.",
  resume: "It goes on where it stopped.",
  retry: "What failed is run again, and what hangs on it.",
  fork: "A new run begins with this one's history up to a step.",
  signal: "The run is told something it waits for, or will.",
};

export const LABEL: Record<Verb, string> = {
  cancel: "Cancel", abandon: "Cancel without undoing", pause: "Pause", resume: "Resume", retry: "Retry",
  fork: "Fork…", signal: "Signal…",
};

function post(path: string, body?: unknown): Asked {
  return body === undefined ? { method: "POST", path } : { method: "POST", path, body };
}
