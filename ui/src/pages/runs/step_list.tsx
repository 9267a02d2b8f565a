import { useMemo } from "react";

import { useHere } from "../../base/router";
import { rows, title, type Row, type Step } from "../../logic/steps";
import { line } from "../../logic/text";
import { StateBadge } from "../../parts/state";
import { Table, type Column } from "../../parts/table";
import { Time, Took } from "../../parts/time";

/** The steps as a tree; only what is in sight is drawn, however many there are. */
export function StepList({ steps, run, turned, turn }: { steps: Step[]; run: string; turned: ReadonlySet<string>; turn: (id: string) => void }) {
  const lines = useMemo(() => rows(steps, run, turned), [steps, run, turned]);
  const folds = lines.some((row) => row.children > 0);
  const url = useHere();
  const to = (row: Row): string => {
    const there = new URL(url);
    there.searchParams.set("step", row.step.id);
    return there.pathname + there.search;
  };
  const columns: Column<Row>[] = [
    {
      name: "step", head: "Step", wide: true,
      cell: (row) => (
        <span style={{ paddingLeft: Math.min(row.depth, 10) * 14 + (folds && row.children === 0 ? 24 : 0) }}>
          {row.children > 0 && (
            <button type="button" className="fold" aria-expanded={!row.closed} aria-label={`${row.children} inside ${line(title(row.step), 80)}`} onClick={() => turn(row.step.id)}>
              {row.closed ? "▸" : "▾"}
            </button>
          )}
          {line(title(row.step), 120)}
          {row.children > 0 && <span className="quiet"> · {row.step.parts_ended || 0}/{row.step.parts || row.children}</span>}
        </span>
      ),
    },
    { name: "state", head: "State", cell: (row) => <StateBadge state={row.step.state} /> },
    { name: "attempt", head: "Attempt", right: true, less: true, cell: (row) => row.step.attempt || "" },
    { name: "started", head: "Began", less: true, cell: (row) => <Time at={row.step.started_at} /> },
    { name: "took", head: "Took", right: true, cell: (row) => <Took from={row.step.started_at} to={row.step.finished_at} /> },
    { name: "error", head: "Error", less: true, cell: (row) => (row.step.error ? <span className="quiet">{line(row.step.error.message ?? row.step.error.type ?? "", 48)}</span> : "") },
  ];
  return <Table label="Steps" rows={lines} id={(row) => row.step.id} columns={columns} to={to} />;
}
