import { useState } from "react";

import { post, type Json } from "../base/api";
import { useCalm, useChange, useRead } from "../base/query";
import { Link, useParam } from "../base/router";
import { may, useMe } from "../base/session";
import type { Schema } from "../logic/schema";
import { span } from "../logic/time";
import { Empty } from "../parts/empty";
import { Filters, useFilters, type Filter } from "../parts/filters";
import { FormDialog } from "../parts/form_dialog";
import { Card, Failure, Figure, Loading, Page } from "../parts/page";
import { StateBadge, Tags } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Time, Took } from "../parts/time";
import { toast } from "../parts/toast";

export interface LabTask {
  id: string;
  problem_id: string;
  status: string;
  parameters: { priority: number; max_steps: number; timeout_minutes: number; agent_config: Json; metadata: Json; callback_url?: string };
  created_at: string;
  worker_id?: string;
  started_at?: string;
  completed_at?: string;
}
interface LabWorker {
  id: string;
  backend_type: string;
  status: string;
  last_heartbeat: string;
  capabilities: { max_parallel_tasks: number; supported_problems: string[] };
  tasks_completed: number;
  tasks_failed: number;
}
interface Statistics {
  total: number;
  pending: number;
  running: number;
  completed: number;
  failed: number;
  timeout: number;
  success_rate: number;
  avg_duration?: number;
}
const PAGE = 50;
const FILTERS: readonly Filter[] = [
  { name: "status", label: "State", kind: "one", choices: ["pending", "running", "completed", "failed", "timeout"] },
  { name: "problem_id", label: "Problem", kind: "text" },
  { name: "worker_id", label: "Worker", kind: "text" },
];
const NEW: Schema = {
  required: ["problem_id"],
  properties: {
    problem_id: { type: "string", title: "Problem", description: "Its AIOpsLab identifier, e.g. pod-crash-detection-1." },
    max_steps: { type: "integer", minimum: 1, maximum: 1000, default: 30 },
    timeout_minutes: { type: "integer", minimum: 1, maximum: 180, default: 30 },
    priority: { type: "integer", minimum: 0, maximum: 10, default: 5, description: "Higher first." },
    agent_config: { type: "object", title: "Agent" },
    metadata: { type: "object" },
  },
};

export default function Lab() {
  const me = useMe();
  const [offset, setOffset] = useParam("offset", "0");
  const wanted = useFilters(FILTERS);
  const tasks = useRead<{ tasks: LabTask[]; total: number }>("/aiopslab/tasks", { ...wanted, limit: PAGE, offset }, true);
  const stats = useRead<Statistics>("/aiopslab/tasks/stats", {}, true);
  const workers = useRead<{ workers: LabWorker[] }>("/aiopslab/workers", {}, true);
  const [making, setMaking] = useState(false);
  const calm = useCalm(() => {
    tasks.again();
    stats.again();
    workers.again();
  }, 1000);
  useChange("tasks", { kind: "aiopslab.problem", limit: 1 }, calm);
  useChange("counts", {}, calm);
  const submit = async (value: Record<string, Json>): Promise<void> => {
    await post("/aiopslab/tasks", value);
    toast("Submitted; it waits for a free worker");
    calm();
  };
  const now = stats.data;
  const from = Number(offset) || 0;
  const total = tasks.data?.total ?? 0;
  return (
    <Page title="AIOpsLab" actions={may(me, "task.create") && <button type="button" className="primary" onClick={() => setMaking(true)}>Submit a problem…</button>}>
      {now && (
        <div className="figures">
          <Figure name="Solved" value={now.completed + now.failed + now.timeout ? `${Math.round(now.success_rate * (now.success_rate <= 1 ? 100 : 1))} %` : "–"} hint={`${now.total} submitted in 24 h`} />
          <Figure name="Waiting" value={now.pending} />
          <Figure name="Running" value={now.running} />
          <Figure name="Failed" value={now.failed + now.timeout} hint={now.timeout ? `${now.timeout} took too long` : undefined} tone={now.failed + now.timeout ? "bad" : ""} />
          <Figure name="On average" value={span(now.avg_duration)} hint="from start to end" />
        </div>
      )}
      <Filters filters={FILTERS} />
      {tasks.error && <Failure of={tasks.error} again={tasks.again} />}
      {!tasks.data ? !tasks.error && <Loading /> : !tasks.data.tasks.length ? (
        <Empty title="No problem was submitted" command="weft aiopslab submit pod-crash-detection-1">Agents solve problems here, one after another:</Empty>
      ) : (
        <>
          <Table label="Problems" rows={tasks.data.tasks} id={(one) => one.id} columns={TASKS} to={(one) => `/lab/${one.id}`} />
          {total > PAGE && (
            <nav className="actions" aria-label="Pages of the list">
              <button type="button" disabled={from === 0} onClick={() => setOffset(String(Math.max(0, from - PAGE)))}>Newer</button>
              <span className="quiet">{from + 1}–{Math.min(total, from + PAGE)} of {total}</span>
              <button type="button" disabled={from + PAGE >= total} onClick={() => setOffset(String(from + PAGE))}>Older</button>
            </nav>
          )}
        </>
      )}
      <Card title="Workers" flush>
        {workers.data?.workers.length ? <Table label="AIOpsLab workers" rows={workers.data.workers} id={(one) => one.id} columns={WORKERS} />
          : <Empty title="No worker is registered" command="weft aiopslab worker">Problems wait until one comes:</Empty>}
      </Card>
      {making && <FormDialog title="Submit a problem" schema={NEW} verb="Submit" submit={submit} close={() => setMaking(false)} />}
    </Page>
  );
}

const TASKS: Column<LabTask>[] = [
  { name: "status", head: "State", cell: (one) => <StateBadge state={one.status} /> },
  { name: "problem", head: "Problem", cell: (one) => <Link to={`/lab/${one.id}`}>{one.problem_id}</Link>, wide: true },
  { name: "worker", head: "Worker", cell: (one) => one.worker_id ?? "–", less: true },
  { name: "priority", head: "Priority", cell: (one) => one.parameters.priority, right: true, less: true },
  { name: "took", head: "Took", cell: (one) => <Took from={one.started_at} to={one.completed_at} />, right: true, less: true },
  { name: "created", head: "Submitted", cell: (one) => <Time at={one.created_at} relative />, right: true },
];
const WORKERS: Column<LabWorker>[] = [
  { name: "status", head: "State", cell: (one) => <StateBadge state={one.status} /> },
  { name: "id", head: "Worker", cell: (one) => one.id },
  { name: "backend", head: "Backend", cell: (one) => one.backend_type, less: true },
  { name: "takes", head: "Takes", cell: (one) => (one.capabilities.supported_problems.length ? <Tags of={one.capabilities.supported_problems} /> : "all problems"), wide: true, less: true },
  { name: "done", head: "Completed", cell: (one) => one.tasks_completed, right: true },
  { name: "failed", head: "Failed", cell: (one) => one.tasks_failed, right: true, less: true },
  { name: "beat", head: "Last beat", cell: (one) => <Time at={one.last_heartbeat} relative />, right: true },
];
