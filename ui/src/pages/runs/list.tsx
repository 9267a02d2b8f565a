import { useMemo, useState } from "react";

import { act, post } from "../../base/api";
import { asRefused, useCalm, useChange, usePages } from "../../base/query";
import { Link, useHere } from "../../base/router";
import { may, useMe, type Me } from "../../base/session";
import { actionOf, ended, request, verbs, type Verb } from "../../logic/actions";
import { clean, short } from "../../logic/text";
import { seconds } from "../../logic/time";
import { confirm } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { Filters, useFilters, type Filter } from "../../parts/filters";
import { Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Time, Took } from "../../parts/time";
import { toast } from "../../parts/toast";
import type { Run } from "./model";
import { Progress } from "./progress";
import "../../style/runs.css";

const FILTERS: Filter[] = [
  { name: "state", label: "State", kind: "many", choices: ["created", "running", "waiting", "paused", "blocked", "completed", "failed", "compensating", "compensated", "cancelled"] },
  { name: "kind", label: "Kind", kind: "one", choices: ["dag", "workflow", "flow"] },
  { name: "name_prefix", label: "Name begins with", kind: "text" },
  { name: "tag", label: "Tag", kind: "text" },
  { name: "since", label: "Since", kind: "one", choices: ["15m", "1h", "24h", "7d"] },
];

/** Any of these is enough to do something to some run. */
const STEERS = ["run.write", "dag.run", "flow.run"];

const COLUMNS: Column<Run>[] = [
  { name: "name", head: "Run", wide: true, cell: (run) => <><Link to={`/runs/${run.id}`} className="strong">{clean(run.name)}</Link> <span className="quiet mono wide-only">{short(run.id)}</span></> },
  { name: "state", head: "State", cell: (run) => <StateBadge state={run.state} /> },
  { name: "kind", head: "Kind", cell: (run) => run.kind, less: true },
  { name: "progress", head: "Progress", cell: (run) => <Progress run={run} />, less: true },
  { name: "tags", head: "Tags", cell: (run) => <Tags of={run.tags.map(clean)} />, less: true },
  { name: "created", head: "Created", cell: (run) => <Time at={run.created_at} relative /> },
  { name: "took", head: "Took", right: true, less: true, cell: (run) => <Took from={run.started_at} to={run.finished_at} /> },
];

/** Runs of every kind. Filters are in the address; several can be cancelled or retried at once. */
export default function Runs() {
  const filters = useFilters(FILTERS);
  const since = useHere().searchParams.get("since");
  const args = useMemo(() => {
    const rest = { ...filters, since: null };
    const back = since === null ? null : seconds(since);
    // to the minute, so that the list is the same while somebody looks at it
    const after = back === null ? null : new Date(Math.floor((Date.now() - back * 1000) / 60_000) * 60_000).toISOString();
    return { ...rest, created_after: after };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- filters is made anew each time; its text is what counts
  }, [JSON.stringify(filters), since]);
  const runs = usePages<Run>("/v1/runs", args);
  useChange("runs", {}, useCalm(runs.anew));
  const me = useMe();
  const [chosen, choose] = useState<Set<string>>(new Set());
  const marked = runs.items.filter((run) => chosen.has(run.id));
  const filtered = Object.values(args).some((value) => (Array.isArray(value) ? value.length > 0 : value));
  return (
    <Page title="Runs">
      <Filters filters={FILTERS} />
      {marked.length > 0 && <Bulk runs={marked} me={me} done={() => { choose(new Set()); runs.again(); }} />}
      {runs.error && <Failure of={runs.error} again={runs.again} />}
      {runs.loading ? <Loading /> : runs.items.length === 0 && !runs.error ? (
        filtered ? <Empty title="No run is like this">Clear a filter to see others.</Empty>
        : <Empty title="No runs yet" command="weft dag trigger nightly">A run is one execution of a DAG, a workflow or a flow.</Empty>
      ) : (
        <Table label="Runs" rows={runs.items} id={(run) => run.id} columns={COLUMNS} to={(run) => `/runs/${run.id}`}
          more={runs.more} next={runs.next} {...(STEERS.some((action) => may(me, action)) ? { chosen, choose } : {})} />
      )}
    </Page>
  );
}

function Bulk({ runs, me, done }: { runs: Run[]; me: Me | null; done: () => void }) {
  const cancels = runs.filter((run) => !ended(run.state) && may(me, actionOf(run.kind, "cancel")));
  const retries = runs.filter((run) => verbs(run.kind, run.state).includes("retry") && may(me, actionOf(run.kind, "retry")));
  const all = async (verb: Extract<Verb, "cancel" | "retry">, which: Run[], danger: boolean): Promise<void> => {
    const text = `${which.length === runs.length ? "" : `${which.length} of the ${runs.length} chosen: `}${which.slice(0, 5).map((run) => clean(run.name)).join(", ")}${which.length > 5 ? " …" : ""}`;
    const word = verb === "cancel" ? "Cancel" : "Retry";
    if (!(await confirm({ title: `${word} ${which.length === 1 ? "one run" : `${which.length} runs`}?`, text, verb: word, danger }))) return;
    const refused: string[] = [];
    for (const run of which) {
      const asked = request(run.kind, run.id, verb);
      try {
        await (asked.body === undefined ? act(asked.path) : post(asked.path, asked.body));
      } catch (error) {
        refused.push(`${clean(run.name)}: ${clean(asRefused(error).message)}`);
      }
    }
    if (refused.length) toast(`${which.length - refused.length} done, ${refused.length} refused. ${refused[0]}`, true);
    else toast(`${word === "Cancel" ? "Cancelled" : "Retried"}: ${which.length}`);
    done();
  };
  return (
    <div className="bulk" role="group" aria-label="What to do with the chosen runs">
      <span>{runs.length} chosen</span>
      <button type="button" disabled={!retries.length} onClick={() => void all("retry", retries, false)}>Retry {retries.length || ""}</button>
      <button type="button" className="danger" disabled={!cancels.length} onClick={() => void all("cancel", cancels, true)}>Cancel {cancels.length || ""}</button>
    </div>
  );
}
