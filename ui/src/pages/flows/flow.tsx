import { lazy, Suspense, useMemo, useState } from "react";

import { post, type Json } from "../../base/api";
import { useCalm, useChange, usePages, useRead } from "../../base/query";
import { go, Link, useParam, type Match } from "../../base/router";
import { may, useMe } from "../../base/session";
import { clean, short } from "../../logic/text";
import { Dialog } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { SchemaForm } from "../../parts/form";
import { Facts, Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { Time, Took } from "../../parts/time";
import type { Run } from "../runs/model";
import { formOf, lead, nodesOf, type Flow, type Parts, type SourceFile } from "./model";
import { SourceView } from "./source";
import "../../style/runs.css";

const Graph = lazy(() => import("../runs/graph"));
const NOTHING: ReadonlySet<string> = new Set();

const RUNS: Column<Run>[] = [
  { name: "name", head: "Workflow", wide: true, cell: (run) => <><Link to={`/runs/${run.id}`}>{clean(run.name)}</Link> <span className="quiet mono wide-only">{short(run.id)}</span></> },
  { name: "state", head: "State", cell: (run) => <StateBadge state={run.state} /> },
  { name: "created", head: "Created", cell: (run) => <Time at={run.created_at} relative /> },
  { name: "took", head: "Took", right: true, less: true, cell: (run) => <Took from={run.started_at} to={run.finished_at} /> },
];

/** One flow: its source with what the compiler says, its graph, its runs, a form that starts a workflow of it. */
export default function FlowPage({ match }: { match: Match }) {
  const id = encodeURIComponent(match["id"] ?? "");
  const read = useRead<Flow>(`/v1/flows/${id}`);
  const sources = useRead<{ items: SourceFile[] }>(`/v1/flows/${id}/sources`);
  const parts = useRead<Parts>(`/v1/flows/${id}/definition`);
  const handlers = useRead<{ items: { handler: string; agents: number }[] }>(`/v1/flows/${id}/handlers`);
  useChange("definitions", {}, useCalm(() => { read.again(); sources.again(); parts.again(); handlers.again(); }, 500), 5000);
  const [chosen, choose] = useParam("workflow");
  const [open, setOpen] = useState(false);
  const me = useMe();
  const crumbs = [{ to: "/flows", text: "Flows" }];
  if (read.error && read.data === null) return <Page title="Flow" crumbs={crumbs}><Failure of={read.error} again={read.again} /></Page>;
  const flow = read.data;
  if (flow === null) return <Page title="Flow" crumbs={crumbs}><Loading /></Page>;
  const all = parts.data?.workflows ?? [];
  const workflow = all.find((one) => one.name === chosen) ?? all[0];
  const lonely = handlers.data?.items.filter((one) => one.agents === 0) ?? [];
  const which = all.length > 1 && (
    <label className="inline">Workflow{" "}
      <select value={workflow?.name ?? ""} onChange={(event) => choose(event.target.value)}>{all.map((one) => <option key={one.uuid} value={one.name}>{clean(one.name)}</option>)}</select>
    </label>
  );
  return (
    <Page title={flow.name} crumbs={crumbs} actions={<>{which}{workflow && may(me, "flow.run") && <button type="button" className="primary" onClick={() => setOpen(true)}>Start…</button>}</>}>
      <Facts of={[
        ["Version", flow.version_number],
        ["Workflows", flow.workflow_names.map(clean).join(", ")],
        ["From", clean(flow.path)],
        ["Changed", <Time at={flow.updated_at} />],
        ["Tags", flow.tags.length ? <Tags of={flow.tags.map(clean)} /> : null],
      ]} />
      {lonely.length > 0 && <div className="why" role="status"><p><strong>No agent handles</strong> {lonely.map((one) => clean(one.handler)).join(", ")}: such steps will wait for one.</p></div>}
      <Tabs label="Parts of the flow" tabs={[
        { name: "source", label: "Source", show: () => sources.error ? <Failure of={sources.error} /> : sources.data ? <SourceView files={sources.data.items} /> : <Loading /> },
        { name: "graph", label: "Graph", show: () => parts.error ? <Failure of={parts.error} /> : parts.data && workflow ? <Shape parts={parts.data} facet={workflow.facet_id} /> : <Loading /> },
        { name: "runs", label: "Runs", show: () => <Runs names={flow.workflow_names} /> },
      ]} />
      {open && parts.data && workflow && (
        <Dialog title={`Start ${clean(workflow.name)}`} close={() => setOpen(false)}>
          {workflow.documentation && <p className="quiet">{clean(lead(workflow.documentation))}</p>}
          <SchemaForm schema={formOf(parts.data, workflow.facet_id)} verb="Start" cancel={() => setOpen(false)} submit={(params) => start(flow, workflow.name, params)} />
        </Dialog>
      )}
    </Page>
  );
}

async function start(flow: Flow, workflow: string, params: Record<string, Json>): Promise<void> {
  const made = await post<{ id: string }>("/v1/runners", { flow: flow.id, workflow, params });
  go(`/runs/${made.id}`);
}

function Shape({ parts, facet }: { parts: Parts; facet: string }) {
  const nodes = useMemo(() => nodesOf(parts, facet), [parts, facet]);
  const [opened, setOpened] = useState(NOTHING);
  const [chosen, choose] = useParam("statement");
  if (nodes.length === 0) return <Empty title="It has no steps" />;
  const open = (box: string): void => setOpened((was) => { const now = new Set(was); if (!now.delete(box)) now.add(box); return now; });
  return <Suspense fallback={<Loading />}><Graph nodes={nodes} states={null} opened={opened} open={open} chosen={chosen || null} choose={choose} /></Suspense>;
}

function Runs({ names }: { names: string[] }) {
  const [name, setName] = useParam("runs-of", names[0] ?? "");
  const runs = usePages<Run>("/v1/runs", { kind: "flow", name });
  useChange("runs", {}, useCalm(runs.anew));
  return (
    <>
      {names.length > 1 && <label className="inline">Of{" "}<select value={name} onChange={(event) => setName(event.target.value)}>{names.map((one) => <option key={one}>{clean(one)}</option>)}</select></label>}
      {runs.error && <Failure of={runs.error} again={runs.again} />}
      {runs.loading ? <Loading /> : runs.items.length === 0 && !runs.error ? <Empty title="It has not run yet" command={`weft afl run ${clean(name)}`} />
        : <Table label="Runs of the flow" rows={runs.items} id={(run) => run.id} columns={RUNS} to={(run) => `/runs/${run.id}`} more={runs.more} next={runs.next} />}
    </>
  );
}
