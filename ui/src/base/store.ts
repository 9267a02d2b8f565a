import { useSyncExternalStore } from "react";

/** A value that components follow: the theme, the zone, who is logged in. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  listen(hear: () => void): () => void;
}

export function store<T>(first: T): Store<T> {
  let now = first;
  const ears = new Set<() => void>();
  return {
    get: () => now,
    set(value) {
      if (Object.is(value, now)) return;
      now = value;
      for (const hear of [...ears]) hear();
    },
    listen(hear) {
      ears.add(hear);
      return () => ears.delete(hear);
    },
  };
}

/** A store that outlives the page, in the browser's own storage. A browser that keeps nothing is no mistake. */
export function kept<T extends string>(key: string, first: T, fits: (text: string) => boolean): Store<T> {
  let found: string | null = null;
  try {
    found = localStorage.getItem(key);
  } catch {
    found = null;
  }
  const made = store<T>(found !== null && fits(found) ? (found as T) : first);
  made.listen(() => {
    try {
      localStorage.setItem(key, made.get());
    } catch {
      /* private windows may keep nothing */
    }
  });
  return made;
}

export function useStore<T>(of: Store<T>): T {
  return useSyncExternalStore(of.listen, of.get);
}
