import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";

import type { Json } from "../../base/api";
import { useCalm, useLive, useRead, type Read } from "../../base/query";
import { Link, setParams, useParam, type Match } from "../../base/router";
import { ended } from "../../logic/actions";
import type { GraphNode } from "../../logic/graph";
import { inOrder, statesOf, title, type Step } from "../../logic/steps";
import { clean, short } from "../../logic/text";
import { Copy, Empty } from "../../parts/empty";
import { JsonView } from "../../parts/json";
import { LogTail } from "../../parts/log";
import { Card, Facts, Failure, Loading, Page } from "../../parts/page";
import { StateBadge, Tags } from "../../parts/state";
import { Tabs } from "../../parts/tabs";
import { Time, Took } from "../../parts/time";
import { Actions } from "./actions";
import { Events } from "./events";
import { bare, useSteps, whole, type Run } from "./model";
import { Progress } from "./progress";
import { StepList } from "./step_list";
import { StepPanel } from "./step_panel";
import { Timeline } from "./timeline";
import { Says, Why } from "./why";
import "../../style/runs.css";

const load = () => import("./graph");
const Graph = lazy(load);

interface Plan {
  entry: string | null;
  blocks: { name: string; within: string | null; nodes: (GraphNode & { does: string })[] }[];
}

/** One run: its graph, its timeline, its steps, what went in and came out, and what can be done about it. */
export default function RunPage({ match }: { match: Match }) {
  const id = match["id"] ?? "";
  const read = useRead<Run>(`/v1/runs/${encodeURIComponent(id)}`);
  // asked for at the same time, not one after the other: the graph is what people wait for
  const plan = useRead<Plan>(`/v1/runs/${encodeURIComponent(id)}/graph`);
  useEffect(() => void load(), []);
  const live = useLive<{ run: Run; changed: number }>("run", { id });
  const again = useCalm(read.anew);
  const pushed = live.data?.run ?? null;
  const run = whole(pushed, read.data);
  // its output comes, or goes with a rerun, when its state changes: a push that leaves it out only says so
  const sign = bare(pushed) ? `${pushed?.state} ${pushed?.reruns}` : "";
  useEffect(() => { if (sign) again(); }, [sign, again]);
  const over = run === null ? false : ended(run.state);
  // a server without the subject: look now and then, until it has ended
  const [polled, poll] = useState(0);
  useEffect(() => {
    if (live.ended === null || over) return;
    const timer = setInterval(() => { poll((n) => n + 1); again(); }, 3000);
    return () => clearInterval(timer);
  }, [live.ended, over, again]);
  // its steps, or what was done to it as a whole: paused, resumed, run again
  const changed = useTurns([live.data?.changed, run?.state, run?.reruns, polled].join(" "), (run?.nodes ?? 0) > 500 ? 2000 : 300);
  const steps = useSteps(id, changed);
  const [chosen, setChosen] = useParam("step");
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  const turn = useCallback((step: string) => setTurned((was) => toggled(was, step)), []);
  const choose = useCallback((step: string) => setChosen(step), [setChosen]);
  if (read.error && run === null) return <Page title="Run" crumbs={[{ to: "/runs", text: "Runs" }]}><Failure of={read.error} again={read.again} /></Page>;
  if (run === null) return <Page title="Run" crumbs={[{ to: "/runs", text: "Runs" }]}><Loading /></Page>;
  const step = steps.steps.find((one) => one.id === chosen) ?? null;
  const refresh = (): void => { read.again(); poll((n) => n + 1); };
  const tabs = [
    { name: "graph", label: "Graph", show: () => <GraphTab run={run} plan={plan} steps={steps.steps} chosen={step} choose={choose} /> },
    {
      name: "timeline", label: "Timeline",
      show: () => steps.steps.length === 0 ? <NoSteps loading={steps.loading} /> : <Timeline steps={steps.steps} run={run} turned={turned} turn={turn} chosen={chosen} choose={choose} over={over} changed={changed} />,
    },
    {
      name: "steps", label: "Steps", hint: steps.steps.length || undefined,
      show: () => steps.steps.length === 0 ? <NoSteps loading={steps.loading} /> : <StepList steps={steps.steps} run={run.id} turned={turned} turn={turn} />,
    },
    { name: "data", label: "Input and output", show: () => <Data run={run} /> },
    { name: "logs", label: "Logs", show: () => <Logs steps={steps.steps} step={step} choose={choose} /> },
    { name: "events", label: "Events", show: () => <Events run={run} changed={changed} /> },
  ];
  return (
    <Page title={run.name} crumbs={[{ to: "/runs", text: "Runs" }]} badge={<StateBadge state={run.state} />} actions={<Actions run={run} done={refresh} />}>
      <Facts of={facts(run)} />
      {run.error && <Mistake error={run.error} />}
      {run.kind === "workflow" && <Says run={run} changed={changed} />}
      {!over && <Why run={run} changed={changed} />}
      {steps.error && <Failure of={steps.error} />}
      {steps.more && <p className="quiet">This run has more steps than are shown here; <code>weft run show {run.id}</code> shows them all.</p>}
      <div className={step ? "run-body with-step" : "run-body"}>
        <div className="run-main"><Tabs label="Parts of the run" tabs={tabs} /></div>
        {step && <StepPanel run={run} step={step} close={() => setParams({ step: null })} done={refresh} />}
      </div>
    </Page>
  );
}

