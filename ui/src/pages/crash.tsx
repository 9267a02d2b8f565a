import { get, post } from "../base/api";
import { useRead } from "../base/query";
import { useMe, may } from "../base/session";
import { confirm } from "../parts/dialog";
import { toast, told } from "../parts/toast";

interface Crashed {
  message?: string;
  pid?: number;
}

/** In `weft dev` only: kills a worker of the demo, to show that nothing is lost. */
export function Crash() {
  const me = useMe();
  const offered = useRead<{ crash: boolean }>("/v1/demo");
  if (!offered.data?.crash || !may(me, "writer")) return null;
  const crash = async (): Promise<void> => {
    const yes = await confirm({
      title: "Crash a worker?", verb: "Crash it", danger: true,
      text: "A worker of the demo is killed in the middle of its work (SIGKILL) and a new one is started. Its tasks come back by themselves: watch them on this page.",
    });
    if (!yes) return;
    const before = await get<{ items: unknown[] }>("/v1/nodes").catch(() => null);
    const done = await told(() => post<Crashed>("/v1/demo/crash"), (one) => one.message ?? `The worker with pid ${one.pid} was killed.`);
    if (done && before) toast("Its node is marked dead in a few seconds; its tasks run again elsewhere.");
  };
  return <button type="button" className="danger" onClick={() => void crash()}>Crash a worker</button>;
}
