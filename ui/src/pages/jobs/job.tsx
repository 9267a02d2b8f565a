import { useEffect, useState } from "react";

import { act, type Json } from "../../base/api";
import { useCalm, useChange, usePages, useRead } from "../../base/query";
import { go, Link, type Match } from "../../base/router";
import { may, useMe } from "../../base/session";
import { clean, line, short } from "../../logic/text";
import { confirmed } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { JsonView } from "../../parts/json";
import { Card, Facts, Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Time, Took } from "../../parts/time";
import { told } from "../../parts/toast";
import { CronTimes } from "./cron";
import { Edit } from "./edit";
import { Spark, Trigger } from "./list";
import { does, type Execution, type Job } from "./model";
import "../../style/runs.css";

const COLUMNS: Column<Execution>[] = [
  { name: "time", head: "For", cell: (one) => <Time at={one.scheduled_time} /> },
  { name: "status", head: "Status", cell: (one) => <StateBadge state={one.status} hint={one.cancelling ? "cancelling" : null} /> },
  { name: "trigger", head: "Because of", less: true, cell: (one) => one.trigger },
  { name: "attempt", head: "Attempt", right: true, less: true, cell: (one) => one.attempt_number },
  { name: "took", head: "Took", right: true, less: true, cell: (one) => <Took from={one.started_at} to={one.completed_at} /> },
  { name: "error", head: "Error", wide: true, less: true, cell: (one) => <span className="quiet">{line(one.error_message ?? "", 140)}</span> },
  { name: "id", head: "Task", less: true, cell: (one) => <Link to={`/tasks/${one.execution_id}`} className="mono">{short(one.execution_id)}</Link> },
];

/** One job: when it fires next, what it does, and its executions. */
export default function JobPage({ match }: { match: Match }) {
  const id = encodeURIComponent(match["id"] ?? "");
  const job = useRead<Job>(`/v1/jobs/${id}`);
  const preview = useRead<{ times: string[]; words: string; timezone: string }>(job.data?.job_type === "CRON" ? `/v1/jobs/${id}/preview` : null, { n: 10 });
  const executions = usePages<Execution>(`/v1/jobs/${id}/executions`);
  useChange("job", { id: match["id"] ?? "" }, useCalm(() => { job.again(); executions.again(); }, 800));
  useChange("tasks", { limit: 1 }, useCalm(executions.anew, 1500));
  const { again } = preview;
  const next = job.data?.next_run_time;
  useEffect(again, [again, next]);
  const me = useMe();
  const [edit, setEdit] = useState(false);
  const crumbs = [{ to: "/jobs", text: "Jobs" }];
  if (job.error) return <Page title="Job" crumbs={crumbs}><Failure of={job.error} again={job.again} /></Page>;
  const one = job.data;
  if (one === null) return <Page title="Job" crumbs={crumbs}><Loading /></Page>;
  const name = clean(one.name);
  const results = executions.items.slice(0, 20).map((done) => done.status).reverse();
  const press = (verb: string, said: string) => (): void => void told(() => act(`/v1/jobs/${id}/${verb}`), said).then(job.again);
  const remove = (): void =>
    void confirmed({ title: `Delete ${name}?`, text: "Nothing of it fires any more. Its executions stay.", verb: "Delete", danger: true }, () => act(`/v1/jobs/${id}`, "DELETE"), `${name} was deleted`)
      .then((yes) => yes && go("/jobs"));
  const actions = one.status !== "DELETED" && (
    <>
      {may(me, "job.trigger") && <Trigger job={one} done={executions.again} />}
      {may(me, "job.write") && <>{one.status === "PAUSED" ? <button type="button" onClick={press("resume", `${name} goes on`)}>Resume</button> : one.status === "ACTIVE" && <button type="button" onClick={press("pause", `${name} is paused`)}>Pause</button>}
      <button type="button" onClick={() => setEdit(true)}>Change…</button>
      <button type="button" className="danger" onClick={remove}>Delete</button></>}
    </>
  );
  return (
    <Page title={one.name} crumbs={crumbs} badge={<StateBadge state={one.status} />} actions={actions}>
      {one.error && <div className="failure" role="alert"><p><strong>It was set aside: it cannot be dispatched.</strong></p><p>{clean(typeof one.error === "string" ? one.error : JSON.stringify(one.error))}</p><p className="quiet">Change it to have it tried again.</p></div>}
      <Facts of={[
        ["Does", line(does(one.payload), 120)],
        ["When", one.job_type === "CRON" ? <code>{clean(one.cron_expression ?? "")}</code> : one.job_type.toLowerCase().replace("_", " ")],
        ["Next", one.next_run_time ? <><Time at={one.next_run_time} /> (<Time at={one.next_run_time} relative />)</> : null],
        ["Last", one.last_run_time ? <Time at={one.last_run_time} /> : null],
        ["Last results", results.length ? <Spark of={results} /> : null],
        ["Queue", <Link to={`/queues/${encodeURIComponent(one.queue)}`}>{clean(one.queue)}</Link>],
        ["Missed times", one.misfire.replace("_", " ")],
        ["Overlap", one.overlap.replace("_", " ")],
        ["Tags", one.tags.length ? <Tags of={one.tags.map(clean)} /> : null],
      ]} />
      <div className="columns">
        {preview.data && <Card title="The next ten times"><CronTimes preview={preview.data} /></Card>}
        <Card title="What it does"><JsonView value={one.payload as Json} label="Payload" /></Card>
      </div>
      <Card title="Executions" flush>
        {executions.error && <Failure of={executions.error} again={executions.again} />}
        {!executions.loading && executions.items.length === 0
          ? <Empty title="It has not fired yet" command={`weft jobs trigger ${one.job_id}`} />
          : <Table label="Executions" rows={executions.items} id={(done) => done.execution_id} columns={COLUMNS} to={(done) => `/tasks/${done.execution_id}`} more={executions.more} next={executions.next} />}
      </Card>
      {edit && <Edit job={one} close={() => setEdit(false)} saved={job.again} />}
    </Page>
  );
}
