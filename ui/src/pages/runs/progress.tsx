import type { Run } from "./model";

/** How much of a run is done: a bar, and the numbers for who cannot see it. A workflow does not know how long it is. */
export function Progress({ run }: { run: Pick<Run, "nodes" | "nodes_ended" | "nodes_failed" | "kind"> }) {
  if (run.nodes === 0) return <span className="quiet">–</span>;
  const part = (n: number): string => `${(100 * n) / run.nodes}%`;
  const good = Math.max(0, run.nodes_ended - run.nodes_failed);
  return (
    <span className="progress" title={`${run.nodes_ended} of ${run.nodes} ended, ${run.nodes_failed} failed`}>
      <span className="progress-bar" aria-hidden="true">
        <span className="fill-ok" style={{ width: part(good) }} />
        <span className="fill-bad" style={{ width: part(run.nodes_failed) }} />
      </span>
      <span className="progress-text">{run.nodes_ended}/{run.nodes}</span>
    </span>
  );
}
