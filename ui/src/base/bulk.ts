/** Many small deeds, a few at a time, with one answer at the end. */

import { asRefused } from "./query";

export interface Done {
  done: number;
  refused: { id: string; message: string }[];
}

export async function each(ids: Iterable<string>, deed: (id: string) => Promise<unknown>, at_once = 6): Promise<Done> {
  const waiting = [...ids];
  const told: Done = { done: 0, refused: [] };
  const one = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await deed(id);
        told.done += 1;
      } catch (error) {
        told.refused.push({ id, message: asRefused(error).message });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(at_once, waiting.length) }, one));
  return told;
}

/** `3 done`, `2 done, 1 refused: it has ended`. */
export function summary(verb: string, told: Done): string {
  const first = told.refused[0];
  return `${told.done} ${verb}${first ? `, ${told.refused.length} refused: ${first.message}` : ""}`;
}
