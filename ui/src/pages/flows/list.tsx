import { useState } from "react";

import { useCalm, useChange, usePages } from "../../base/query";
import { Link } from "../../base/router";
import { may, useMe } from "../../base/session";
import { clean } from "../../logic/text";
import { Empty } from "../../parts/empty";
import { Filters, useFilters, type Filter } from "../../parts/filters";
import { Failure, Loading, Page } from "../../parts/page";
import { Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Time } from "../../parts/time";
import type { Flow } from "./model";
import { SourceView } from "./source";
import "../../style/runs.css";

const FILTERS: Filter[] = [{ name: "name_prefix", label: "Name begins with", kind: "text" }];
const BLANK = "namespace hello {\n  event facet Greet(name: String) => (greeting: String)\n\n  workflow SayHello(name: String = \"world\") => (message: String) andThen {\n    g = Greet(name = $.name)\n    yield SayHello(message = g.greeting)\n  }\n}\n";

const COLUMNS: Column<Flow>[] = [
  { name: "name", head: "Flow", wide: true, cell: (flow) => <><Link to={`/flows/${flow.id}`} className="strong">{clean(flow.name)}</Link> <span className="quiet wide-only">{clean(flow.path)}</span></> },
  { name: "workflows", head: "Workflows", cell: (flow) => flow.workflow_names.length, right: true },
  { name: "version", head: "Version", right: true, less: true, cell: (flow) => flow.version_number },
  { name: "tags", head: "Tags", less: true, cell: (flow) => <Tags of={flow.tags.map(clean)} /> },
  { name: "updated", head: "Changed", cell: (flow) => <Time at={flow.updated_at} relative /> },
];

/** AFL programs that are kept; and a place to try one. */
export default function Flows() {
  const filters = useFilters(FILTERS);
  const flows = usePages<Flow>("/v1/flows", filters);
  useChange("definitions", {}, useCalm(flows.anew, 500), 5000);
  const [trying, setTrying] = useState(false);
  return (
    <Page title="Flows" actions={may(useMe(), "flow.check") && <button type="button" onClick={() => setTrying(!trying)}>{trying ? "Back to the list" : "Check a program…"}</button>}>
      {trying ? <SourceView files={[{ name: "source.afl", text: BLANK, library: false }]} trying /> : (
        <>
          <Filters filters={FILTERS} />
          {flows.error && <Failure of={flows.error} again={flows.again} />}
          {flows.loading ? <Loading /> : flows.items.length === 0 && !flows.error ? (
            <Empty title="No flows yet" command="weft afl submit hello.afl">A flow is a program in AFL, the agent flow language; its workflows can be started.</Empty>
          ) : <Table label="Flows" rows={flows.items} id={(flow) => flow.id} columns={COLUMNS} to={(flow) => `/flows/${flow.id}`} more={flows.more} next={flows.next} />}
        </>
      )}
    </Page>
  );
}
