import type { Json } from "../../base/api";

export interface Job {
  job_id: string;
  name: string;
  job_type: "CRON" | "ONE_TIME" | "DELAYED";
  cron_expression: string | null;
  timezone: string;
  run_at: string | null;
  delay_seconds: number | null;
  payload: Record<string, Json>;
  retry_config: Record<string, Json> | null;
  timeout_seconds: number | null;
  tags: string[];
  priority: number;
  queue: string;
  misfire: string;
  overlap: string;
  jitter_seconds: number;
  status: string;
  next_run_time: string | null;
  last_run_time: string | null;
  error: string | Record<string, Json> | null;
  version: number;
  created_at: string;
  updated_at: string;
  last_results?: string[];
}

export interface Execution {
  execution_id: string;
  status: string;
  trigger: string;
  scheduled_time: string;
  started_at: string | null;
  completed_at: string | null;
  attempt_number: number;
  error_message: string | null;
  cancelling: boolean;
}

/** What a job does, in a few words. */
export function does(payload: Record<string, Json>): string {
  for (const word of ["task", "dag", "workflow", "flow", "command"]) if (typeof payload[word] === "string") return `${word} ${payload[word]}`;
  if (typeof payload["endpoint"] === "string") return `${typeof payload["method"] === "string" ? payload["method"] : "GET"} ${payload["endpoint"]}`;
  return "–";
}