function facts(run: Run): [string, React.ReactNode][] {
  const definition = run.kind === "dag" ? `/dags/${run.definition_id ?? encodeURIComponent(run.name)}` : run.kind === "workflow" ? `/workflows/${encodeURIComponent(run.name)}` : run.definition_id ? `/flows/${run.definition_id}` : null;
  return [
    ["Kind", definition ? <Link to={definition}>{run.kind}</Link> : run.kind],
    ["Id", <><span className="mono" title={run.id}>{short(run.id)}</span> <Copy text={run.id} /></>],
    ["Progress", run.nodes ? <Progress run={run} /> : null],
    ["Created", <Time at={run.created_at} />],
    ["Took", run.started_at ? <Took from={run.started_at} to={run.finished_at} /> : null],
    ["For", run.kind === "dag" ? <Time at={run.logical_date} /> : null],
    ["Started by", run.actor ? `${run.trigger}, ${clean(run.actor)}` : run.trigger],
    ["Version", run.version ? <span className="mono">{clean(run.version).slice(0, 12)}</span> : null],
    ["Reruns", run.reruns || null],
    ["Part of", run.parent_run_id ? <Link to={`/runs/${run.parent_run_id}`}>{short(run.parent_run_id)}</Link> : null],
    ["Tags", run.tags.length ? <Tags of={run.tags.map(clean)} /> : null],
  ];
}

function GraphTab({ run, plan, steps, chosen, choose }: { run: Run; plan: Read<Plan>; steps: Step[]; chosen: Step | null; choose: (id: string) => void }) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  // a flow's outermost block is most often the only one: nobody wants to see one box
  const outer = useMemo(() => (run.kind === "flow" ? steps.filter((one) => one.frame_id === run.id && one.element < 0 && !one.catching) : []), [run.kind, run.id, steps]);
  const only = outer.length === 1 && outer[0]?.block ? outer[0].id : run.id;
  const [frame, setFrame] = useParam("frame", only);
  const open = useCallback((box: string) => setOpened((was) => toggled(was, box)), []);
  const opener = frame === run.id ? null : (steps.find((one) => one.id === frame) ?? null);
  const block = opener?.block ?? plan.data?.entry ?? null;
  const nodes = useMemo<GraphNode[]>(() => {
    const found = plan.data?.blocks.find((one) => one.name === block);
    if (found) return found.nodes;
    return plan.data && plan.data.entry === null ? history(steps) : [];
  }, [plan.data, block, steps]);
  const states = useMemo(
    () => plan.data?.entry === null ? new Map(steps.map((one) => [one.node, one.state])) : statesOf(steps, frame),
    [steps, frame, plan.data],
  );
  const byNode = useMemo(() => {
    const flat = plan.data?.entry === null;
    return new Map(steps.filter((one) => flat || (one.frame_id === frame && one.element < 0 && !one.catching)).map((one) => [one.node, one]));
  }, [steps, frame, plan.data]);
  const press = useCallback((node: string) => { const one = byNode.get(node); if (one) choose(one.id); }, [byNode, choose]);
  const inside = useMemo(() => {
    const found = new Map<string, () => void>();
    for (const [node, one] of byNode) if (one.block !== null) found.set(node, () => setFrame(one.id));
    return found;
  }, [byNode, setFrame]);
  if (plan.error) return <Failure of={plan.error} again={plan.again} />;
  if (plan.loading) return <Loading />;
  if (nodes.length === 0) return <NoSteps loading={false} />;
  return (
    <>
      {opener && (
        <p className="graph-path">
          <button type="button" className="small" onClick={() => setFrame(run.id)}>← The whole run</button> inside <strong>{clean(title(opener))}</strong>
        </p>
      )}
      {opened.size > 0 && <p className="graph-path"><button type="button" className="small" onClick={() => setOpened(new Set())}>Close all groups</button></p>}
      <Suspense fallback={<Loading />}>
        <Graph nodes={nodes} states={states} opened={opened} open={open} chosen={chosen?.node ?? null} choose={press} inside={inside} />
      </Suspense>
    </>
  );
}

