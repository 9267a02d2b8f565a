import { useMemo, useState } from "react";

import { act } from "../../base/api";
import { useCalm, useChange, usePages, useRead } from "../../base/query";
import { Link } from "../../base/router";
import { may, useMe, type Me } from "../../base/session";
import { tone, word } from "../../logic/states";
import { clean, line } from "../../logic/text";
import { Empty } from "../../parts/empty";
import { Filters, useFilters, type Filter } from "../../parts/filters";
import { Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { Time, When } from "../../parts/time";
import { told } from "../../parts/toast";
import { Calendar } from "./calendar";
import { Edit } from "./edit";
import { does, type Job } from "./model";
import "../../style/runs.css";

const FILTERS: Filter[] = [
  { name: "status", label: "Status", kind: "one", choices: ["ACTIVE", "PAUSED", "COMPLETED"] },
  { name: "type", label: "Type", kind: "one", choices: ["CRON", "ONE_TIME", "DELAYED"] },
  { name: "name", label: "Name", kind: "text" },
  { name: "tag", label: "Tag", kind: "text" },
];

/** Jobs: what is to be done and when; and the calendar of the coming day. */
export default function Jobs() {
  const me = useMe();
  const [fresh, setFresh] = useState(false);
  return (
    <Page title="Jobs" actions={may(me, "job.write") && <button type="button" className="primary" onClick={() => setFresh(true)}>New job…</button>}>
      <Tabs label="Jobs as" tabs={[
        { name: "list", label: "List", show: () => <List /> },
        { name: "calendar", label: "Coming day", show: () => <Calendar /> },
      ]} />
      {fresh && <Edit job={null} close={() => setFresh(false)} />}
    </Page>
  );
}

function List() {
  const filters = useFilters(FILTERS);
  const jobs = usePages<Job>("/v1/jobs", filters);
  const ids = jobs.items.slice(0, 100).map((job) => job.job_id);
  const results = useRead<{ items: Record<string, string[]> }>(ids.length ? "/v1/jobs/results" : null, { n: 20, id: ids });
  const again = useCalm(() => { jobs.again(); results.again(); }, 1500);
  useChange("jobs", {}, again);
  const me = useMe();
  const last = results.data?.items;
  const columns = useMemo(() => columnsOf(last ?? {}, me, again), [last, me, again]);
  const filtered = Object.values(filters).some(Boolean);
  return (
    <>
      <Filters filters={FILTERS} />
      {jobs.error && <Failure of={jobs.error} again={jobs.again} />}
      {jobs.loading ? <Loading /> : jobs.items.length === 0 && !jobs.error ? (
        filtered ? <Empty title="No job is like this">Clear a filter to see others.</Empty>
        : <Empty title="No jobs yet" command={'weft jobs create nightly --cron "0 2 * * *" --task report'}>A job says what is to be done and when: by cron, at one time, or after a delay.</Empty>
      ) : <Table label="Jobs" rows={jobs.items} id={(job) => job.job_id} columns={columns} to={(job) => `/jobs/${job.job_id}`} more={jobs.more} next={jobs.next} />}
    </>
  );
}

function columnsOf(last: Record<string, string[]>, me: Me | null, again: () => void): Column<Job>[] {
  const columns: Column<Job>[] = [
    { name: "name", head: "Job", wide: true, cell: (job) => <><Link to={`/jobs/${job.job_id}`} className="strong">{clean(job.name)}</Link> <span className="quiet wide-only">{line(does(job.payload), 60)}</span></> },
    { name: "status", head: "Status", cell: (job) => <StateBadge state={job.error ? "error" : job.status} hint={job.error ? "set aside" : null} /> },
    { name: "when", head: "When", less: true, cell: (job) => job.job_type === "CRON" ? <When cron={job.cron_expression ?? ""} zone={job.timezone} /> : <span className="quiet">{word(job.job_type)}</span> },
    { name: "next", head: "Next", cell: (job) => <Time at={job.next_run_time} relative /> },
    { name: "results", head: "Last results", less: true, cell: (job) => <Spark of={last[job.job_id] ?? job.last_results ?? []} /> },
    { name: "tags", head: "Tags", less: true, cell: (job) => <Tags of={job.tags.map(clean)} /> },
  ];
  if (may(me, "job.write") || may(me, "job.trigger")) columns.push({ name: "do", head: <span className="unseen">Actions</span>, right: true, less: true, cell: (job) => <Quick job={job} me={me} done={again} /> });
  return columns;
}

function Quick({ job, me, done }: { job: Job; me: Me | null; done: () => void }) {
  const name = clean(job.name);
  const press = (verb: string, said: string) => (): void => void told(() => act(`/v1/jobs/${job.job_id}/${verb}`), said).then(done);
  return (
    <span className="actions">
      {may(me, "job.write") && (job.status === "PAUSED"
        ? <button type="button" className="small" onClick={press("resume", `${name} goes on`)} aria-label={`Resume ${name}`}>Resume</button>
        : job.status === "ACTIVE" && <button type="button" className="small" onClick={press("pause", `${name} is paused`)} aria-label={`Pause ${name}`}>Pause</button>)}
      {may(me, "job.trigger") && <Trigger job={job} done={done} small />}
    </span>
  );
}

export function Trigger({ job, done, small = false }: { job: Job; done: () => void; small?: boolean }) {
  const name = clean(job.name);
  const fire = (): void => void told(() => act(`/v1/jobs/${job.job_id}/trigger`), `${name} was triggered`).then(done);
  return <button type="button" className={small ? "small" : "primary"} onClick={fire} aria-label={small ? `Trigger ${name} now` : undefined}>{small ? "Trigger" : "Trigger now"}</button>;
}

/** The last results, oldest first: never by colour alone, failures stand taller. */
export function Spark({ of }: { of: readonly string[] }) {
  if (of.length === 0) return <span className="quiet">–</span>;
  const bad = of.filter((one) => tone(one) === "bad").length;
  return (
    <span className="spark" role="img" aria-label={`Of the last ${of.length}, ${bad} failed; the newest ${word(of[of.length - 1] ?? "")}`}>
      {of.map((one, n) => <span key={n} className={`fill-${tone(one)}`} title={word(one)} />)}
    </span>
  );
}
