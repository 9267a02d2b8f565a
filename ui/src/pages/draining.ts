import { act } from "../base/api";
import { may, type Me } from "../base/session";
import type { Node } from "../base/shapes";
import { confirmed } from "../parts/dialog";

/** Whether a node runs tasks and may be told to stop that. One that serves every org is the operator's. */
export function drains(me: Me | null, node: Node): boolean {
  const mine = node.shared ? may(me, "node.operate") : may(me, "node.drain");
  return mine && node.concurrency > 0 && (node.status === "active" || node.status === "starting");
}

export function drain(node: Node, after: () => void): void {
  const name = `${node.hostname}:${node.pid}`;
  void confirmed(
    { title: `Drain ${name}?`, verb: "Drain it", danger: true, text: "It takes no more tasks, ends those it has, and stops. Others take over what comes. It cannot be called back: start another one." },
    () => act(`/v1/nodes/${node.id}/drain`), `${name} drains`).then(after);
}
