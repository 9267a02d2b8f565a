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

/** The action that the server asks its policy for before it does this. */
export function actionOf(kind: Kind, verb: Verb): string {
  return verb === "retry" ? ofPlan(kind) : "run.write";
}

/** Of what is done to steps, and of what runs them again. */
export function ofPlan(kind: Kind): string {
  return { workflow: "run.write", dag: "dag.run", flow: "flow.run" }[kind];
}

/** The request for a verb that needs no more than the run. */
export function request(kind: Kind, id: string, verb: Exclude<Verb, "fork" | "signal">): Asked {
  const run = encodeURIComponent(id);
  switch (verb) {
    case "cancel":
    case "abandon":
      return post(`/v1/runs/${run}/cancel`, { compensate: verb === "cancel" });
    case "pause":
    case "resume":
      return post(`/v1/runs/${run}/${verb}`);
    case "retry":
      return kind === "workflow" ? post(`/v1/runs/${run}/retry`) : kind === "dag" ? post(`/v1/dag-runs/${run}/rerun`) : post(`/v1/runners/${run}/repair`, { dry_run: false });
  }
}

export type StepVerb = "retry" | "rerun" | "reset" | "mark";

/** What can be done to one step of a plan's run. A flow's steps are named by their ids, because those in blocks share names;
    a flow that goes on must be cancelled before a step of it is run again. */
export function stepVerbs(kind: Kind, over: boolean, step: { state: string; block: string | null; element: number; catching: boolean; outer: boolean }): StepVerb[] {
  const done = ended(step.state) || ["timed_out", "upstream_failed", "skipped"].includes(step.state);
  if (kind === "workflow" || (kind === "dag" && (step.element >= 0 || step.catching || !step.outer))) return [];
  const found: StepVerb[] = [];
  if (kind === "flow" && over && step.state === "failed") found.push("retry");
  if (done && (kind === "dag" || over)) found.push("rerun");
  if (kind === "flow" && over && step.block !== null) found.push("reset");
  if (step.state !== "completed") found.push("mark");
  return found;
}

export function ofStep(kind: Kind, run: string, step: { id: string; node: string }, verb: StepVerb, output: unknown = null): Asked {
  const at = `/v1/${kind === "dag" ? "dag-runs" : "runners"}/${encodeURIComponent(run)}`;
  if (kind === "dag") return verb === "mark" ? post(`${at}/mark`, { task: step.node, status: "COMPLETED", output }) : post(`${at}/clear`, { tasks: [step.node] });
  return verb === "mark" ? post(`${at}/steps/${step.id}/mark`, { state: "completed", output }) : post(`${at}/steps/${step.id}/${verb}`);
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
