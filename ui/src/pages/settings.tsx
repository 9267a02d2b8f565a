import type { ReactNode } from "react";

import { may, useMe } from "../base/session";
import { Empty } from "../parts/empty";
import { Page } from "../parts/page";
import { Tabs, type Tab } from "../parts/tabs";
import { Audit } from "./settings_audit";
import { Keys } from "./settings_keys";
import { Orgs } from "./settings_orgs";
import { Roles, Users } from "./settings_people";
import { Secrets } from "./settings_secrets";
import { You } from "./settings_you";

/** What somebody may not see is shown to them as such, rather than hidden: they learn whom to ask. */
export default function Settings() {
  const me = useMe();
  const held = (action: string, page: ReactNode): ReactNode => (may(me, action) ? page : <Empty title="You may not see this">It takes the action <code>{action}</code>; your role is {me?.role}. Ask an admin of {me?.org_slug}.</Empty>);
  const tabs: Tab[] = [
    { name: "you", label: "You", show: () => <You /> },
    { name: "orgs", label: "Orgs", show: () => <Orgs /> },
    { name: "users", label: "Users", show: () => held("user.read", <Users />) },
    { name: "roles", label: "Roles", show: () => held("role.read", <Roles />) },
    { name: "keys", label: "Keys", show: () => held("key.read", <Keys />) },
    { name: "secrets", label: "Secrets", show: () => held("secret.read", <Secrets />) },
    { name: "audit", label: "Audit", show: () => held("audit.read", <Audit />) },
  ];
  return <Page title="Settings"><Tabs label="Settings" tabs={tabs} /></Page>;
}
