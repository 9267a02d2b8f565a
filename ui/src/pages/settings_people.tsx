import { useState } from "react";

import { act, ask, part, post, type Json } from "../base/api";
import { useCalm, useChange, usePages } from "../base/query";
import { may, useMe } from "../base/session";
import type { Schema } from "../logic/schema";
import { clean } from "../logic/text";
import { confirmed } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { FormDialog } from "../parts/form_dialog";
import { Card, Failure, Loading } from "../parts/page";
import { Tags } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { toast } from "../parts/toast";

interface User {
  id: string;
  external_id: string;
  email: string | null;
  role: string;
  created_at: string;
  org_roles: string[];
}
interface Role {
  id: string;
  slug: string;
  name: string;
  created_at: string;
  members: number;
}
const ROLES = ["reader", "writer", "admin"];
const USER: Schema = {
  required: ["external_id", "role"],
  properties: {
    external_id: { type: "string", title: "Subject", description: "The `sub` of the issuer's tokens." },
    email: { type: "string" },
    role: { enum: ROLES },
  },
};
const ROLE: Schema = { required: ["slug", "name"], properties: { slug: { type: "string", description: "1-63 of a-z, 0-9 and -." }, name: { type: "string" } } };

export function Users() {
  const writes = may(useMe(), "user.write");
  const list = usePages<User>("/v1/users");
  const roles = usePages<Role>("/v1/roles");
  useChange("audit", {}, useCalm(() => { list.again(); roles.again(); }, 500));
  const [editing, setEditing] = useState<User | "new" | null>(null);
  const add = async (value: Record<string, Json>): Promise<void> => {
    await post("/v1/users", value);
    toast("They may come in now");
    list.again();
  };
  const save = async ({ org_roles, ...value }: Record<string, Json>): Promise<void> => {
    if (editing === null || editing === "new") return;
    await ask("PATCH", `/v1/users/${editing.id}`, { body: value });
    const wanted = new Set((org_roles ?? []) as string[]);
    for (const slug of wanted) if (!editing.org_roles.includes(slug)) await act(`/v1/roles/${part(slug)}/members/${editing.id}`, "PUT");
    for (const slug of editing.org_roles) if (!wanted.has(slug)) await act(`/v1/roles/${part(slug)}/members/${editing.id}`, "DELETE");
    toast("Saved");
    list.again();
  };
  const remove = (one: User): void => void confirmed(
    { title: `Remove ${one.email ?? one.external_id}?`, verb: "Remove", danger: true, text: "Their tokens open nothing any more, within a second. Keys they made are the org's and stay." },
    () => act(`/v1/users/${one.id}`, "DELETE"), "Removed").then(list.again);
  const columns: Column<User>[] = [
    { name: "email", head: "User", cell: (one) => one.email ?? one.external_id, wide: true },
    { name: "subject", head: "Subject", cell: (one) => <code>{clean(one.external_id)}</code>, less: true },
    { name: "role", head: "Role", cell: (one) => one.role },
    { name: "roles", head: "Roles of the org", cell: (one) => <Tags of={one.org_roles} />, less: true },
    { name: "since", head: "Since", cell: (one) => <Time at={one.created_at} relative />, right: true, less: true },
    ...(writes ? [{ name: "deeds", head: <span className="unseen">Actions</span>, right: true,
      cell: (one: User) => <span className="actions"><button type="button" className="small" onClick={() => setEditing(one)}>Change…</button><button type="button" className="small" onClick={() => remove(one)}>Remove…</button></span> }] : []),
  ];
  const change: Schema = {
    required: ["role"],
    properties: {
      role: { enum: ROLES }, email: { type: "string" },
      org_roles: { type: "array", items: { type: "string" }, title: "Roles of the org", description: roles.items.length ? `With commas between them; there are ${roles.items.map((one) => one.slug).join(", ")}.` : "There are none yet." },
    },
  };
  return (
    <Card title="Users" flush actions={writes && <button type="button" className="primary" onClick={() => setEditing("new")}>New user…</button>}>
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : !list.items.length && !list.error ? <Empty title="There is no user" command="weft user create SUBJECT --role writer">Users come with tokens of your issuer (OIDC); until then there are keys.</Empty>
        : <Table label="Users" rows={list.items} id={(one) => one.id} columns={columns} more={list.more} next={list.next} />}
      {editing === "new" && <FormDialog title="New user" schema={USER} verb="Add" submit={add} close={() => setEditing(null)} />}
      {editing && editing !== "new" && <FormDialog title={`Change ${editing.email ?? editing.external_id}`} schema={change} verb="Save" submit={save} close={() => setEditing(null)}
        start={{ role: editing.role, email: editing.email ?? "", org_roles: editing.org_roles.join(", ") }} />}
    </Card>
  );
}

export function Roles() {
  const writes = may(useMe(), "role.write");
  const list = usePages<Role>("/v1/roles");
  useChange("audit", {}, useCalm(list.anew));
  const [making, setMaking] = useState(false);
  const add = async (value: Record<string, Json>): Promise<void> => {
    await post("/v1/roles", value);
    toast("Made; give it to users on their tab");
    list.again();
  };
  const remove = (one: Role): void => void confirmed(
    { title: `Remove the role ${one.slug}?`, verb: "Remove", danger: true, text: `Its ${one.members} members have it no more.` },
    () => act(`/v1/roles/${part(one.slug)}`, "DELETE"), "Removed").then(list.again);
  const columns: Column<Role>[] = [
    { name: "slug", head: "Role", cell: (one) => <code>role:{clean(one.slug)}</code> },
    { name: "name", head: "Name", cell: (one) => one.name, wide: true },
    { name: "members", head: "Members", cell: (one) => one.members, right: true, less: true },
    { name: "since", head: "Since", cell: (one) => <Time at={one.created_at} relative />, right: true, less: true },
    ...(writes ? [{ name: "deeds", head: <span className="unseen">Actions</span>, right: true, cell: (one: Role) => <button type="button" className="small" onClick={() => remove(one)}>Remove…</button> }] : []),
  ];
  return (
    <Card title="Roles of the org" flush actions={writes && <button type="button" className="primary" onClick={() => setMaking(true)}>New role…</button>}>
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : !list.items.length && !list.error ? <Empty title="There is no role of your own">Roles such as <code>role:finance</code> say who may see which data.</Empty>
        : <Table label="Roles of the org" rows={list.items} id={(one) => one.id} columns={columns} more={list.more} next={list.next} />}
      {making && <FormDialog title="New role" schema={ROLE} verb="Make it" submit={add} close={() => setMaking(false)} />}
    </Card>
  );
}
