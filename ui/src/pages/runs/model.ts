/** A run as the server shows it, and its steps as they come in. */

import { useEffect, useRef, useState } from "react";

import { get, type Json, type Paged, type Refused } from "../../base/api";
import { asRefused } from "../../base/query";
import type { Kind } from "../../logic/actions";
import type { Step } from "../../logic/steps";

export interface Run {
  id: string;
  kind: Kind;
  name: string;
  definition_id: string | null;
  version: string | null;
  state: string;
  params: Record<string, Json>;
  config: Record<string, Json>;
  output: Json;
  error: { type?: string; message?: string; [key: string]: Json | undefined } | null;
  idempotency_key: string | null;
  trigger: string;
  actor: string | null;
  parent_run_id: string | null;
  logical_date: string;
  tags: string[];
  correlation_id: string | null;
  nodes: number;
  nodes_ended: number;
  nodes_failed: number;
  reruns: number;
  deadline_at: string | null;
  /** Since when it is known to stand still: nothing is running and nothing is awaited. */
  stalled_at: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

/** Whether a push left out what is large: the server spares input, output and error of more than 100 kB. One that has none
    of them looks the same, and is read once more for nothing. */
export function bare(pushed: Run | null): boolean {
  return pushed !== null && pushed.output === null && pushed.error === null && Object.keys(pushed.params).length === 0;
}

/** The run as it is now: what was pushed, and what the push left out from what was read. Null until that is there: a form
    filled with nothing would be sent. */
export function whole(pushed: Run | null, read: Run | null): Run | null {
  if (pushed === null || !bare(pushed)) return pushed ?? read;
  return read && { ...pushed, params: read.params, output: read.output, error: read.error };
}

export interface Steps {
  steps: Step[];
  /** There are others that were not read: a run may have a hundred thousand. */
  more: boolean;
  error: Refused | null;
  loading: boolean;
}

const PAGE = 500;
const MOST = 10_000;

/** Every step, up to a bound; read again when `changed` is another number. What is shown stays meanwhile. */
export function useSteps(id: string, changed: number): Steps {
  const [found, setFound] = useState<Steps & { id: string }>({ id, steps: [], more: false, error: null, loading: true });
  const busy = useRef(false);
  const again = useRef(false);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (busy.current) {
      again.current = true;
      return;
    }
    busy.current = true;
    void all(id)
      .then(
        ({ steps, more }) => setFound({ id, steps, more, error: null, loading: false }),
        (error: unknown) => setFound((was) => ({ ...(was.id === id ? was : { ...was, steps: [], more: false }), id, error: asRefused(error), loading: false })),
      )
      .finally(() => {
        busy.current = false;
        if (!again.current) return;
        again.current = false;
        setTurn((n) => n + 1);
      });
  }, [id, changed, turn]);
  return found.id === id ? found : { steps: [], more: false, error: null, loading: true };
}

async function all(id: string): Promise<{ steps: Step[]; more: boolean }> {
  const steps: Step[] = [];
  let cursor: string | null = null;
  do {
    const page: Paged<Step> = await get<Paged<Step>>(`/v1/runs/${id}/steps`, { limit: PAGE, cursor });
    steps.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && steps.length < MOST);
  return { steps, more: cursor !== null };
}
