import { useMemo } from "react";

import { useRead } from "../../base/query";
import { useParam } from "../../base/router";
import { zone } from "../../base/settings";
import { useStore } from "../../base/store";
import { difference, folded, lines } from "../../logic/difference";
import { clean } from "../../logic/text";
import { stamp } from "../../logic/time";
import { Empty } from "../../parts/empty";
import { Failure, Loading } from "../../parts/page";
import type { Written } from "./model";

interface Version {
  version: string;
  number: number;
  created_at: string;
}

/** The versions, and what changed from one to another. Both are in the address. */
export function Versions({ id, active }: { id: string; active: number }) {
  const read = useRead<{ items: Version[] }>(`/v1/dags/${id}/versions`);
  const shown = useStore(zone);
  const [right, setRight] = useParam("to", String(active));
  const [left, setLeft] = useParam("from", String(Math.max(1, (Number(right) || active) - 1)));
  if (read.error) return <Failure of={read.error} again={read.again} />;
  if (read.data === null) return <Loading />;
  const versions = read.data.items;
  if (versions.length < 2) return <Empty title="There is one version">Another one is made when the DAG is saved with other content.</Empty>;
  const choice = (label: string, value: string, set: (to: string) => void) => (
    <label className="inline">{label}{" "}
      <select value={value} onChange={(event) => set(event.target.value)}>
        {versions.map((one) => (
          <option key={one.number} value={one.number}>{one.number}{one.number === active ? " (active)" : ""} · {stamp(new Date(one.created_at), shown).slice(0, 16)}</option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <div className="filters">{choice("From", left, setLeft)} {choice("to", right, setRight)}</div>
      <Difference id={id} left={Number(left)} right={Number(right)} />
    </>
  );
}

function Difference({ id, left, right }: { id: string; left: number; right: number }) {
  const before = useRead<Written>(`/v1/dags/${id}/definition`, { number: left });
  const after = useRead<Written>(`/v1/dags/${id}/definition`, { number: right });
  const shown = useMemo(
    () => (before.data && after.data ? folded(difference(lines(plain(before.data)), lines(plain(after.data)))) : null),
    [before.data, after.data],
  );
  const error = before.error ?? after.error;
  if (error) return <Failure of={error} />;
  if (shown === null) return <Loading />;
  if (shown.every((line) => line === null)) return <Empty title="They are the same" />;
  return (
    <div className="diff" role="group" tabIndex={0} aria-label={`What changed from version ${left} to ${right}`}>
      {shown.map((line, n) => line === null
        ? <span key={n} className="diff-line fold-line">⋯</span>
        : <span key={n} className={`diff-line${line.sign === "+" ? " added" : line.sign === "-" ? " gone" : ""}`}>{line.sign} {clean(line.text)}</span>)}
    </div>
  );
}

/** Tasks by name: one that moved is not another one. Ids are the same in every version. */
function plain(version: Written): unknown {
  const tasks = version.tasks.map((task) => [task.name, { ...task, task_id: undefined }]);
  return { ...version.header, tasks: Object.fromEntries(tasks) as unknown };
}
