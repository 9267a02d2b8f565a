// An agent for AFL in plain Node 20, without packages and without a database. It handles every facet named Greet or Geocode,
// in whatever namespace:   WEFT_SERVER=http://127.0.0.1:8712 WEFT_KEY=weftw_… node examples/afl/agent.mjs
import os from "node:os";
const { WEFT_SERVER = "http://127.0.0.1:8712", WEFT_KEY } = process.env;
const worker = `${os.hostname()}-${process.pid}-${crypto.randomUUID().slice(0, 6)}`;

// By the full name, or by the last part of it. Gets the facet's arguments and the step; returns what fills its returns.
const handlers = {
  "hello.Greet": async ({ name }) => ({ greeting: `Hello from Node, ${name}` }),
  Geocode: async ({ address, country }, step) => {
    await step.log(`looking up ${address}`);
    if (address === "Atlantis") throw new Error("nowhere");
    return { place: { lat: address.length, lon: 0.5, label: `${address}, ${country}` } };
  },
};

async function say(verb, key, body, signal) {
  for (;;) {  // until it is heard; whatever is said here may be said twice
    try {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const answer = await fetch(`${WEFT_SERVER}/v1/task/${verb}`, { method: "POST", headers, body: JSON.stringify(body), signal });
      if (answer.status < 500 && answer.status !== 429) return { ...(await answer.json()), ok: answer.ok };
    } catch (error) { if (signal?.aborted) throw error; }
    await new Promise((wake) => setTimeout(wake, 1000));
  }
}

async function run(task) {
  let { token } = task;
  const step = { id: task.step_id, run: task.run_id, retries: task.attempt - 1, log: (message) => say("log", token, { lines: [{ level: "info", message }] }) };
  const beat = setInterval(async () => { token = (await say("heartbeat", token, {})).token ?? token; }, task.lease_seconds * 250);
  try {
    const handler = handlers[task.kind] ?? handlers[task.kind.split(".").pop()];
    await say("complete", token, { result: await handler(task.payload, step) });
  } catch (error) {
    await say("fail", token, { error: { type: error.name, message: error.message }, retryable: false });
  } finally { clearInterval(beat); }
}

const running = new Set(), draining = new AbortController();
for (const name of ["SIGTERM", "SIGINT"]) process.once(name, () => draining.abort());
const names = Object.keys(handlers), shorts = names.filter((name) => !name.includes("."));
while (!draining.signal.aborted) {
  const claim_id = crypto.randomUUID();  // named in `unanswered` too: a repeat gives back what the first try took
  const asked = { worker, kinds: names, shorts, limit: 10, wait: 5, claim_id, unanswered: [claim_id] };
  const answer = await say("claim", WEFT_KEY, asked, draining.signal).catch(() => ({ ok: true, tasks: [] }));
  if (!answer.ok) { console.error(answer.error.message); process.exit(1); }
  await Promise.all(answer.tasks.map(run));
}
await say("heartbeat", WEFT_KEY, { worker, status: "gone" });
