/** What the server answers, as far as the pages need it. docs/reference/rest.md has all of it. */

import type { Json } from "./api";

export interface Count {
  count: number;
  at_least: boolean;
}
export type Counts = Record<"scheduled" | "blocked" | "ready" | "running" | "completed" | "failed" | "timed_out" | "cancelled" | "dead", Count>;

export interface TaskRow {
  id: string;
  kind: string;
  queue: string;
  state: string;
  reason: string | null;
  priority: number;
  attempt: number;
  max_attempts: number | null;
  losses: number;
  created_at: string;
  run_at: string;
  started_at: string | null;
  finished_at: string | null;
  node_id: string | null;
  tags: string[];
  correlation_id: string | null;
  run_id: string | null;
  job_id?: string | null;
  parent_id: string | null;
  progress: number | null;
  progress_message: string | null;
  error_type?: string | null;
  error_message?: string | null;
  cancelling?: boolean;
}
export interface Problem {
  type?: string;
  message?: string;
  traceback?: string;
}
export interface Attempt {
  attempt: number;
  node_id?: string | null;
  claimed_at?: string | null;
  started_at?: string | null;
  ended_at?: string | null;
  finished_at?: string | null;
  state?: string;
  outcome?: string;
  error?: Problem | null;
}
export interface Task extends TaskRow {
  cancel_requested_at: string | null;
  capabilities: string[];
  concurrency_key: string | null;
  dedupe_key: string | null;
  timeout: number | null;
  payload: Json;
  result: Json;
  error: Problem | null;
  attempts: Attempt[];
}
export interface Explained {
  code: string;
  summary: string;
  reasons: string[];
}
export interface Limits {
  paused: boolean;
  max_running: number | null;
  rate: { limit: number; period: number; burst: number | null } | null;
}
export interface Queue {
  name: string;
  paused: boolean;
  settings: Limits;
  operator: Limits;
  ready: Count;
  scheduled: Count;
  blocked: Count;
  running: Count;
  oldest_ready: number | null;
  finished_last_minute: Count;
  failed_last_hour: Count;
}
export interface Node {
  id: string;
  hostname: string;
  ip_address: string | null;
  http_port: number;
  pid: number;
  version: string;
  status: string;
  roles: string[];
  queues: string[] | null;
  handlers: string[];
  capabilities: string[];
  concurrency: number;
  running: number;
  asleep: boolean;
  started_at: string;
  beat_at: string;
  beat_age: number;
  lease: number;
  /** It serves every org. */
  shared: boolean;
}
export interface Overview {
  from: string;
  to: string;
  step: number;
  completed: number[];
  failed: number[];
  cancelled: number[];
  waiting: number[];
  running: number[];
  oldest: number[];
  queues: { ready: number; scheduled: number; blocked: number; running: number; oldest_ready: number | null };
  schedule_lag: number | null;
  late_jobs: number;
  workers: { active: number; draining: number; dead: number; slots: number; running: number };
  dead: number;
}
