import { act, get, type Paged } from "../base/api";
import { useRead } from "../base/query";
import { useMe, may } from "../base/session";
import type { TaskRow } from "../base/shapes";
import { confirm } from "../parts/dialog";
import { told } from "../parts/toast";
import { crashed } from "./recovery";

interface Crashed {
  message: string;
  pid: number;
  node_id: string | null;
}
const SHOWN = 6;

/** In `weft dev` only: kills a worker of the demo, to show that nothing is lost. */
export function Crash() {
  const me = useMe();
  const offered = useRead<{ crash: boolean }>("/v1/demo");
  if (!offered.data?.crash || !may(me, "demo.crash")) return null;
  const crash = async (): Promise<void> => {
    const yes = await confirm({
      title: "Crash a worker?", verb: "Crash it", danger: true,
      text: "A worker of the demo is killed in the middle of its work (SIGKILL) and a new one is started. What it ran comes back by itself: it is shown on this page.",
    });
    if (!yes) return;
    // before it is killed: afterwards nobody holds them
    const running = await get<Paged<TaskRow>>("/v1/tasks", { state: ["running"], limit: 100 });
    const done = await told(() => act<Crashed>("/v1/demo/crash"), (one) => one.message);
    if (!done || done === true) return;
    crashed.set({ pid: done.pid, node: done.node_id, tasks: running.items.filter((one) => one.node_id === done.node_id).slice(0, SHOWN).map((one) => one.id) });
  };
  return <button type="button" className="danger" onClick={() => void crash()}>Crash a worker</button>;
}
