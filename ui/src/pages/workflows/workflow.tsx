import { useState } from "react";

import { post, type Json } from "../../base/api";
import { useCalm, useChange, usePages, useRead } from "../../base/query";
import { go, Link, type Match } from "../../base/router";
import { may, useMe } from "../../base/session";
import type { Schema } from "../../logic/schema";
import { clean, short } from "../../logic/text";
import { Dialog } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { SchemaForm } from "../../parts/form";
import { Card, Facts, Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Time, Took } from "../../parts/time";
import type { Run } from "../runs/model";
import type { Workflow } from "./model";
import "../../style/runs.css";

const RUNS: Column<Run>[] = [
  { name: "id", head: "Run", wide: true, cell: (run) => <Link to={`/runs/${run.id}`} className="mono">{short(run.id)}</Link> },
  { name: "state", head: "State", cell: (run) => <StateBadge state={run.state} /> },
  { name: "version", head: "Version", less: true, cell: (run) => clean(run.version ?? "") },
  { name: "created", head: "Created", cell: (run) => <Time at={run.created_at} relative /> },
  { name: "took", head: "Took", right: true, less: true, cell: (run) => <Took from={run.started_at} to={run.finished_at} /> },
];

/** One workflow: its versions, its runs, a form that starts one. */
export default function WorkflowPage({ match }: { match: Match }) {
  const name = match["name"] ?? "";
  const read = useRead<{ items: Workflow[] }>("/v1/workflows", { limit: 500 });
  const runs = usePages<Run>("/v1/runs", { kind: "workflow", name });
  useChange("runs", {}, useCalm(runs.anew));
  useChange("definitions", {}, useCalm(read.anew, 500), 5000);
  const me = useMe();
  const [open, setOpen] = useState(false);
  const crumbs = [{ to: "/workflows", text: "Workflows" }];
  if (read.error && read.data === null) return <Page title={name} crumbs={crumbs}><Failure of={read.error} again={read.again} /></Page>;
  if (read.data === null) return <Page title={name} crumbs={crumbs}><Loading /></Page>;
  const versions = read.data.items.filter((one) => one.name === name).sort((a, b) => Date.parse(b.declared_at) - Date.parse(a.declared_at));
  const newest = versions[0];
  return (
    <Page title={name} crumbs={crumbs} actions={newest && may(me, "workflow.run") && <button type="button" className="primary" onClick={() => setOpen(true)}>Start…</button>}>
      {newest?.schema?.description && <p className="quiet">{clean(newest.schema.description)}</p>}
      {newest ? (
        <Facts of={[
          ["Versions", versions.map((one) => clean(one.version)).join(", ")],
          ["Queue", clean(newest.queue)],
          ["Signals", newest.signals === null ? "any" : newest.signals.length ? <Tags of={newest.signals.map(clean)} /> : null],
          ["Declared", <Time at={newest.declared_at} />],
        ]} />
      ) : <Empty title="No worker has declared this workflow" command="weft worker module:app" />}
      <Card title="Runs" flush>
        {runs.error && <Failure of={runs.error} again={runs.again} />}
        {!runs.loading && runs.items.length === 0 && !runs.error ? <Empty title="It has not run yet" command={`weft workflow start ${clean(name)}`} />
          : <Table label="Runs of the workflow" rows={runs.items} id={(run) => run.id} columns={RUNS} to={(run) => `/runs/${run.id}`} more={runs.more} next={runs.next} />}
      </Card>
      {open && newest && <Start workflow={newest} versions={versions} close={() => setOpen(false)} />}
    </Page>
  );
}

/** The arguments from their schema where the worker told it, else as JSON. Names of ours end in a colon: no Python name does. */
function Start({ workflow, versions, close }: { workflow: Workflow; versions: Workflow[]; close: () => void }) {
  const known = workflow.schema?.properties ? workflow.schema : null;
  const own: Record<string, Schema> = {
    "key:": { type: "string", title: "Key", description: "Of your choice: a run with this key is started once." },
    ...(versions.length > 1 ? { "version:": { type: "string", title: "Version", enum: versions.map((one) => one.version) } } : {}),
  };
  const schema: Schema = known
    ? { ...known, properties: { ...known.properties, ...own } }
    : { properties: { "arguments:": { type: "object", title: "Arguments", description: 'As a JSON object: {"order": "o-17"}' }, ...own } };
  const send = async (value: Record<string, Json>): Promise<void> => {
    const { "key:": key, "version:": version, "arguments:": given, ...rest } = value;
    const body = { arguments: known ? rest : (given ?? {}), ...(key ? { key } : {}), ...(version ? { version } : {}) };
    const made = await post<{ run_id: string }>(`/v1/workflows/${encodeURIComponent(workflow.name)}/start`, body);
    close();
    go(`/runs/${made.run_id}`);
  };
  return <Dialog title={`Start ${clean(workflow.name)}`} close={close}>{known?.description && <p className="quiet">{clean(known.description)}</p>}<SchemaForm schema={schema} verb="Start" submit={send} cancel={close} /></Dialog>;
}
