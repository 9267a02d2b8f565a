/** The address is the state: paths name pages, the query holds filters, tabs and ranges. A link can be shared. */

import { useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent } from "react";

import { shown } from "../logic/text";

const ears = new Set<() => void>();
const here = (): string => location.pathname + location.search;
const tell = (): void => {
  for (const hear of [...ears]) hear();
};
addEventListener("popstate", tell);

export function go(to: string, how: "push" | "replace" = "push"): void {
  if (to === here()) return;
  if (how === "push") history.pushState(null, "", to);
  else history.replaceState(null, "", to);
  tell();
}

function listen(hear: () => void): () => void {
  ears.add(hear);
  return () => ears.delete(hear);
}

export function useHere(): URL {
  return new URL(useSyncExternalStore(listen, here), location.origin);
}

export interface Match {
  [name: string]: string;
}

/** Whether a path fits a pattern such as `/tasks/:id`; the parts that the pattern names. */
export function match(pattern: string, path: string): Match | null {
  const wanted = pattern.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const found: Match = {};
  for (const [n, one] of wanted.entries()) {
    const text = given[n] ?? "";
    if (one.startsWith(":")) {
      try {
        found[one.slice(1)] = decodeURIComponent(text);
      } catch {
        return null;
      }
    } else if (one !== text) return null;
  }
  return found;
}

/** One name of the query. Setting it to its default takes it out of the address. */
export function useParam(name: string, fallback = ""): [string, (value: string) => void] {
  const url = useHere();
  return [url.searchParams.get(name) ?? fallback, (value) => setParams({ [name]: value === fallback ? null : value })];
}

/** Changes names of the query and nothing else. Choosing a filter is not a step back, so it replaces. */
export function setParams(change: Record<string, string | string[] | null>, how: "push" | "replace" = "replace"): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(change)) {
    url.searchParams.delete(name);
    for (const one of value === null ? [] : Array.isArray(value) ? value : [value]) url.searchParams.append(name, one);
  }
  go(url.pathname + url.search, how);
}

/** A link inside, with its text cleaned; a click with a modifier stays the browser's. */
export function Link({ to, onClick, children, ...rest }: { to: string } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href">) {
  const click = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
    scrollTo(0, 0);
  };
  return <a href={to} onClick={click} {...rest}>{shown(children)}</a>;
}
