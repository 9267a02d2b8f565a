/** Which rows of a long list are in sight: only those are drawn. Rows have one height. */

import { useEffect, useState, type RefObject } from "react";

export interface Range {
  first: number;
  last: number;
}

/** The rows to draw for a view of `height` from `top`, with some more on each side. `last` is exclusive. */
export function range(count: number, row: number, top: number, height: number, more = 12): Range {
  const first = Math.max(0, Math.min(count, Math.floor(top / row) - more));
  return { first, last: Math.max(first, Math.min(count, Math.ceil((top + height) / row) + more)) };
}

/** Follows the scrolling of `inside`, or of the window if the element does not scroll itself. */
export function useWindowed(count: number, row: number, list: RefObject<HTMLElement | null>, own: boolean): Range {
  const [seen, setSeen] = useState<Range>({ first: 0, last: Math.min(count, 60) });
  useEffect(() => {
    const look = (): void => {
      const element = list.current;
      if (!element) return;
      const top = own ? element.scrollTop : -element.getBoundingClientRect().top;
      const next = range(count, row, Math.max(0, top), own ? element.clientHeight : innerHeight);
      setSeen((was) => (was.first === next.first && was.last === next.last ? was : next));
    };
    look();
    const target: EventTarget = own && list.current ? list.current : window;
    target.addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      target.removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [count, row, list, own]);
  return { first: Math.min(seen.first, count), last: Math.min(Math.max(seen.last, Math.min(count, 30)), count) };
}
