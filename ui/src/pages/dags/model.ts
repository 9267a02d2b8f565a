import type { Json } from "../../base/api";
import type { GraphNode } from "../../logic/graph";
import type { Param } from "../../logic/params";

export interface Dag {
  dag_id: string;
  name: string;
  description: string;
  cron_expression: string | null;
  timezone: string;
  status: string;
  next_run_time: string | null;
  version: string;
  version_number: number;
  max_active_runs: number | null;
  tags: string[];
  task_count: number;
  created_at: string;
  updated_at: string;
}

export interface DagTask {
  task_id: string;
  name: string;
  payload: Record<string, Json>;
  dependencies: string[];
  timeout_seconds: number | null;
  max_retries: number;
  trigger_rule: string;
  group: string;
}

export interface WholeDag extends Dag {
  params: Record<string, Param>;
  tasks: DagTask[];
}

export interface Written {
  version: string;
  number: number;
  created_at: string;
  header: Record<string, Json>;
  tasks: DagTask[];
}

/** Tasks as the graph draws them. */
export function nodesOf(tasks: readonly DagTask[]): GraphNode[] {
  return tasks.map((task) => ({
    name: task.name, after: task.dependencies, group: task.group, each: false, conditional: false, what: what(task.payload),
  }));
}

function what(payload: Record<string, Json>): string {
  for (const word of ["task", "dag", "workflow", "flow", "command", "endpoint", "action"]) if (typeof payload[word] === "string") return String(payload[word]);
  return "";
}
