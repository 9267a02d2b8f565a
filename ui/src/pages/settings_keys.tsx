import { useState } from "react";

import { act, post, type Json } from "../base/api";
import { useCalm, useChange, usePages } from "../base/query";
import { may, useMe } from "../base/session";
import type { Schema } from "../logic/schema";
import { confirmed } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { FormDialog } from "../parts/form_dialog";
import { Card, Failure, Loading } from "../parts/page";
import { StateBadge, Tags } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";
import { Once } from "./once";

interface Key {
  id: string;
  name: string;
  role: string;
  scopes: string[];
  prefix: string;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

export function Keys() {
  const me = useMe();
  const writes = may(me, "key.write");
  const list = usePages<Key>("/v1/keys");
  useChange("audit", {}, useCalm(list.anew));
  const [making, setMaking] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  const roles = ["reader", "writer", "worker", "admin", ...(me?.role === "operator" ? ["operator"] : [])];
  const schema: Schema = {
    required: ["name", "role"],
    properties: {
      name: { type: "string", description: "What it is for." },
      role: { enum: roles, description: "A reader looks, a writer enqueues and steers, a worker claims tasks, an admin sets up." },
      days: { type: "number", minimum: 0.001, title: "Days it lasts", description: "Empty: until it is revoked." },
      scopes: { type: "array", items: { type: "string" }, description: "Holds it to some actions, e.g. task.*, job.read; empty: all of its role." },
    },
  };
  const make = async ({ days, ...rest }: Record<string, Json>): Promise<void> => {
    const made = await post<{ key: string }>("/v1/keys", { ...rest, ...(typeof days === "number" ? { expires_in: days * 86400 } : {}) });
    setShown(made.key);
    list.again();
  };
  const revoke = (one: Key): void => void confirmed(
    { title: `Revoke ${one.name}?`, verb: "Revoke it", danger: true, text: "It is refused everywhere within a second, and sessions that began with it end. This cannot be taken back." },
    () => act(`/v1/keys/${one.id}`, "DELETE"), "Revoked").then(list.again);
  const columns: Column<Key>[] = [
    { name: "name", head: "Name", cell: (one) => one.name, wide: true },
    { name: "state", head: "State", cell: (one) => <StateBadge state={one.revoked_at ? "revoked" : one.expires_at && Date.parse(one.expires_at) < Date.now() ? "expired" : "active"} /> },
    { name: "role", head: "Role", cell: (one) => one.role },
    { name: "scopes", head: "Scopes", cell: (one) => (one.scopes.length ? <Tags of={one.scopes} /> : "–"), less: true },
    { name: "prefix", head: "Begins", cell: (one) => <code>{one.prefix}…</code>, less: true },
    { name: "by", head: "Made by", cell: (one) => one.created_by, less: true },
    { name: "used", head: "Last used", cell: (one) => <Time at={one.last_used_at} relative />, right: true, less: true },
    ...(writes ? [{ name: "deeds", head: <span className="unseen">Actions</span>, right: true,
      cell: (one: Key) => !one.revoked_at && <button type="button" className="small" onClick={() => revoke(one)}>Revoke…</button> }] : []),
  ];
  return (
    <Card title="API keys" flush actions={writes && <button type="button" className="primary" onClick={() => setMaking(true)}>New key…</button>}>
      {list.error && <Failure of={list.error} again={list.again} />}
      {list.loading ? <Loading /> : !list.items.length && !list.error ? <Empty title="There is no key" command="weft key create me --role admin" />
        : <Table label="API keys" rows={list.items} id={(one) => one.id} columns={columns} more={list.more} next={list.next} />}
      {making && <FormDialog title="New key" schema={schema} verb="Make it" submit={make} close={() => setMaking(false)} />}
      {shown && <Once title="The new key" value={shown} close={() => setShown(null)} />}
    </Card>
  );
}
