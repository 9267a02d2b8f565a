// The command line that every Node program of a contender answers to (see bench/system.py).

import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

export const ENQUEUE_BATCH = 1000;
export const databaseUrl = process.env.DATABASE_URL;

// The contender's packages live in its own folder, not beside this file.
export const require = createRequire(process.env.BENCH_MODULES);

/** Run the phase that the command line names, with its numbers as arguments. */
export async function main(phases) {
  const [phase, ...numbers] = process.argv.slice(2);
  try {
    await phases[phase](...numbers.map(Number));
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}

/** Do the work and print how long it took. */
export async function timed(work) {
  const start = process.hrtime.bigint();
  await work();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  console.log(JSON.stringify({ seconds }));
}

/** Call `send` with the monotonic clock, `rate` times a second on a fixed schedule. */
export async function paced(count, rate, send) {
  const start = performance.now();
  for (let number = 0; number < count; number++) {
    const wait = start + (number * 1000) / rate - performance.now();
    if (wait > 0) await sleep(wait);
    await send(String(process.hrtime.bigint()));
  }
}

/** Split the numbers below `count` into batches. */
export function* batches(count) {
  for (let start = 0; start < count; start += ENQUEUE_BATCH) {
    const size = Math.min(ENQUEUE_BATCH, count - start);
    yield Array.from({ length: size }, (_, offset) => start + offset);
  }
}

/** Record how long ago the task was sent: one line of nanoseconds in the file the harness reads. */
export function stamp(sent) {
  const delay = process.hrtime.bigint() - BigInt(sent);
  appendFileSync(process.env.BENCH_STAMPS, `${delay}\n`);
}
