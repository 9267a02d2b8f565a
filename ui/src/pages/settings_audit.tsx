import { useState } from "react";

import { get, type Json } from "../base/api";
import { useCalm, useChange, usePages } from "../base/query";
import { Link } from "../base/router";
import { clean, line, number } from "../logic/text";
import { Dialog } from "../parts/dialog";
import { Copy, Empty } from "../parts/empty";
import { Filters, useFilters, type Filter } from "../parts/filters";
import { JsonView } from "../parts/json";
import { Card, Facts, Failure, Loading } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { told } from "../parts/toast";

interface Entry {
  id: string;
  at: string;
  actor: string;
  action: string;
  object_type: string;
  object_id: string;
  before: Json;
  after: Json;
  request_id: string | null;
  number: number | null;
}
interface Verified {
  entries: number;
  unsealed: number;
  findings: Json[];
  head: string | null;
  next: number | null;
}
const FILTERS: readonly Filter[] = [
  { name: "actor", label: "Who", kind: "text" },
  { name: "action", label: "Action", kind: "text" },
  { name: "object_type", label: "What", kind: "text" },
  { name: "object_id", label: "Id", kind: "text" },
];

/** Where what an entry is about has a page. */
const PAGES: Record<string, string> = { task: "/tasks", run: "/runs", dag: "/dags", flow: "/flows", job: "/jobs", queue: "/queues", node: "/workers" };

function Thing({ of }: { of: Entry }) {
  const page = PAGES[of.object_type];
  const name = line(of.object_id);
  return <span className="thing">{line(of.object_type)} {page ? <Link to={`${page}/${encodeURIComponent(of.object_id)}`}>{name}</Link> : name}</span>;
}

/** The whole chain, part by part. */
async function verify(): Promise<Verified> {
  const found: Verified = { entries: 0, unsealed: 0, findings: [], head: null, next: 0 };
  while (found.next !== null) {
    const part: Verified = await get<Verified>("/v1/audit/verify", { after: found.next });
    found.entries += part.entries;
    found.unsealed = part.unsealed;
    found.findings.push(...part.findings);
    found.head = part.head ?? found.head;
    found.next = part.next;
  }
  return found;
}

export function Audit() {
  const list = usePages<Entry>("/v1/audit", useFilters(FILTERS));
  useChange("audit", {}, useCalm(list.anew));
  const [open, setOpen] = useState<Entry | null>(null);
  const [checked, setChecked] = useState<Verified | null>(null);
  const check = async (): Promise<void> => {
    const found = await told(verify, (one) => (one.findings.length ? "The trail is NOT whole" : "The trail is whole"));
    if (found && found !== true) setChecked(found);
  };
  const columns: Column<Entry>[] = [
    { name: "at", head: "When", cell: (one) => <Time at={one.at} /> },
    { name: "actor", head: "Who", cell: (one) => one.actor, less: true },
    { name: "action", head: "Action", cell: (one) => <button type="button" className="link" onClick={() => setOpen(one)}>{clean(one.action)}</button> },
    { name: "object", head: "What", cell: (one) => <Thing of={one} />, wide: true },
    { name: "number", head: "Sealed as", cell: (one) => (one.number === null ? <span className="quiet">not yet</span> : number(one.number)), right: true, less: true },
  ];
  return (
    <>
      <Filters filters={FILTERS}><button type="button" onClick={() => void check()}>Verify the trail</button></Filters>
      {checked && (
        <div className={checked.findings.length ? "note tone-bad" : "note tone-ok"} role="status">
          <p><strong>{checked.findings.length ? `${checked.findings.length} findings: entries were changed or are missing` : `${number(checked.entries)} entries, nothing changed`}</strong>{checked.unsealed > 0 && <>, {checked.unsealed} not sealed yet</>}</p>
          {checked.head && <p className="quiet">Head: <code className="head">{clean(checked.head)}</code> <Copy text={checked.head} /> Keep it elsewhere, and compare later.</p>}
          {checked.findings.length > 0 && <JsonView value={checked.findings} label="Findings" />}
        </div>
      )}
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : !list.items.length ? !list.error && <Empty title="No entry is like this">Whatever changes something, and whatever is refused, is written down here.</Empty>
        : <Table label="Audit trail" rows={list.items} id={(one) => one.id} columns={columns} more={list.more} next={list.next} />}
      {open && (
        <Dialog title={open.action} close={() => setOpen(null)} wide>
          <Facts of={[["When", <Time key="at" at={open.at} exact />], ["Who", open.actor], ["What", <Thing key="what" of={open} />], ["Request", open.request_id], ["Sealed as", open.number]]} />
          <div className="columns">
            <Card title="Before"><JsonView value={open.before} label="Before" /></Card>
            <Card title="After"><JsonView value={open.after} label="After" /></Card>
          </div>
        </Dialog>
      )}
    </>
  );
}
