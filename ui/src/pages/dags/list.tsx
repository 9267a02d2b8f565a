import { useCalm, useChange, usePages } from "../../base/query";
import { Link } from "../../base/router";
import { clean, line } from "../../logic/text";
import { Empty } from "../../parts/empty";
import { Filters, useFilters, type Filter } from "../../parts/filters";
import { Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Time, When } from "../../parts/time";
import type { Dag } from "./model";
import "../../style/runs.css";

const FILTERS: Filter[] = [{ name: "name_prefix", label: "Name begins with", kind: "text" }];

const COLUMNS: Column<Dag>[] = [
  { name: "name", head: "DAG", wide: true, cell: (dag) => <><Link to={`/dags/${dag.dag_id}`} className="strong">{clean(dag.name)}</Link> <span className="quiet wide-only">{line(dag.description, 80)}</span></> },
  { name: "status", head: "Status", cell: (dag) => <StateBadge state={dag.status} /> },
  { name: "tasks", head: "Tasks", right: true, cell: (dag) => dag.task_count },
  { name: "version", head: "Version", right: true, less: true, cell: (dag) => dag.version_number },
  { name: "when", head: "When", less: true, cell: (dag) => (dag.cron_expression ? <When cron={dag.cron_expression} zone={dag.timezone} /> : <span className="quiet">when triggered</span>) },
  { name: "next", head: "Next", less: true, cell: (dag) => <Time at={dag.next_run_time} relative /> },
  { name: "tags", head: "Tags", less: true, cell: (dag) => <Tags of={dag.tags.map(clean)} /> },
];

export default function Dags() {
  const filters = useFilters(FILTERS);
  const dags = usePages<Dag>("/v1/dags", filters);
  useChange("definitions", {}, useCalm(dags.anew, 500), 5000);
  return (
    <Page title="DAGs">
      <Filters filters={FILTERS} />
      {dags.error && <Failure of={dags.error} again={dags.again} />}
      {dags.loading ? <Loading /> : dags.items.length === 0 && !dags.error ? (
        filters["name_prefix"] ? <Empty title="No DAG begins so">Clear the filter to see others.</Empty>
        : <Empty title="No DAGs yet" command="weft dag create nightly.yaml">A DAG is a set of tasks and what they wait for, written in YAML or JSON.</Empty>
      ) : <Table label="DAGs" rows={dags.items} id={(dag) => dag.dag_id} columns={COLUMNS} to={(dag) => `/dags/${dag.dag_id}`} more={dags.more} next={dags.next} />}
    </Page>
  );
}
