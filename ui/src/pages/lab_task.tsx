import { act, type Json } from "../base/api";
import { useCalm, useChange, useRead } from "../base/query";
import { Link, type Match } from "../base/router";
import { may, useMe } from "../base/session";
import { zone } from "../base/settings";
import { useStore } from "../base/store";
import { clean } from "../logic/text";
import { clock } from "../logic/time";
import { confirmed } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { JsonView } from "../parts/json";
import { Card, Facts, Failure, Loading, Page } from "../parts/page";
import { StateBadge } from "../parts/state";
import { Tabs } from "../parts/tabs";
import { Time, Took } from "../parts/time";
import type { LabTask } from "./lab";

interface LabLog {
  id: string;
  timestamp: string;
  level: string;
  message: string;
}
interface Details extends LabTask {
  result?: { metrics: Json; output: Json };
  error_details?: string;
}
interface Message {
  timestamp: string;
  role: string;
  content: string;
}
const OPEN = ["pending", "running"];

export default function LabTaskPage({ match }: { match: Match }) {
  const id = match["id"] ?? "";
  const me = useMe();
  const task = useRead<Details>(`/aiopslab/tasks/${id}`, {}, true);
  const calm = useCalm(task.anew);
  useChange(task.data ? "task" : null, { id }, calm);
  const crumbs = [{ to: "/lab", text: "AIOpsLab" }];
  const { data } = task;
  if (!data) return <Page title="Problem" crumbs={crumbs}>{task.error ? <Failure of={task.error} again={task.again} /> : <Loading />}</Page>;
  const cancel = (): void => void confirmed(
    { title: "Cancel this problem?", verb: "Cancel it", danger: true, text: "It has failed then; if it runs, its worker stops it." },
    () => act(`/aiopslab/tasks/${id}`, "DELETE"), "Cancelled").then(task.again);
  return (
    <Page title={data.problem_id} crumbs={crumbs} badge={<StateBadge state={data.status} />}
      actions={OPEN.includes(data.status) && may(me, "task.cancel") && <button type="button" className="danger" onClick={cancel}>Cancel…</button>}>
      {data.error_details && <div className="failure"><p><strong>{clean(data.error_details)}</strong></p></div>}
      <Card>
        <Facts of={[
          ["Task", <Link key="task" to={`/tasks/${data.id}`} className="mono whole">{data.id}</Link>],
          ["Worker", data.worker_id],
          ["Priority", data.parameters.priority],
          ["Steps at most", data.parameters.max_steps],
          ["Time at most", `${data.parameters.timeout_minutes} min`],
          ["Submitted", <Time key="created" at={data.created_at} />],
          ["Started", data.started_at && <Time key="started" at={data.started_at} />],
          ["Took", data.started_at && <Took key="took" from={data.started_at} to={data.completed_at} />],
        ]} />
      </Card>
      <Tabs label="Of this problem" tabs={[
        { name: "result", label: "Result", show: () => <Result of={data} /> },
        { name: "conversation", label: "Conversation", show: () => <Conversation id={id} state={data.status} /> },
        { name: "log", label: "Log", show: () => <Log id={id} state={data.status} /> },
        { name: "parameters", label: "Parameters", show: () => <JsonView value={data.parameters as unknown as Json} label="Parameters" /> },
      ]} />
    </Page>
  );
}

function Result({ of }: { of: Details }) {
  if (of.status === "pending") return <Empty title="Not yet" command="weft aiopslab worker">It waits for a worker that takes this problem; this starts one:</Empty>;
  if (!of.result) return <Empty title={OPEN.includes(of.status) ? "Not yet" : "It has none"} />;
  return (
    <div className="columns">
      <Card title="Output"><JsonView value={of.result.output} label="Output" open={3} /></Card>
      <Card title="Metrics"><JsonView value={of.result.metrics} label="Metrics" /></Card>
    </div>
  );
}

function Conversation({ id, state }: { id: string; state: string }) {
  const said = useRead<{ messages: Message[] }>(`/aiopslab/tasks/${id}/conversation`, {}, true);
  useChange(OPEN.includes(state) ? "log" : null, { id }, said.again, 1000);
  if (!said.data?.messages.length) return <Empty title="Nobody has said anything yet" />;
  return (
    <ol className="talk">
      {said.data.messages.map((one, n) => (
        <li key={n} className={one.role === "assistant" ? "card said-agent" : "card"}>
          <p className="quiet">{clean(one.role)} · <Time at={one.timestamp} /></p>
          <pre tabIndex={0}>{clean(one.content)}</pre>
        </li>
      ))}
    </ol>
  );
}

function Log({ id, state }: { id: string; state: string }) {
  const read = useRead<{ logs: LabLog[] }>(`/aiopslab/tasks/${id}/logs`, {}, true);
  const chosen = useStore(zone);
  useChange(OPEN.includes(state) ? "log" : null, { id }, read.again, 1000);
  if (!read.data?.logs.length) return <Empty title="Nothing logged yet" />;
  return (
    <div className="log">
      <div className="log-lines" role="log" aria-label="Log" tabIndex={0}>
        {read.data.logs.map((one) => (
          <div key={one.id} className={`log-line level-${one.level}`}>
            <span className="log-at">{clock(new Date(one.timestamp), chosen, true)}</span><span className="log-level">{clean(one.level)}</span><span>{clean(one.message)}</span>
          </div>
        ))}
      </div>
    </div>
  );
}
