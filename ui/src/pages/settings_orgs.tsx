import { useState } from "react";

import { ask, post, type Json } from "../base/api";
import { useEvery, usePages } from "../base/query";
import { may, useMe } from "../base/session";
import type { Schema } from "../logic/schema";
import { span } from "../logic/time";
import { confirm } from "../parts/dialog";
import { FormDialog } from "../parts/form_dialog";
import { Card, Failure, Loading } from "../parts/page";
import { StateBadge } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { toast, told } from "../parts/toast";
import { Once } from "./once";

interface Org {
  id: string;
  name: string;
  slug: string;
  tier: string;
  max_jobs: number | null;
  max_concurrent: number | null;
  weight: number;
  retention: number | null;
  suspended_at: string | null;
}
const LIMITS: Schema["properties"] = {
  tier: { enum: ["free", "standard", "enterprise"], default: "standard" },
  max_jobs: { type: "integer", minimum: 0, title: "Jobs at most" },
  max_concurrent: { type: "integer", minimum: 0, title: "Running at most" },
  weight: { type: "integer", minimum: 1, maximum: 100, description: "Its share when workers are short." },
};
const NEW: Schema = {
  required: ["name", "slug"],
  properties: {
    name: { type: "string" }, slug: { type: "string", description: "1-63 of a-z, 0-9 and -." }, ...LIMITS,
    admin_key: { type: "string", title: "First key", description: "A name: an admin's key is made with the org and shown once." },
  },
};

export function Orgs() {
  const me = useMe();
  const list = usePages<Org>("/v1/orgs");
  // an org that is made elsewhere is another org's business: nobody tells us
  useEvery(list.again, 5000);
  const [editing, setEditing] = useState<Org | "new" | null>(null);
  const [key, setKey] = useState<string | null>(null);
  const operator = may(me, "org.write");
  const make = async (value: Record<string, Json>): Promise<void> => {
    const made = await post<{ key?: string | null }>("/v1/orgs", value);
    setKey(made.key ?? null);
    toast("Made");
    list.again();
  };
  const save = async (value: Record<string, Json>): Promise<void> => {
    if (editing === null || editing === "new") return;
    await ask("PATCH", `/v1/orgs/${editing.id}`, { body: value });
    toast("Saved");
    list.again();
  };
  const suspend = async (one: Org): Promise<void> => {
    const off = one.suspended_at === null;
    if (off && !(await confirm({ title: `Suspend ${one.name}?`, verb: "Suspend", danger: true, type: one.slug, text: "Within a second none of its credentials is taken any more. Its tasks stay and run on." }))) return;
    await told(() => ask("PATCH", `/v1/orgs/${one.id}`, { body: { suspended: off } }), off ? "Suspended" : "Taken up again");
    list.again();
  };
  const columns: Column<Org>[] = [
    { name: "name", head: "Org", cell: (one) => one.name, wide: true },
    { name: "slug", head: "Slug", cell: (one) => <code>{one.slug}</code> },
    { name: "state", head: "State", cell: (one) => <StateBadge state={one.suspended_at ? "paused" : "active"} /> },
    { name: "tier", head: "Tier", cell: (one) => one.tier, less: true },
    { name: "running", head: "Running at most", cell: (one) => one.max_concurrent ?? "–", right: true, less: true },
    { name: "jobs", head: "Jobs at most", cell: (one) => one.max_jobs ?? "–", right: true, less: true },
    { name: "kept", head: "History", cell: (one) => span(one.retention), right: true, less: true },
    ...(may(me, "org.rename") ? [{
      name: "deeds", head: <span className="unseen">Actions</span>, right: true,
      cell: (one: Org) => (
        <span className="actions"><button type="button" className="small" onClick={() => setEditing(one)}>Change…</button>
          {operator && one.id !== me?.org && <button type="button" className="small" onClick={() => void suspend(one)}>{one.suspended_at ? "Take up" : "Suspend…"}</button>}</span>
      ),
    }] : []),
  ];
  const change: Schema = { properties: { name: { type: "string" }, ...(operator ? LIMITS : {}) } };
  const text = (value: number | null): string => (value === null ? "" : String(value));
  return (
    <Card title="Orgs" flush actions={operator && <button type="button" className="primary" onClick={() => setEditing("new")}>New org…</button>}>
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : <Table label="Orgs" rows={list.items} id={(one) => one.id} columns={columns} more={list.more} next={list.next} />}
      {editing === "new" && <FormDialog title="New org" schema={NEW} verb="Make it" submit={make} close={() => setEditing(null)} />}
      {editing && editing !== "new" && <FormDialog title={`Change ${editing.name}`} schema={change} verb="Save" submit={save} close={() => setEditing(null)}
        start={{ name: editing.name, tier: editing.tier, max_jobs: text(editing.max_jobs), max_concurrent: text(editing.max_concurrent), weight: String(editing.weight) }} />}
      {key && <Once title="The org's first key" value={key} close={() => setKey(null)} />}
    </Card>
  );
}
