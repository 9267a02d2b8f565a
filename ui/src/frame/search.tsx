import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";

import { get } from "../base/api";
import { go } from "../base/router";
import { line } from "../logic/text";
import { Dialog } from "../parts/dialog";
import { StateBadge } from "../parts/state";
import { NAV } from "../routes";
import { find, target, type Found } from "./finding";

/** One box for everything: pages, ids, names. Arrow keys choose, Enter goes there. */
export function Search({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found[]>([]);
  const [at, setAt] = useState(0);
  const [busy, setBusy] = useState(false);
  const list = useId();
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  useEffect(() => {
    const wanted = text.trim();
    const pages: Found[] = NAV.filter((one) => one.name.toLowerCase().includes(wanted.toLowerCase())).map((one) => ({ type: "page", id: one.to, name: one.name }));
    setAt(0);
    setFound(pages);
    if (!wanted) return;
    const stop = new AbortController();
    setBusy(true);
    const timer = setTimeout(() => {
      find(wanted, (path, args) => get(path, args, stop.signal))
        .then((more) => stop.signal.aborted || setFound([...more, ...pages]), () => undefined)
        .finally(() => stop.signal.aborted || setBusy(false));
    }, 150);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  const open = (one: Found | undefined): void => {
    if (!one) return;
    close();
    go(target(one));
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") open(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search" close={close} wide high>
      <input ref={box} className="search-box" type="text" autoComplete="off" value={text} placeholder="An id, or the name of a job, DAG, flow, queue, kind …" aria-label="Search everything"
        role="combobox" aria-expanded="true" aria-controls={list} aria-activedescendant={found[at] ? `${list}-${at}` : undefined}
        onChange={(event) => setText(event.target.value)} onKeyDown={key} />
      <ul className="found" role="listbox" id={list} aria-label="Found">
        {found.map((one, n) => (
          <li key={`${one.type} ${one.id}`} id={`${list}-${n}`} role="option" aria-selected={n === at} onClick={() => open(one)} onPointerMove={() => setAt(n)}>
            <span className="found-type">{one.type}</span> <span className="found-name">{line(one.name, 120)}</span>
            {one.state && <StateBadge state={one.state} />}
          </li>
        ))}
      </ul>
      <p className="quiet" role="status">{busy ? "Searching …" : found.length ? "" : "Nothing is called so. Ids must be whole or begin as typed."}</p>
    </Dialog>
  );
}
