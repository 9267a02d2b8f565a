import { Suspense, useCallback, useEffect, useRef, useState, type ReactNode } from "react";

import { live } from "../base/live";
import { Link, useHere } from "../base/router";
import { logout, useMe } from "../base/session";
import { theme, zone, zoneName, type Theme } from "../base/settings";
import { useStore } from "../base/store";
import { clean } from "../logic/text";
import { Questions } from "../parts/dialog";
import { Loading } from "../parts/page";
import { Toasts } from "../parts/toast";
import { NAV } from "../routes";
import { Help } from "./help";
import { useKeys } from "./keys";
import { Search } from "./search";
import { Zones } from "./zones";

/** What is around every page: navigation, search, the reader's own choices. */
export function Layout({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<"search" | "help" | null>(null);
  const [menu, setMenu] = useState(false);
  const url = useHere();
  const main = useRef<HTMLElement>(null);
  const search = useCallback(() => setOpen("search"), []);
  const help = useCallback(() => setOpen("help"), []);
  useKeys(search, help);
  useEffect(() => setMenu(false), [url.pathname]);
  return (
    <div className="frame">
      <a className="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to the page</a>
      <header className="top">
        <button type="button" className="menu-button plain" aria-expanded={menu} aria-controls="nav" aria-label="Menu" onClick={() => setMenu(!menu)}>☰</button>
        <Link to="/" className="brand"><img src="/favicon.svg" alt="" width="22" height="22" /> Weft</Link>
        <button type="button" className="search-button" onClick={search}>
          <span>Search</span> <kbd>/</kbd>
        </button>
        <span className="top-right">
          <Signal />
          <span className="roomy"><ZoneChoice /><ThemeChoice /></span>
          <button type="button" className="plain" aria-label="Keys and help" title="Keys and help (?)" onClick={help}>?</button>
          <span className="roomy"><Who /></span>
        </span>
      </header>
      <nav id="nav" className={menu ? "nav open" : "nav"} aria-label="Pages">
        <ul>
          {NAV.map((one) => {
            const here = one.to === "/" ? url.pathname === "/" : url.pathname === one.to || url.pathname.startsWith(`${one.to}/`);
            return (
              <li key={one.to} className={one.gap ? "nav-gap" : undefined}>
                <Link to={one.to} aria-current={here ? "page" : undefined} title={`g ${one.key}`}>{one.name}</Link>
              </li>
            );
          })}
        </ul>
        <div className="tight"><ZoneChoice /><ThemeChoice /><Who /></div>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <Suspense fallback={<Loading />}>{children}</Suspense>
      </main>
      {open === "search" && <Search close={() => setOpen(null)} />}
      {open === "help" && <Help close={() => setOpen(null)} />}
      <Questions />
      <Toasts />
    </div>
  );
}

/** Whether what is seen is up to date. */
function Signal() {
  const now = useStore(live.state);
  const words = { open: "live", connecting: "connecting", off: "", refused: "not live" }[now];
  return <span className={`signal signal-${now}`} role="status" title="Changes appear by themselves while this says live">{words}</span>;
}

function ThemeChoice() {
  const now = useStore(theme);
  return (
    <label className="inline choice">
      <span className="unseen">Theme</span>
      <select value={now} title="Theme" onChange={(event) => theme.set(event.target.value as Theme)}>
        <option value="system">◐ auto</option>
        <option value="light">☀ light</option>
        <option value="dark">☾ dark</option>
      </select>
    </label>
  );
}

function ZoneChoice() {
  const now = useStore(zone);
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="choice-button" aria-label={`Time zone: ${zoneName(now)}`} title="The zone in which times are shown" onClick={() => setOpen(true)}>{zoneName(now)}</button>
      {open && <Zones close={() => setOpen(false)} />}
    </>
  );
}

function Who() {
  const me = useMe();
  if (!me) return null;
  return (
    <span className="who">
      <span className="who-name" title={clean(`${me.actor}, ${me.role} of ${me.org_slug}`)}>{clean(me.actor)}</span>
      <button type="button" className="plain" onClick={() => void logout()}>Log out</button>
    </span>
  );
}
