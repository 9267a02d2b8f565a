import { useEffect, useState } from "react";

import { get } from "../base/api";
import { go } from "../base/router";
import { clean, line } from "../logic/text";
import { Dialog } from "../parts/dialog";
import { Pick } from "../parts/pick";
import { StateBadge } from "../parts/state";
import { NAV } from "../routes";
import { find, target, type Found } from "./finding";

/** One box for everything: pages, ids, names. */
export function Search({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found[]>([]);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const wanted = text.trim();
    const pages: Found[] = NAV.filter((one) => one.name.toLowerCase().includes(wanted.toLowerCase())).map((one) => ({ type: "page", id: one.to, name: one.name }));
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
  const open = (one: Found): void => {
    close();
    go(target(one));
  };
  return (
    <Dialog title="Search" close={close} wide high>
      <Pick label="Search everything" hint="An id, or the name of a job, DAG, flow, queue, kind …" list="Found" text={text} type={setText} found={found} id={(one) => `${one.type} ${one.id}`} choose={open}>
        {(one) => (
          <>
            <span className="found-type">{clean(one.type)}</span> <span className="found-name">{line(one.name, 120)}</span>
            {one.state && <StateBadge state={one.state} />}
          </>
        )}
      </Pick>
      <p className="quiet" role="status">{busy ? "Searching …" : found.length ? "" : "Nothing is called so. Ids must be whole or begin as typed."}</p>
    </Dialog>
  );
}
