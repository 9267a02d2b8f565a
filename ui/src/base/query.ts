/** Hooks that read: once, as pages by keyset, and live. What is shown stays while it is read again. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { get, Refused, type Args, type Json, type Paged } from "./api";
import { Calm, oneAtATime } from "./calm";
import { joined } from "./paging";
import { live, type Live, type Pushed } from "./live";

export interface Read<T> {
  data: T | null;
  error: Refused | null;
  loading: boolean;
  again: () => void;
  /** The same, answered when it has been read. */
  anew: () => Promise<void>;
}

/** Reads a path; null: nothing to read yet. Reads again when path or args change, or when told. With `keep` what was read
    of the same path stays until the next is there: for ranges that move with the clock. */
export function useRead<T>(path: string | null, args: Args = {}, keep = false): Read<T> {
  const key = path === null ? null : path + JSON.stringify(args);
  const [state, setState] = useState<{ key: string | null; data: T | null; error: Refused | null }>({ key: null, data: null, error: null });
  const asked = useRef({ path, args });
  asked.current = { path, args };
  const reads = useRef<() => Promise<void>>(nothing);
  useEffect(() => {
    const { path: from, args: with_ } = asked.current;
    if (key === null || from === null) return;
    const stop = new AbortController();
    reads.current = oneAtATime(async () => {
      try {
        const data = await get<T>(from, with_, stop.signal);
        if (!stop.signal.aborted) setState({ key, data, error: null });
      } catch (error) {
        if (!stop.signal.aborted)
          setState((was) => ({ key, data: was.key === key ? was.data : null, error: asRefused(error) }));
      }
    });
    void reads.current();
    return () => {
      reads.current = nothing;
      stop.abort();
    };
  }, [key]);
  const anew = useCallback(() => reads.current(), []);
  const again = useCallback(() => void anew(), [anew]);
  const fresh = state.key === key;
  const kept = fresh || (keep && path !== null && state.key !== null && state.key.startsWith(`${path}{`));
  return { data: kept ? state.data : null, error: fresh ? state.error : null, loading: key !== null && !fresh, again, anew };
}

export interface Listed<T> {
  items: T[];
  error: Refused | null;
  loading: boolean;
  more: boolean;
  next: () => void;
  again: () => void;
  anew: () => Promise<void>;
}

/** A list that grows page by page. `again` reads what is shown, or the newest 500 of it. */
export function usePages<T>(path: string | null, args: Args = {}, limit = 100): Listed<T> {
  const key = path === null ? null : path + JSON.stringify(args);
  const [state, setState] = useState<{ key: string | null; items: T[]; cursor: string | null; error: Refused | null }>({
    key: null, items: [], cursor: null, error: null,
  });
  const [busy, setBusy] = useState(false);
  const reads = useRef<() => Promise<void>>(nothing);
  const now = useRef({ path, args, key, shown: 0, cursor: null as string | null });
  now.current = { path, args, key, shown: state.key === key ? state.items.length : 0, cursor: state.cursor };
  useEffect(() => {
    const { path: from, args: with_ } = now.current;
    if (key === null || from === null) return;
    const stop = new AbortController();
    let walked = false;
    /** A filter without an index looks at some thousand rows at a time: goes on until there is something to show. */
    const walk = async (first: Paged<T>): Promise<void> => {
      let found = first.items.length;
      for (let at = first; at.scanned_until && at.next_cursor !== null && found < limit; found += at.items.length) {
        const cursor = at.next_cursor;
        const page = await get<Paged<T>>(from, { ...with_, limit, cursor }, stop.signal);
        if (stop.signal.aborted) return;
        setState((was) => (was.cursor === cursor ? { ...was, items: [...was.items, ...page.items], cursor: page.next_cursor } : was));
        at = page;
      }
    };
    reads.current = oneAtATime(async () => {
      try {
        const { shown } = now.current;
        const page = await get<Paged<T>>(from, { ...with_, limit: Math.min(MOST, Math.max(limit, shown)) }, stop.signal);
        if (stop.signal.aborted) return;
        setState((was) => ({ key, error: null, ...(was.key === key ? joined(was, page) : { items: page.items, cursor: page.next_cursor }) }));
        if (!walked) await walk(page);
        walked = true;
      } catch (error) {
        if (!stop.signal.aborted)
          setState((was) => ({ ...(was.key === key ? was : { items: [], cursor: null }), key, error: asRefused(error) }));
      }
    });
    void reads.current();
    return () => {
      reads.current = nothing;
      stop.abort();
    };
  }, [key, limit]);
  const next = useCallback(() => {
    const { path: from, args: with_, key: of, cursor } = now.current;
    if (busy || from === null || cursor === null) return;
    setBusy(true);
    get<Paged<T>>(from, { ...with_, limit, cursor })
      .then(
        // the list may have been read again meanwhile, and go on from elsewhere
        (page) => setState((was) => (was.key === of && was.cursor === cursor ? { ...was, items: [...was.items, ...page.items], cursor: page.next_cursor } : was)),
        (error: unknown) => setState((was) => (was.key === of ? { ...was, error: asRefused(error) } : was)),
      )
      .finally(() => setBusy(false));
  }, [busy, limit]);
  const anew = useCallback(() => reads.current(), []);
  const again = useCallback(() => void anew(), [anew]);
  const fresh = state.key === key;
  return {
    items: fresh ? state.items : [], error: fresh ? state.error : null,
    // nothing yet, but not everything has been looked at
    loading: key !== null && (!fresh || (state.items.length === 0 && state.cursor !== null && state.error === null)),
    more: fresh && state.cursor !== null, next, again, anew,
  };
}

