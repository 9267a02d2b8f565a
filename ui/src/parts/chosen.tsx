import type { ReactNode } from "react";

/** What can be done to the rows that were chosen. */
export function Chosen({ count, clear, children }: { count: number; clear: () => void; children: ReactNode }) {
  return (
    <div className="chosen" role="region" aria-label="Chosen rows">
      <strong>{count} chosen</strong>
      {children}
      <button type="button" className="plain" onClick={clear}>Choose none</button>
    </div>
  );
}
