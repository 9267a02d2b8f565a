// pg-boss under the benchmark's protocol.

import { batches, databaseUrl, main, paced, require, stamp, timed } from "./protocol.mjs";

const { PgBoss } = require("pg-boss");

const WORKERS = 2;
const BATCH = 5000;
const QUEUES = ["noop", "stamp"];

async function withBoss(use, options = {}) {
  const boss = new PgBoss({ connectionString: databaseUrl, supervise: false, schedule: false, ...options });
  boss.on("error", console.error);
  await boss.start();
  try {
    await use(boss);
  } finally {
    await boss.stop({ graceful: false, close: true });
  }
}

async function each(jobs, handler) {
  for (const job of jobs) await handler(job);
}

await main({
  setup: () =>
    withBoss(async (boss) => {
      for (const queue of QUEUES) await boss.createQueue(queue, { notify: true });
    }),

  "enqueue-one": (count) =>
    withBoss(
      (boss) =>
        timed(async () => {
          for (let n = 0; n < count; n++) await boss.send("noop", { n });
        }),
      { max: 1 },
    ),

  "enqueue-many": (count) =>
    withBoss(
      (boss) =>
        timed(async () => {
          for (const numbers of batches(count)) await boss.insert("noop", numbers.map((n) => ({ data: { n } })));
        }),
      { max: 1 },
    ),

  produce: (count, rate) =>
    withBoss((boss) => paced(count, rate, (sent) => boss.send("stamp", { sent })), { max: 1 }),

  work: () =>
    withBoss(
      async (boss) => {
        const stopped = new Promise((resolve) => process.once("SIGTERM", resolve));
        const options = { batchSize: BATCH, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5, localConcurrency: WORKERS };
        await boss.work("noop", options, (jobs) => each(jobs, async () => {}));
        await boss.work("stamp", options, (jobs) => each(jobs, async (job) => stamp(job.data.sent)));
        await stopped;
      },
      { useListenNotify: true },
    ),
});
