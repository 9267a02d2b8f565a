import { act } from "../base/api";
import { useCalm, useChange, usePages } from "../base/query";
import { useParam } from "../base/router";
import { may, useMe } from "../base/session";
import { browserOf } from "../logic/agent";
import { line } from "../logic/text";
import { confirmed } from "../parts/dialog";
import { Empty } from "../parts/empty";
import { Card, Facts, Failure } from "../parts/page";
import { Tags } from "../parts/state";
import { Table, type Column } from "../parts/table";
import { Time } from "../parts/time";

interface Login {
  id: string;
  actor: string;
  agent: string;
  created_at: string;
  expires_at: string;
  current: boolean;
}

export function You() {
  const me = useMe();
  const [all, setAll] = useParam("everybodys");
  const list = usePages<Login>("/v1/sessions", { everybodys: all ? true : undefined });
  useChange("audit", {}, useCalm(list.anew));
  const end = (one: Login): void => void confirmed(
    { title: "End this session?", verb: "End it", danger: true, text: one.current ? "It is this one: you are logged out here." : `${one.actor} is logged out there within a second.` },
    () => act(`/v1/sessions/${one.id}`, "DELETE"), "Ended").then(list.again);
  const columns: Column<Login>[] = [
    { name: "actor", head: "Who", cell: (one) => one.actor, less: true },
    { name: "agent", head: "Browser", cell: (one) => <><span title={line(one.agent, 300)}>{browserOf(one.agent) ?? line(one.agent, 120)}</span>{one.current && <> <span className="tag">this one</span></>}</>, wide: true },
    { name: "since", head: "Since", cell: (one) => <Time at={one.created_at} relative />, right: true },
    { name: "until", head: "Until", cell: (one) => <Time at={one.expires_at} />, right: true, less: true },
    { name: "deeds", head: <span className="unseen">Actions</span>, cell: (one) => <button type="button" className="small" onClick={() => end(one)}>End…</button>, right: true },
  ];
  if (!me) return null;
  return (
    <>
      <Card>
        <Facts of={[
          ["You are", me.actor], ["Role", me.role], ["Org", me.org_slug],
          ["Roles of the org", me.org_roles.length ? <Tags key="roles" of={me.org_roles} /> : null],
          ["Held to", me.scopes.length ? <Tags key="scopes" of={me.scopes} /> : null],
        ]} />
      </Card>
      <Card title="Open sessions" flush actions={may(me, "session.admin") && <label className="inline"><input type="checkbox" checked={all !== ""} onChange={(event) => setAll(event.target.checked ? "yes" : "")} /> Everybody&apos;s</label>}>
        {list.error && <Failure of={list.error} again={list.again} />}
        {list.items.length ? <Table label="Open sessions" rows={list.items} id={(one) => one.id} columns={columns} more={list.more} next={list.next} />
          : !list.loading && <Empty title="There is none">You came with a key of your own, not through the login.</Empty>}
      </Card>
    </>
  );
}
