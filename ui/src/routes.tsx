/** Every page: its address and the file that draws it, read when it is first needed. */

import { lazy, type ComponentType } from "react";

import type { Match } from "./base/router";

export interface Nav {
  to: string;
  name: string;
  /** `g` and this letter. */
  key: string;
  gap?: boolean;
}
export const NAV: Nav[] = [
  { to: "/", name: "Overview", key: "o" },
  { to: "/runs", name: "Runs", key: "r", gap: true },
  { to: "/workflows", name: "Workflows", key: "w" },
  { to: "/dags", name: "DAGs", key: "d" },
  { to: "/flows", name: "Flows", key: "f" },
  { to: "/jobs", name: "Jobs", key: "j" },
  { to: "/queues", name: "Queues", key: "q", gap: true },
  { to: "/tasks", name: "Tasks", key: "t" },
  { to: "/dead", name: "Dead letters", key: "x" },
  { to: "/workers", name: "Workers", key: "n" },
  { to: "/lab", name: "AIOpsLab", key: "a", gap: true },
  { to: "/settings", name: "Settings", key: "s" },
];

export interface Route {
  path: string;
  page: ComponentType<{ match: Match }>;
}
const of = (load: () => Promise<{ default: ComponentType<{ match: Match }> }>): ComponentType<{ match: Match }> => lazy(load);

export const ROUTES: Route[] = [
  { path: "/", page: of(() => import("./pages/overview")) },
  { path: "/queues", page: of(() => import("./pages/queues")) },
  { path: "/queues/:name", page: of(() => import("./pages/queue")) },
  { path: "/tasks", page: of(() => import("./pages/tasks")) },
  { path: "/tasks/:id", page: of(() => import("./pages/task")) },
  { path: "/dead", page: of(() => import("./pages/dead")) },
  { path: "/workers", page: of(() => import("./pages/workers")) },
  { path: "/workers/:id", page: of(() => import("./pages/worker")) },
  { path: "/lab", page: of(() => import("./pages/lab")) },
  { path: "/lab/:id", page: of(() => import("./pages/lab_task")) },
  { path: "/settings", page: of(() => import("./pages/settings")) },
  { path: "/runs", page: of(() => import("./pages/runs/list")) },
  { path: "/runs/:id", page: of(() => import("./pages/runs/run")) },
  { path: "/jobs", page: of(() => import("./pages/jobs/list")) },
  { path: "/jobs/:id", page: of(() => import("./pages/jobs/job")) },
  { path: "/dags", page: of(() => import("./pages/dags/list")) },
  { path: "/dags/:id", page: of(() => import("./pages/dags/dag")) },
  { path: "/workflows", page: of(() => import("./pages/workflows/list")) },
  { path: "/workflows/:name", page: of(() => import("./pages/workflows/workflow")) },
  { path: "/flows", page: of(() => import("./pages/flows/list")) },
  { path: "/flows/:id", page: of(() => import("./pages/flows/flow")) },
];
