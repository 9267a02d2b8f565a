// A worker for Weft in plain Node 20, without packages and without a database:
//   WEFT_SERVER=http://127.0.0.1:8712 WEFT_KEY=weftw_… node examples/worker.mjs
import os from "node:os";
const { WEFT_SERVER = "http://127.0.0.1:8712", WEFT_KEY, WEFT_QUEUES = "" } = process.env;
const worker = `${os.hostname()}-${process.pid}-${crypto.randomUUID().slice(0, 6)}`;
const AT_ONCE = 10, GRACE = 5000;

// A handler gets the payload, and a signal that is aborted when it should stop; what it returns is the result.
const handlers = {
  "conformance.echo": async (payload) => payload,
  "conformance.fail": async ({ message }) => { throw new Error(message); },
  "conformance.sleep": ({ seconds }, signal) => new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000, "slept");
    signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); });
  }),
};

// Says something to the server until it is heard. Whatever is said here may be said twice.
async function say(verb, key, body, signal) {
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const answer = await fetch(`${WEFT_SERVER}/v1/task/${verb}`, { method: "POST", headers, body: JSON.stringify(body), signal });
      if (answer.status < 500 && answer.status !== 429) return { ...(await answer.json()), ok: answer.ok };
    } catch (error) { if (signal?.aborted) throw error; }
    await new Promise((wake) => setTimeout(wake, 1000));
  }
}

async function run(task, stop) {
  let { token } = task;
  const beat = setInterval(async () => {
    const told = await say("heartbeat", token, {}, stop.signal).catch(() => ({ ok: true }));
    if (told.token) token = told.token;
    if (!told.ok) stop.abort("lost");  // 409: somebody else has it now
    else if (told.cancelled) stop.abort(told.reason);
  }, task.lease_seconds * 250);
  try {
    const result = await handlers[task.kind](task.payload, stop.signal);
    await say("complete", token, { result });
  } catch (error) {
    const failed = { error: { type: error?.name ?? "Error", message: String(error?.message ?? error), traceback: error?.stack } };
    if (stop.signal.reason !== "lost") await say("fail", token, stop.signal.aborted ? { outcome: stop.signal.reason } : failed);
  } finally { clearInterval(beat); }
}

const running = new Map(), draining = new AbortController();  // stop → promise
for (const name of ["SIGTERM", "SIGINT"]) process.once(name, () => draining.abort());
while (!draining.signal.aborted) {
  const claim_id = crypto.randomUUID();  // named in `unanswered` too: a repeat gives back what the first try took
  const asked = { worker, kinds: Object.keys(handlers), queues: WEFT_QUEUES.split(",").filter(Boolean), limit: AT_ONCE - running.size, wait: 20, claim_id, unanswered: [claim_id] };
  const answer = await say("claim", WEFT_KEY, asked, draining.signal).catch(() => ({ ok: true, tasks: [] }));
  if (!answer.ok) { console.error(answer.error.message); process.exit(1); }
  for (const task of answer.tasks) { const stop = new AbortController(); running.set(stop, run(task, stop).finally(() => running.delete(stop))); }
  if (running.size >= AT_ONCE) await Promise.race([...running.values(), new Promise((go) => draining.signal.addEventListener("abort", go))]);
}
setTimeout(() => { for (const stop of running.keys()) stop.abort("released"); }, GRACE).unref();  // the rest is given back
await Promise.all(running.values());
await say("heartbeat", WEFT_KEY, { worker, status: "gone" });
