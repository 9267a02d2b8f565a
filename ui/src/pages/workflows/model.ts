import type { Schema } from "../../logic/schema";

export interface Workflow {
  name: string;
  version: string;
  queue: string;
  /** The only ones it takes; null: any. */
  signals: string[] | null;
  declared_at: string;
  schema?: Schema | null;
}
