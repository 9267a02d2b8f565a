import { useState } from "react";

import { post, type Json } from "../base/api";
import { go } from "../base/router";
import { may, useMe } from "../base/session";
import type { Schema } from "../logic/schema";
import { FormDialog } from "../parts/form_dialog";
import { Page } from "../parts/page";
import { TaskList } from "./task_list";

const NEW: Schema = {
  required: ["kind"],
  properties: {
    kind: { type: "string", description: "The name of a handler, as its worker declares it." },
    payload: { type: "object", default: {}, description: "The handler's arguments." },
    queue: { type: "string", default: "default" },
    priority: { type: "integer", minimum: 0, maximum: 100, default: 50, description: "0 (last) to 100 (first)." },
    delay: { type: "number", minimum: 0, description: "Seconds from now; empty: at once." },
    tags: { type: "array", items: { type: "string" }, description: "With commas between them." },
    check: { type: "boolean", default: true, title: "Check that a worker serves this kind now" },
  },
};

export default function Tasks() {
  const [making, setMaking] = useState(false);
  const me = useMe();
  const enqueue = async (value: Record<string, Json>): Promise<void> => go(`/tasks/${(await post<{ id: string }>("/v1/tasks", value)).id}`);
  return (
    <Page title="Tasks" actions={may(me, "task.create") && <button type="button" className="primary" onClick={() => setMaking(true)}>Enqueue…</button>}>
      <TaskList />
      {making && <FormDialog title="Enqueue a task" schema={NEW} verb="Enqueue" submit={enqueue} close={() => setMaking(false)} />}
    </Page>
  );
}
