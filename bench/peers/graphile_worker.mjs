// graphile-worker under the benchmark's protocol.

import { batches, databaseUrl, main, paced, require, stamp, timed } from "./protocol.mjs";

const { Logger, makeWorkerUtils, run } = require("graphile-worker");

const CONCURRENCY = 24;
const LOCAL_QUEUE = 500;
// What completes while a batch is under way goes into the next; waiting longer only delays the last.
const COMPLETE_BATCH_DELAY = 0;

// The default logger prints a line per job.
const logger = new Logger(() => () => {});

const preset = {
  worker: {
    connectionString: databaseUrl,
    concurrentJobs: CONCURRENCY,
    maxPoolSize: CONCURRENCY + 1,
    localQueue: { size: LOCAL_QUEUE },
    completeJobBatchDelay: COMPLETE_BATCH_DELAY,
    failJobBatchDelay: COMPLETE_BATCH_DELAY,
    logger,
  },
};

async function withQueue(use) {
  const utils = await makeWorkerUtils({ preset: { worker: { connectionString: databaseUrl, maxPoolSize: 1, logger } } });
  try {
    await use(utils);
  } finally {
    await utils.release();
  }
}

await main({
  setup: () => withQueue((utils) => utils.migrate()),

  "enqueue-one": (count) =>
    withQueue((utils) =>
      timed(async () => {
        for (let n = 0; n < count; n++) await utils.addJob("noop", { n });
      }),
    ),

  "enqueue-many": (count) =>
    withQueue((utils) =>
      timed(async () => {
        for (const numbers of batches(count)) {
          await utils.addJobs(numbers.map((n) => ({ identifier: "noop", payload: { n } })));
        }
      }),
    ),

  produce: (count, rate) =>
    withQueue((utils) => paced(count, rate, (sent) => utils.addJob("stamp", { sent }))),

  work: async () => {
    const taskList = {
      noop: async () => {},
      stamp: async ({ sent }) => stamp(sent),
    };
    const runner = await run({ preset, taskList, parsedCronItems: [] });
    await runner.promise;
  },
});