/** A workflow has no plan: what it has done, one after the other. */
function history(steps: Step[]): GraphNode[] {
  const sorted = inOrder(steps);
  return sorted.map((one, n) => {
    const before = sorted[n - 1];
    return { name: one.node, after: before ? [before.node] : [], group: "", what: one.attempt > 1 ? `attempt ${one.attempt}` : "", each: false, conditional: false };
  });
}

function Data({ run }: { run: Run }) {
  return (
    <div className="columns">
      <Card title="Input"><JsonView value={run.params as Json} label="Input" /></Card>
      <Card title="Output">{run.output === null ? <p className="quiet">{ended(run.state) ? "It gave nothing back." : "Not there yet."}</p> : <JsonView value={run.output} label="Output" />}</Card>
      {Object.keys(run.config).length > 0 && <Card title="Settings of this run"><JsonView value={run.config as Json} label="Settings" /></Card>}
    </div>
  );
}

function Logs({ steps, step, choose }: { steps: Step[]; step: Step | null; choose: (id: string) => void }) {
  const with_ = steps.filter((one) => one.task_id !== null).slice(0, 500);
  const shown = step?.task_id ? step : (with_.find((one) => one.state === "failed") ?? with_.find((one) => one.state === "running") ?? with_[0] ?? null);
  if (shown === null || shown.task_id === null) return <Empty title="No step has a task yet">Logs belong to tasks: they appear when a step has begun.</Empty>;
  return (
    <>
      <label className="inline">Step{" "}
        <select value={shown.id} onChange={(event) => choose(event.target.value)}>
          {with_.some((one) => one.id === shown.id) ? null : <option value={shown.id}>{clean(title(shown))}</option>}
          {with_.map((one) => <option key={one.id} value={one.id}>{clean(title(one))}</option>)}
        </select>
      </label>
      <LogTail task={shown.task_id} />
    </>
  );
}

function NoSteps({ loading }: { loading: boolean }) {
  return loading ? <Loading /> : <Empty title="No steps yet">They appear as soon as a worker takes the run up. <code>weft worker module:app</code> starts one.</Empty>;
}

export function Mistake({ error }: { error: { type?: string; message?: string } }) {
  return (
    <div className="failure" role="group" aria-label="Why it failed">
      <p><strong>{clean(error.type ?? "Error")}</strong></p>
      <pre className="mistake">{clean(error.message ?? "")}</pre>
    </div>
  );
}

function toggled(was: ReadonlySet<string>, one: string): ReadonlySet<string> {
  const now = new Set(was);
  if (!now.delete(one)) now.add(one);
  return now;
}

/** Another number when the text is another one, but not more often than every `every` milliseconds. */
function useTurns(sign: string, every: number): number {
  const [turn, setTurn] = useState({ sign, number: 0 });
  const follow = useCalm(() => setTurn((was) => ({ sign, number: was.number + 1 })), every);
  useEffect(() => { if (sign !== turn.sign) follow(); }, [sign, turn.sign, follow]);
  return turn.number;
}
