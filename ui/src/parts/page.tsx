import { useEffect, useRef, type ReactNode } from "react";

import type { Refused } from "../base/api";
import { Link } from "../base/router";
import { clean, shown } from "../logic/text";

interface Crumb {
  to: string;
  text: string;
}

/** A page: its title, where it hangs, what can be done here, and its content. */
export function Page({ title, crumbs = [], badge, actions, children }: {
  title: string; crumbs?: Crumb[]; badge?: ReactNode; actions?: ReactNode; children: ReactNode;
}) {
  const named = clean(title);
  useEffect(() => {
    document.title = `${named} · Weft`;
  }, [named]);
  return (
    <div className="page">
      <header className="page-head">
        <div className="page-title">
          {crumbs.length > 0 && (
            <nav aria-label="You are in" className="crumbs">
              {crumbs.map((one) => (
                <span key={one.to}><Link to={one.to}>{one.text}</Link> <span aria-hidden="true">/</span></span>
              ))}
            </nav>
          )}
          <h1>{named}</h1>
          {badge}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A part of a page with its own heading. */
export function Card({ title, actions, children, flush = false }: { title?: ReactNode; actions?: ReactNode; children: ReactNode; flush?: boolean }) {
  return (
    <section className={flush ? "card flush" : "card"}>
      {(title || actions) && (
        <header className="card-head">
          {title ? <h2>{shown(title)}</h2> : <span />}
          {actions && <div className="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** Names and values in two columns. Pairs without a value are left out. */
export function Facts({ of }: { of: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {of.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{shown(value)}</dd></div>
      ))}
    </dl>
  );
}

/** What the server refused: what is wrong, where, how to go on. */
export function Failure({ of, again }: { of: Refused; again?: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  // a long form is sent from its end, and this stands at its top
  useEffect(() => {
    if (box.current?.closest("dialog")) box.current.scrollIntoView({ block: "nearest" });
  }, [of]);
  return (
    <div className="failure" role="alert" ref={box}>
      <p><strong>{clean(of.message)}</strong></p>
      <p className="quiet">
        {clean(of.code)}{of.status ? ` (${of.status})` : ""} · <code>{clean(of.where)}</code>{of.request && <> · request <code>{clean(of.request)}</code></>}
      </p>
      {again && <button type="button" onClick={again}>Try again</button>}
    </div>
  );
}

export function Loading() {
  return <p className="loading quiet" role="status">Reading …</p>;
}

/** A number that matters, with its name. */
export function Figure({ name, value, hint, tone, to }: { name: string; value: ReactNode; hint?: ReactNode; tone?: string; to?: string }) {
  const inside = (
    <>
      <span className="figure-name">{name}</span>
      <span className={tone ? `figure-value tone-${tone}` : "figure-value"}>{shown(value)}</span>
      <span className="figure-hint">{shown(hint ?? "\u00a0")}</span>
    </>
  );
  return to ? <Link to={to} className="figure">{inside}</Link> : <div className="figure">{inside}</div>;
}
