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

/** What only admins may see is shown to others as such, rather than hidden: they learn whom to ask. */
export default function Settings() {
  const me = useMe();
  const admin = (page: ReactNode): ReactNode => (may(me, "admin") ? page : <Empty title="Only admins see this">Your role is {me?.role}. Ask an admin of {me?.org_slug}.</Empty>);
  const tabs: Tab[] = [
    { name: "you", label: "You", show: () => <You /> },
    { name: "orgs", label: "Orgs", show: () => <Orgs /> },
    { name: "users", label: "Users", show: () => admin(<Users />) },
    { name: "roles", label: "Roles", show: () => admin(<Roles />) },
    { name: "keys", label: "Keys", show: () => admin(<Keys />) },
    { name: "secrets", label: "Secrets", show: () => admin(<Secrets />) },
    { name: "audit", label: "Audit", show: () => admin(<Audit />) },
  ];
  return <Page title="Settings"><Tabs label="Settings" tabs={tabs} /></Page>;
}
