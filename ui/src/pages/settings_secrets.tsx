import { useState } from "react";

import { act, ask, part, type Json } from "../base/api";
import { useCalm, useChange, usePages } from "../base/query";
import { may, useMe } from "../base/session";
import type { Schema } from "../logic/schema";
import { clean } from "../logic/text";
import { confirmed } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { FormDialog } from "../parts/form_dialog";
import { Card, Failure, Loading } from "../parts/page";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { toast } from "../parts/toast";

interface Secret {
  name: string;
  version: number;
  remote: boolean;
  updated_at: string;
  updated_by: string;
}
const VALUE: Schema["properties"] = {
  value: { type: "string", format: "password", minLength: 8, description: "8 characters at least. Sealed at once; nobody can read it here again." },
  remote: { type: "boolean", title: "HTTP workers may have it too" },
};

/** Written, never read: the page has no way to show a value. */
export function Secrets() {
  const writes = may(useMe(), "secret.write");
  const list = usePages<Secret>("/v1/secrets");
  useChange("audit", {}, useCalm(list.anew));
  const [editing, setEditing] = useState<Secret | "new" | null>(null);
  const keep = async ({ name, ...body }: Record<string, Json>): Promise<void> => {
    const of = editing && editing !== "new" ? editing.name : String(name);
    await ask("PUT", `/v1/secrets/${part(of)}`, { body });
    toast(`Kept; payloads name it as \${secrets.${of}}`);
    list.again();
  };
  const forget = (one: Secret): void => void confirmed(
    { title: `Forget ${one.name}?`, verb: "Forget it", danger: true, type: one.name, text: "Tasks that name it fail from now on, by their retry policy." },
    () => act(`/v1/secrets/${part(one.name)}`, "DELETE"), "Forgotten").then(list.again);
  const columns: Column<Secret>[] = [
    { name: "name", head: "Name", cell: (one) => <code>{clean(one.name)}</code>, wide: true },
    { name: "version", head: "Version", cell: (one) => one.version, right: true, less: true },
    { name: "remote", head: "HTTP workers", cell: (one) => (one.remote ? "yes" : "no"), less: true },
    { name: "changed", head: "Changed", cell: (one) => <Time at={one.updated_at} relative />, right: true },
    { name: "by", head: "By", cell: (one) => one.updated_by, less: true },
    ...(writes ? [{ name: "deeds", head: <span className="unseen">Actions</span>, right: true,
      cell: (one: Secret) => <span className="actions"><button type="button" className="small" onClick={() => setEditing(one)}>Replace…</button><button type="button" className="small" onClick={() => forget(one)}>Forget…</button></span> }] : []),
  ];
  return (
    <Card title="Secrets" flush actions={writes && <button type="button" className="primary" onClick={() => setEditing("new")}>New secret…</button>}>
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : !list.items.length && !list.error ? <Empty title="There is no secret" command="weft secret set SMTP_PASSWORD">A payload names one as <code>{"${secrets.NAME}"}</code>; its value is put in right before the handler runs.</Empty>
        : <Table label="Secrets" rows={list.items} id={(one) => one.name} columns={columns} more={list.more} next={list.next} />}
      {editing === "new" && <FormDialog title="New secret" verb="Keep it" submit={keep} close={() => setEditing(null)}
        schema={{ required: ["name", "value"], properties: { name: { type: "string", description: "As payloads name it." }, ...VALUE } }} />}
      {editing && editing !== "new" && <FormDialog title={`Replace ${editing.name}`} schema={{ required: ["value"], properties: VALUE }} verb="Replace it" submit={keep} close={() => setEditing(null)}
        start={{ remote: String(editing.remote) }} />}
    </Card>
  );
}
