import { useCalm, useChange, usePages } from "../../base/query";
import { Link } from "../../base/router";
import { clean } from "../../logic/text";
import { Empty } from "../../parts/empty";
import { Failure, Loading, Page } from "../../parts/page";
import { Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Time } from "../../parts/time";
import type { Workflow } from "./model";
import "../../style/runs.css";

const COLUMNS: Column<Workflow>[] = [
  { name: "name", head: "Workflow", wide: true, cell: (one) => <Link to={`/workflows/${encodeURIComponent(one.name)}`} className="strong">{clean(one.name)}</Link> },
  { name: "version", head: "Version", cell: (one) => clean(one.version) },
  { name: "queue", head: "Queue", less: true, cell: (one) => clean(one.queue) },
  { name: "signals", head: "Signals", less: true, cell: (one) => one.signals ? <Tags of={one.signals.map(clean)} /> : <span className="quiet">any</span> },
  { name: "declared", head: "Declared", cell: (one) => <Time at={one.declared_at} relative /> },
];

/** Workflows that workers have declared. */
export default function Workflows() {
  const found = usePages<Workflow>("/v1/workflows");
  useChange("definitions", {}, useCalm(found.anew, 500), 5000);
  return (
    <Page title="Workflows">
      {found.error && <Failure of={found.error} again={found.again} />}
      {found.loading ? <Loading /> : found.items.length === 0 && !found.error ? (
        <Empty title="No workflows yet" command="weft worker module:app">A workflow is Python that survives crashes: <code>@app.workflow</code>. It appears when a worker that has it starts.</Empty>
      ) : <Table label="Workflows" rows={found.items} id={(one) => `${one.name}@${one.version}`} columns={COLUMNS} to={(one) => `/workflows/${encodeURIComponent(one.name)}`} more={found.more} next={found.next} />}
    </Page>
  );
}
