/** Where to look for what was typed, and which page shows it. */

import type { Args, Paged } from "../base/api";

export interface Found {
  type: string;
  id: string;
  name: string;
  state?: string | null;
}
type Get = <T>(path: string, args?: Args) => Promise<T>;

/** Asks the server's search; `/v1/search` answers ids and names, newest first. */
export async function find(text: string, get: Get): Promise<Found[]> {
  return (await get<Paged<Found>>("/v1/search", { q: text })).items;
}

export function target(one: Found): string {
  const id = encodeURIComponent(one.id);
  switch (one.type) {
    case "page":
      return one.id;
    case "task":
      return `/tasks/${id}`;
    case "run":
      return `/runs/${id}`;
    case "job":
      return `/jobs/${id}`;
    case "dag":
      return `/dags/${id}`;
    case "flow":
      return `/flows/${id}`;
    case "workflow":
      return `/workflows/${encodeURIComponent(one.name)}`;
    case "queue":
      return `/queues/${encodeURIComponent(one.name)}`;
    case "node":
      return `/workers/${id}`;
    case "kind":
      return `/tasks?kind=${encodeURIComponent(one.name)}`;
    default:
      return "/";
  }
}
