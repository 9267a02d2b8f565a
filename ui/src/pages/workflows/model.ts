import type { Schema } from "../../logic/schema";

export interface Workflow {
  name: string;
  version: string;
  queue: string;
  signals: string[];
  declared_at: string;
  schema?: Schema | null;
}
