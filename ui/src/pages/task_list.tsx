import { useState } from "react";

import { act, type Args } from "../base/api";
import { each, summary } from "../base/bulk";
import { useCalm, useChange, usePages } from "../base/query";
import { Link } from "../base/router";
import { may, useMe } from "../base/session";
import type { TaskRow } from "../base/shapes";
import { line } from "../logic/text";
import { Chosen } from "../parts/chosen";
import { confirm } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { Filters, useFilters, type Filter } from "../parts/filters";
import { Failure, Loading } from "../parts/page";
import { StateBadge, Tags } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Time, Took } from "../parts/time";
import { toast, told } from "../parts/toast";

const STATES = ["ready", "scheduled", "blocked", "running", "completed", "failed", "timed_out", "cancelled"] as const;
const FILTERS: readonly Filter[] = [
  { name: "state", label: "State", kind: "many", choices: STATES },
  { name: "kind", label: "Kind", kind: "text" },
  { name: "queue", label: "Queue", kind: "text" },
  { name: "tag", label: "Tag", kind: "text" },
  { name: "error_type", label: "Error", kind: "text" },
];

/** Tasks with filters and what can be done to many; of one queue, or of all. */
export function TaskList({ queue }: { queue?: string }) {
  const filters = queue ? FILTERS.filter((one) => one.name !== "queue") : FILTERS;
  const wanted: Args = { ...useFilters(filters), ...(queue ? { queue } : {}) };
  const list = usePages<TaskRow>("/v1/tasks", wanted);
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const me = useMe();
  const calm = useCalm(list.anew);
  useChange("tasks", { limit: 1, ...(queue ? { queue } : {}) }, calm);
  useChange("counts", {}, calm);
  const many = async (verb: string, deed: string): Promise<void> => {
    const answer = await told(() => each(chosen, (id) => act(`/v1/tasks/${id}/${deed}`)), (one) => summary(verb, one));
    if (answer && answer !== true && answer.refused.length) toast(answer.refused[0]?.message, true);
    setChosen(new Set());
    list.again();
  };
  const cancel = async (): Promise<void> => {
    const text = "What waits ends at once; what runs is told to stop, and ends by force after 30 seconds.";
    if (await confirm({ title: `Cancel ${chosen.size} tasks?`, verb: "Cancel them", danger: true, text })) await many("cancelled", "cancel");
  };
  const redrive = async (): Promise<void> => {
    const text = "The same tasks, their attempts counted anew. Those that have not failed are left alone.";
    if (await confirm({ title: `Run ${chosen.size} tasks again?`, verb: "Run them again", text })) await many("queued again", "redrive");
  };
  return (
    <>
      <Filters filters={filters} />
      {list.error && <Failure of={list.error} again={list.again} />}
      {chosen.size > 0 && (
        <Chosen count={chosen.size} clear={() => setChosen(new Set())}>
          {may(me, "task.redrive") && <button type="button" onClick={() => void redrive()}>Run again…</button>}
          {may(me, "task.cancel") && <button type="button" className="danger" onClick={() => void cancel()}>Cancel…</button>}
        </Chosen>
      )}
      {list.loading ? <Loading /> : !list.items.length ? (
        !list.error && <Empty title="No task is like this" command={`weft enqueue hello '{"name": "you"}'${queue ? ` --queue ${queue}` : ""}`}>Take away a filter, or enqueue one:</Empty>
      ) : (
        <Table label="Tasks" rows={list.items} id={(one) => one.id} columns={queue ? COLUMNS.filter((one) => one.name !== "queue") : COLUMNS} to={(one) => `/tasks/${one.id}`}
          more={list.more} next={list.next} {...(may(me, "task.cancel") || may(me, "task.redrive") ? { chosen, choose: setChosen } : {})} />
      )}
    </>
  );
}

const COLUMNS: Column<TaskRow>[] = [
  { name: "state", head: "State", cell: (one) => <StateBadge state={one.cancelling ? "cancelling" : one.state} hint={one.reason} /> },
  { name: "kind", head: "Kind", cell: (one) => <Link to={`/tasks/${one.id}`}>{one.kind}</Link> },
  { name: "what", head: "What", cell: (one) => <What of={one} />, wide: true, less: true },
  { name: "queue", head: "Queue", cell: (one) => one.queue, less: true },
  { name: "attempt", head: "Attempt", cell: (one) => `${one.attempt}${one.losses ? ` (+${one.losses} lost)` : ""}`, right: true, less: true },
  { name: "took", head: "Took", cell: (one) => <Took from={one.started_at} to={one.finished_at ?? (one.state === "running" ? null : one.started_at)} />, right: true, less: true },
  { name: "created", head: "Created", cell: (one) => <Time at={one.created_at} relative />, right: true },
];

function What({ of }: { of: TaskRow }) {
  if (of.error_type || of.error_message) return <span title={line(of.error_message ?? "", 1000)}>{line(`${of.error_type ?? ""}: ${of.error_message ?? ""}`)}</span>;
  if (of.progress !== null && of.state === "running") return <><progress max={100} value={of.progress} aria-label="Progress" /> {of.progress_message && line(of.progress_message)}</>;
  if (of.state === "scheduled") return <span className="quiet">due <Time at={of.run_at} relative /></span>;
  return <Tags of={of.tags} />;
}
