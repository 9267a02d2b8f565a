import { useState, type FormEvent } from "react";

import { address, type Refused } from "../base/api";
import { asRefused, useRead } from "../base/query";
import { go } from "../base/router";
import { login } from "../base/session";
import { Command } from "../parts/empty";
import { Failure } from "../parts/page";
import { Toasts } from "../parts/toast";

interface Options {
  oidc: { name: string; url: string } | null;
}

/** What the issuer's answer came to, where it was no login. */
const FAILED: Record<string, string> = {
  unauthenticated: "The issuer did not let you in, or nobody here knows you. Ask an admin to add you.",
  unavailable: "The issuer does not answer. Try again, or use a key.",
};

/** The door: a key, or the company's own login where an issuer is configured. */
export function Login({ why }: { why: Refused | null }) {
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<Refused | null>(why);
  const [busy, setBusy] = useState(false);
  const options = useRead<Options>("/v1/login/options");
  const oidc = options.data?.oidc;
  const failed = FAILED[new URL(location.href).searchParams.get("error") ?? ""];
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!text.trim()) return;
    setBusy(true);
    try {
      await login(text.trim());
      if (location.pathname === "/login") go("/", "replace");
    } catch (error) {
      setRefused(asRefused(error));
      setBusy(false);
    }
  };
  return (
    <main className="login">
      <form className="card" onSubmit={(event) => void send(event)}>
        <h1><img src="/favicon.svg" alt="" width="32" height="32" /> Weft</h1>
        {failed && !refused && <p className="note tone-bad" role="alert">{failed}</p>}
        {refused && <Failure of={refused} />}
        {oidc && <a className="button primary" href={address(oidc.url, { next: location.pathname === "/login" ? null : location.pathname + location.search })}>Log in with {oidc.name}</a>}
        {oidc && <p className="or quiet">or</p>}
        <div className="field">
          <label htmlFor="credential">API key</label>
          <input id="credential" type="password" autoComplete="current-password" autoFocus spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
        </div>
        <button type="submit" className={oidc ? "" : "primary"} disabled={busy || !text.trim()}>Log in</button>
        <p className="quiet">No key yet? An admin makes one:</p>
        <Command text="weft key create me --role admin" />
      </form>
      <Toasts />
    </main>
  );
}
