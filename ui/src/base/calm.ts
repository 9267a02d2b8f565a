/** When to read again after something changed. Pure, but for the calls themselves. */

/** Turns: at once while changes are few, at a steady pace while they are many. A turn comes back every `every` milliseconds, up
    to `most` of them: what changes now and then is seen at once, and a thousand changes are a few reads. Where reads take long,
    because they are large or the server is busy, turns come back so much more rarely that a page reads a `SHARE`th of the time. */
export class Calm {
  private turns: number;
  private counted = 0;
  private pace: number;

  constructor(
    private readonly every: number,
    private readonly most = 4,
  ) {
    this.turns = most;
    this.pace = every;
  }

  /** A read took so many milliseconds. */
  took(milliseconds: number): void {
    this.pace = Math.max(this.every, milliseconds * SHARE);
  }

  /** Milliseconds until there is a turn. */
  wait(now: number): number {
    this.count(now);
    return this.turns >= 1 ? 0 : Math.ceil((1 - this.turns) * this.pace);
  }

  take(now: number): void {
    this.count(now);
    this.turns -= 1;
  }

  private count(now: number): void {
    this.turns = Math.min(this.most, this.turns + Math.max(0, now - this.counted) / this.pace);
    this.counted = now;
  }
}

const SHARE = 10;

/** A read that never overlaps itself: what is asked for meanwhile is done once more afterwards, not instead of it. Were it begun
    anew for every change, it would never end while changes come. Who asks is answered when all of it has been read. */
export function oneAtATime(read: () => Promise<void>): () => Promise<void> {
  let reading: Promise<void> | null = null;
  let more = false;
  const go = async (): Promise<void> => {
    try {
      while (more) {
        more = false;
        await read();
      }
    } finally {
      reading = null;
    }
  };
  return () => {
    more = true;
    return (reading ??= go());
  };
}