/** What a subject says now and whenever it changes; `ended` when the server sends no more of it. */
export function useLive<T>(subject: string | null, args: Record<string, Json> = {}): { data: T | null; ended: string | null } {
  const key = subject === null ? null : subject + JSON.stringify(args);
  const [state, setState] = useState<{ key: string | null; data: T | null; ended: string | null }>({ key: null, data: null, ended: null });
  const asked = useRef({ subject, args });
  asked.current = { subject, args };
  useEffect(() => {
    if (key === null || asked.current.subject === null) return;
    return live.watch(asked.current.subject, asked.current.args, {
      push: (pushed: Pushed) => setState({ key, data: pushed.data as T, ended: null }),
      end: (_code, message) => setState((was) => ({ key, data: was.key === key ? was.data : null, ended: message })),
    });
  }, [key]);
  return state.key === key ? state : { data: null, ended: null };
}

/** Calls when a subject changes: for lists, which are read again. Where the server has no such subject, every `poll`
    milliseconds while the page is seen. */
export function useChange(subject: string | null, args: Record<string, Json>, changed: () => void, poll = 4000): void {
  const key = subject === null ? null : subject + JSON.stringify(args);
  const last = useRef({ changed, args });
  last.current = { changed, args };
  const [polls, setPolls] = useState<string | null>(null);
  useEffect(() => {
    if (subject === null) return;
    return watchChange(live, subject, last.current.args, { changed: () => last.current.changed(), end: () => setPolls(key) });
  }, [subject, key]);
  useEffect(() => {
    if (polls === null || polls !== key) return;
    const timer = setInterval(() => document.hidden || last.current.changed(), poll);
    return () => clearInterval(timer);
  }, [polls, key, poll]);
}

/** Calls for whatever the list may not show yet. What is pushed first was looked at after the list was asked for, so that something
    may have changed in between: the list is read once more. What others on the page were pushed before is older than the list. */
export function watchChange(
  from: Pick<Live, "watch">, subject: string, args: Record<string, Json>, told: { changed: () => void; end: () => void },
): () => void {
  let before = true;
  const stop = from.watch(subject, args, { push: () => before || told.changed(), end: told.end });
  before = false;
  return stop;
}

/** Calls every so many milliseconds while the page is seen: for what nobody tells of. */
export function useEvery(call: () => void, every: number): void {
  const last = useRef(call);
  last.current = call;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || last.current(), every);
    return () => clearInterval(timer);
  }, [every]);
}

/** `call`, at once while changes are few and then at most every `every` milliseconds, more rarely where its reads take long: lists
    must not be read for each of a thousand changes. */
export function useCalm(call: () => void | Promise<void>, every = 250): () => void {
  const last = useRef(call);
  last.current = call;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useMemo(() => {
    const calm = new Calm(every);
    return () => {
      clearTimeout(timer.current);
      const go = async (): Promise<void> => {
        const began = Date.now();
        calm.take(began);
        await last.current();
        calm.took(Date.now() - began);
      };
      const wait = calm.wait(Date.now());
      // two subjects often tell of one change in one breath: the second finds the turn still to come
      timer.current = setTimeout(() => void go(), Math.max(wait, TOGETHER));
    };
  }, [every]);
}

const TOGETHER = 5;
/** Rows of one page, as the server allows. */
const MOST = 500;
const nothing = (): Promise<void> => Promise.resolve();

export function asRefused(error: unknown): Refused {
  return error instanceof Refused ? error : new Refused(0, "ERROR", String(error), "", null);
}
