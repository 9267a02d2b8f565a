import { lazy, Suspense, useCallback, useMemo, useState } from "react";

import { act, post, type Json } from "../../base/api";
import { useCalm, useChange, usePages, useRead } from "../../base/query";
import { go, Link, useParam, type Match } from "../../base/router";
import { may, useMe } from "../../base/session";
import { schemaOf } from "../../logic/params";
import { clean } from "../../logic/text";
import { Dialog } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { SchemaForm } from "../../parts/form";
import { JsonView } from "../../parts/json";
import { Card, Facts, Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { Time, Took } from "../../parts/time";
import { told } from "../../parts/toast";
import { nodesOf, type DagTask, type WholeDag } from "./model";
import { Versions } from "./versions";
import "../../style/runs.css";

const Graph = lazy(() => import("../runs/graph"));

interface DagRun {
  dag_run_id: string;
  state: string;
  scheduled_time: string;
  started_at: string | null;
  completed_at: string | null;
  trigger: string;
  tasks_total: number;
  tasks_ended: number;
  tasks_failed: number;
  failed_task: string | null;
}

const RUNS: Column<DagRun>[] = [
  { name: "for", head: "For", cell: (run) => <Link to={`/runs/${run.dag_run_id}`}><Time at={run.scheduled_time} /></Link> },
  { name: "state", head: "State", cell: (run) => <StateBadge state={run.state} /> },
  { name: "done", head: "Tasks", right: true, less: true, cell: (run) => `${run.tasks_ended}/${run.tasks_total}` },
  { name: "failed", head: "Failed at", wide: true, less: true, cell: (run) => clean(run.failed_task ?? "") },
  { name: "trigger", head: "Because of", less: true, cell: (run) => run.trigger },
  { name: "took", head: "Took", right: true, less: true, cell: (run) => <Took from={run.started_at} to={run.completed_at} /> },
];

/** One DAG: its graph, its runs, its versions and what changed between them; a form that starts a run. */
export default function DagPage({ match }: { match: Match }) {
  const id = encodeURIComponent(match["id"] ?? "");
  const read = useRead<WholeDag>(`/v1/dags/${id}`);
  useChange("definitions", {}, useCalm(read.anew, 500), 5000);
  const me = useMe();
  const [open, setOpen] = useState(false);
  const crumbs = [{ to: "/dags", text: "DAGs" }];
  if (read.error && read.data === null) return <Page title="DAG" crumbs={crumbs}><Failure of={read.error} again={read.again} /></Page>;
  const dag = read.data;
  if (dag === null) return <Page title="DAG" crumbs={crumbs}><Loading /></Page>;
  const name = clean(dag.name);
  const press = (verb: string, said: string) => (): void => void told(() => act(`/v1/dags/${id}/${verb}`), said).then(read.again);
  const actions = (
    <>
      {may(me, "dag.run") && <button type="button" className="primary" onClick={() => setOpen(true)}>Trigger…</button>}
      {may(me, "dag.write") && dag.cron_expression && (dag.status === "PAUSED"
        ? <button type="button" onClick={press("resume", `${name} goes on`)}>Resume</button>
        : <button type="button" onClick={press("pause", `${name} is paused`)}>Pause</button>)}
    </>
  );
  return (
    <Page title={dag.name} crumbs={crumbs} badge={<StateBadge state={dag.status} />} actions={actions}>
      {dag.description && <p className="quiet">{clean(dag.description)}</p>}
      <Facts of={[
        ["Tasks", dag.task_count],
        ["Version", `${dag.version_number} (${dag.version.slice(0, 12)})`],
        ["When", dag.cron_expression ? <><code>{clean(dag.cron_expression)}</code> {clean(dag.timezone)}</> : "when triggered"],
        ["Next", dag.next_run_time ? <Time at={dag.next_run_time} /> : null],
        ["At most at once", dag.max_active_runs],
        ["Tags", dag.tags.length ? <Tags of={dag.tags.map(clean)} /> : null],
      ]} />
      <Tabs label="Parts of the DAG" tabs={[
        { name: "graph", label: "Graph", show: () => <Shape tasks={dag.tasks} /> },
        { name: "runs", label: "Runs", show: () => <Runs id={id} name={dag.name} /> },
        { name: "versions", label: "Versions", hint: dag.version_number, show: () => <Versions id={id} active={dag.version_number} /> },
        { name: "params", label: "Params", show: () => Object.keys(dag.params).length ? <JsonView value={dag.params as unknown as Json} label="Params" open={3} /> : <Empty title="It takes no params" /> },
      ]} />
      {open && <TriggerForm dag={dag} close={() => setOpen(false)} />}
    </Page>
  );
}

function Shape({ tasks }: { tasks: DagTask[] }) {
  const nodes = useMemo(() => nodesOf(tasks), [tasks]);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useParam("task");
  const open = useCallback((box: string) => setOpened((was) => { const now = new Set(was); if (!now.delete(box)) now.add(box); return now; }), []);
  const task = tasks.find((one) => one.name === chosen);
  return (
    <>
      <Suspense fallback={<Loading />}><Graph nodes={nodes} states={null} opened={opened} open={open} chosen={chosen || null} choose={setChosen} /></Suspense>
      {task && (
        <Card title={clean(task.name)} actions={<button type="button" className="plain" aria-label="Close the task" onClick={() => setChosen("")}>✕</button>}>
          <Facts of={[["Waits for", task.dependencies.map(clean).join(", ") || "nothing"], ["Rule", task.trigger_rule], ["Retries", task.max_retries], ["Timeout", task.timeout_seconds ? `${task.timeout_seconds} s` : null], ["Group", clean(task.group)]]} />
          <JsonView value={task.payload as Json} label="Payload" />
        </Card>
      )}
    </>
  );
}

function Runs({ id, name }: { id: string; name: string }) {
  const runs = usePages<DagRun>(`/v1/dags/${id}/runs`);
  useChange("runs", {}, useCalm(runs.anew));
  if (runs.error) return <Failure of={runs.error} again={runs.again} />;
  if (runs.loading) return <Loading />;
  if (runs.items.length === 0) return <Empty title="It has not run yet" command={`weft dag trigger ${clean(name)}`} />;
  return <Table label="Runs of the DAG" rows={runs.items} id={(run) => run.dag_run_id} columns={RUNS} to={(run) => `/runs/${run.dag_run_id}`} more={runs.more} next={runs.next} />;
}

function TriggerForm({ dag, close }: { dag: WholeDag; close: () => void }) {
  const send = async (params: Record<string, Json>): Promise<void> => {
    const made = await post<{ dag_run_id: string }>(`/v1/dags/${encodeURIComponent(dag.dag_id)}/trigger`, { params });
    close();
    go(`/runs/${made.dag_run_id}`);
  };
  return (
    <Dialog title={`Start a run of ${clean(dag.name)}`} close={close}>
      {Object.keys(dag.params).length === 0 && <p className="quiet">It takes no params.</p>}
      <SchemaForm schema={schemaOf(dag.params)} verb="Start" submit={send} cancel={close} />
    </Dialog>
  );
}
