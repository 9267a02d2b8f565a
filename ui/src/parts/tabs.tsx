import { useEffect, useId, useRef, type KeyboardEvent, type ReactNode } from "react";

import { useParam } from "../base/router";

export interface Tab {
  name: string;
  label: string;
  hint?: ReactNode;
  show: () => ReactNode;
}

/** Tabs whose choice is in the address (`?tab=`). Arrow keys go from one to the next. */
export function Tabs({ label, tabs, param = "tab" }: { label: string; tabs: Tab[]; param?: string }) {
  const fallback = tabs[0]?.name ?? "";
  const [chosen, choose] = useParam(param, fallback);
  const base = useId();
  const now = tabs.find((one) => one.name === chosen) ?? tabs[0];
  const list = useRef<HTMLDivElement>(null);
  const wide = tabs.map((one) => String(one.hint ?? "")).join(" ");
  // where there is little room they scroll sideways: the one that is open is in sight
  useEffect(() => {
    const box = list.current?.getBoundingClientRect();
    const tab = list.current?.querySelector('[aria-selected="true"]')?.getBoundingClientRect();
    if (!list.current || !box || !tab) return;
    if (tab.left < box.left || tab.right > box.right) list.current.scrollLeft += tab.left - box.left - (box.width - tab.width) / 2;
  }, [now?.name, wide]);
  const key = (event: KeyboardEvent<HTMLDivElement>): void => {
    const at = tabs.findIndex((one) => one.name === now?.name);
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
    const step = steps[event.key];
    if (step === undefined) return;
    const next = tabs[(step + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    choose(next.name);
    document.getElementById(`${base}-${next.name}`)?.focus();
  };
  return (
    <div className="tabs">
      <div role="tablist" ref={list} aria-label={label} onKeyDown={key}>
        {tabs.map((one) => (
          <button key={one.name} type="button" role="tab" id={`${base}-${one.name}`} aria-selected={one === now}
            aria-controls={`${base}-panel`} tabIndex={one === now ? 0 : -1} onClick={() => choose(one.name)}>
            {one.label}{one.hint !== undefined && <span className="tab-hint">{one.hint}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${base}-panel`} aria-labelledby={now ? `${base}-${now.name}` : undefined}>{now?.show()}</div>
    </div>
  );
}
