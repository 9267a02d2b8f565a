import type { ReactNode } from "react";

import { asRefused } from "../base/query";
import { store, useStore } from "../base/store";
import { clean, shown as cleaned } from "../logic/text";

interface Toast {
  id: number;
  text: ReactNode;
  bad: boolean;
}
const shown = store<Toast[]>([]);
let last = 0;

export function toast(text: ReactNode, bad = false): void {
  const id = ++last;
  shown.set([...shown.get().slice(-3), { id, text, bad }]);
  // what went wrong stays until it is read
  if (!bad) setTimeout(() => forget(id), 6000);
}

function forget(id: number): void {
  shown.set(shown.get().filter((one) => one.id !== id));
}

/** Does something and says that it is done, or what the server refused. Undefined if it was refused. */
export async function told<T>(deed: () => Promise<T>, done: string | ((answer: T) => string)): Promise<T | true | undefined> {
  try {
    const answer = await deed();
    toast(typeof done === "string" ? done : done(answer));
    return answer ?? true;
  } catch (error) {
    const refused = asRefused(error);
    toast(<>{clean(refused.message)} <span className="quiet">{clean(refused.code)}{refused.request ? clean(` · ${refused.request}`) : ""}</span></>, true);
    return undefined;
  }
}

/** Where they appear: once, in the frame. */
export function Toasts() {
  const all = useStore(shown);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {all.map((one) => (
        <div key={one.id} className={one.bad ? "toast tone-bad" : "toast tone-ok"}>
          <span>{cleaned(one.text)}</span>
          <button type="button" className="plain" aria-label="Dismiss" onClick={() => forget(one.id)}>✕</button>
        </div>
      ))}
    </div>
  );
}
