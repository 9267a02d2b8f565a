import { useState } from "react";

import { post, type Json } from "../base/api";
import { useCalm, useChange, usePages } from "../base/query";
import { Link } from "../base/router";
import { may, useMe } from "../base/session";
import type { TaskRow } from "../base/shapes";
import { line } from "../logic/text";
import { Chosen } from "../parts/chosen";
import { confirm } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { Filters, useFilters, type Filter } from "../parts/filters";
import { Failure, Loading, Page } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { toast, told } from "../parts/toast";

interface Batch {
  done: number;
  skipped: number;
  remaining: number;
  at_least: boolean;
  next_cursor: string | null;
}
const FILTERS: readonly Filter[] = [
  { name: "kind", label: "Kind", kind: "text" },
  { name: "queue", label: "Queue", kind: "text" },
  { name: "error_type", label: "Error", kind: "text" },
  { name: "tag", label: "Tag", kind: "text" },
];

/** Everything that matches, batch by batch, until the server says that nothing is left. */
async function all(deed: "redrive" | "discard", filter: Record<string, Json>): Promise<number> {
  let done = 0;
  let cursor: string | null = null;
  do {
    const batch: Batch = await post<Batch>(`/v1/dead/${deed}`, { filter, ...(cursor ? { cursor } : {}) });
    done += batch.done;
    cursor = batch.next_cursor;
    if (cursor) toast(`${done} so far, ${batch.remaining}${batch.at_least ? "+" : ""} to go`);
  } while (cursor);
  return done;
}

export default function Dead() {
  const wanted = useFilters(FILTERS);
  const list = usePages<TaskRow>("/v1/dead", wanted);
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const me = useMe();
  const calm = useCalm(list.anew);
  useChange("dead", {}, calm);
  useChange("counts", {}, calm);
  const filter = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value)) as Record<string, Json>;
  const narrowed = Object.keys(filter).length > 0;
  const steer = may(me, "dead.write");
  const deed = async (which: "redrive" | "discard", whole: boolean): Promise<void> => {
    const what = whole ? (narrowed ? "all that match the filter" : "all dead letters") : `${chosen.size} dead ${chosen.size === 1 ? "letter" : "letters"}`;
    const yes = await confirm(which === "redrive"
      ? { title: `Redrive ${what}?`, verb: "Redrive", text: "They are queued again, their attempts counted anew. If what broke them is not mended, they die again." }
      : { title: `Discard ${what}?`, verb: "Discard", danger: true, text: "For good: they leave this list and cannot be redriven from here. Their history stays.", ...(whole ? { type: "discard" } : {}) });
    if (!yes) return;
    const word = which === "redrive" ? "queued again" : "discarded";
    await told(() => (whole ? all(which, filter) : post<Batch>(`/v1/dead/${which}`, { ids: [...chosen] }).then((one) => one.done)), (n) => `${n} ${word}`);
    setChosen(new Set());
    list.again();
  };
  return (
    <Page title="Dead letters" actions={steer && list.items.length > 0 && (
      <>
        <button type="button" onClick={() => void deed("redrive", true)}>Redrive {narrowed ? "all that match" : "all"}…</button>
        <button type="button" className="danger" onClick={() => void deed("discard", true)}>Discard {narrowed ? "all that match" : "all"}…</button>
      </>
    )}>
      <Filters filters={FILTERS} />
      {list.error && <Failure of={list.error} again={list.again} />}
      {chosen.size > 0 && (
        <Chosen count={chosen.size} clear={() => setChosen(new Set())}>
          <button type="button" onClick={() => void deed("redrive", false)}>Redrive…</button>
          <button type="button" className="danger" onClick={() => void deed("discard", false)}>Discard…</button>
        </Chosen>
      )}
      {list.loading ? <Loading /> : !list.items.length ? (
        !list.error && <Empty title={narrowed ? "No dead letter is like this" : "Nothing is dead"} command="weft dead list">Tasks that used up their attempts come here, with their errors, ready to be run again.</Empty>
      ) : (
        <Table label="Dead letters" rows={list.items} id={(one) => one.id} columns={COLUMNS} to={(one) => `/tasks/${one.id}`} more={list.more} next={list.next}
          {...(steer ? { chosen, choose: setChosen } : {})} />
      )}
    </Page>
  );
}

const COLUMNS: Column<TaskRow>[] = [
  { name: "kind", head: "Kind", cell: (one) => <Link to={`/tasks/${one.id}`}>{one.kind}</Link> },
  { name: "error", head: "Error", cell: (one) => <span title={line(one.error_message ?? "", 1000)}><strong>{line(one.error_type ?? "")}</strong> {line(one.error_message ?? "")}</span>, wide: true },
  { name: "queue", head: "Queue", cell: (one) => one.queue, less: true },
  { name: "attempt", head: "Attempts", cell: (one) => one.attempt, right: true, less: true },
  { name: "died", head: "Died", cell: (one) => <Time at={one.finished_at} relative />, right: true },
];
