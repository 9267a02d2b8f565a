/** Keys that work everywhere: `/` search, `g` and a letter, `?` help. Not while somebody types. */

import { useEffect } from "react";

import { go } from "../base/router";
import { NAV } from "../routes";

const PATIENCE = 1500;

function typing(event: KeyboardEvent): boolean {
  const target = event.target;
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function useKeys(search: () => void, help: () => void): void {
  useEffect(() => {
    let since = 0;
    const hear = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || document.querySelector("dialog[open]")) return;
      const going = event.timeStamp - since < PATIENCE && since > 0;
      since = 0;
      if (going) {
        const found = NAV.find((one) => one.key === event.key);
        if (!found) return;
        event.preventDefault();
        go(found.to);
      } else if (event.key === "g") since = event.timeStamp;
      else if (event.key === "/") {
        event.preventDefault();
        search();
      } else if (event.key === "?") {
        event.preventDefault();
        help();
      }
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, [search, help]);
}
