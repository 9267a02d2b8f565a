/** Who is logged in, and what their role lets them do. The server decides; this only spares them buttons it would refuse. */

import { act, ask, get, keepCsrf, type Refused } from "./api";
import { live } from "./live";
import { asRefused } from "./query";
import { store, useStore } from "./store";

export interface Me {
  org: string;
  org_slug: string;
  actor: string;
  role: "reader" | "writer" | "admin" | "operator" | "worker" | "attempt";
  scopes: string[];
  org_roles: string[];
  csrf: string | null;
  /** What the policy lets this credential do: its role's actions, within its scopes. */
  actions: string[];
}
export type Session = { at: "asking" } | { at: "out"; why: Refused | null } | { at: "in"; me: Me };

export const session = store<Session>({ at: "asking" });

/** At the start: by the key that `weft dev` puts behind the `#`, which servers never see; by the cookie; or not at all. */
export async function begin(): Promise<void> {
  const given = /^#key=([\w-]+)$/.exec(location.hash)?.[1];
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      await login(given);
      return;
    } catch {
      /* an old link: perhaps the cookie still stands */
    }
  }
  let known = true;
  try {
    known = (await get<{ logged_in?: boolean }>("/v1/login/options")).logged_in ?? true;
  } catch {
    known = true;
  }
  if (known) await look();
  else session.set({ at: "out", why: null });
}

export async function look(): Promise<void> {
  try {
    const me = await get<Me>("/v1/me");
    keepCsrf(me.csrf);
    session.set({ at: "in", me });
    live.restart();
  } catch (error) {
    const why = asRefused(error);
    session.set({ at: "out", why: why.status === 401 ? null : why });
  }
}

export async function login(credential: string): Promise<void> {
  const made = await ask<{ csrf: string }>("POST", "/v1/login", { body: { credential } });
  keepCsrf(made.csrf);
  await look();
}

export async function logout(): Promise<void> {
  try {
    live.stop();
    await act("/v1/logout");
  } finally {
    keepCsrf(null);
    session.set({ at: "out", why: null });
  }
}

/** Whether a button makes sense: by the action the server asks its policy for. There is no other table than the server's. */
export function may(me: Pick<Me, "actions"> | null, action: string): boolean {
  return me !== null && me.actions.includes(action);
}

export function useMe(): Me | null {
  const now = useStore(session);
  return now.at === "in" ? now.me : null;
}
