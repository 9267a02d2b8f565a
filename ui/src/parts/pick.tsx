import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

/** A box to type in and what was found below it. Arrow keys choose, Enter takes. */
export function Pick<T>({ label, hint, list, text, type, found, id, choose, children }: {
  label: string; hint: string; list: string; text: string; type: (text: string) => void; found: readonly T[]; id: (one: T) => string; choose: (one: T) => void; children: (one: T) => ReactNode;
}) {
  const [at, setAt] = useState(0);
  const base = useId();
  const rows = useRef<HTMLUListElement>(null);
  useEffect(() => setAt(0), [text]);
  const here = Math.min(at, Math.max(0, found.length - 1));
  const go = (to: number): void => {
    const next = Math.max(0, Math.min(found.length - 1, to));
    setAt(next);
    rows.current?.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const key = (event: KeyboardEvent): void => {
    const one = found[here];
    if (event.key === "ArrowDown") go(here + 1);
    else if (event.key === "ArrowUp") go(here - 1);
    else if (event.key === "Enter" && one !== undefined) choose(one);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input data-first className="search-box" type="text" autoComplete="off" value={text} placeholder={hint} aria-label={label}
        role="combobox" aria-expanded="true" aria-controls={base} aria-activedescendant={found.length ? `${base}-${here}` : undefined}
        onChange={(event) => type(event.target.value)} onKeyDown={key} />
      <ul className="found" role="listbox" id={base} aria-label={list} ref={rows}>
        {found.map((one, n) => (
          <li key={id(one)} id={`${base}-${n}`} role="option" aria-selected={n === here} onClick={() => choose(one)} onPointerMove={() => setAt(n)}>{children(one)}</li>
        ))}
      </ul>
    </>
  );
}
