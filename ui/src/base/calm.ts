/** When to read again after something changed. Pure, but for the calls themselves. */

/** Turns: at once while changes are few, at a steady pace while they are many. A turn comes back every `every` milliseconds, up
    to `most` of them: what changes now and then is seen at once, and a thousand changes are a few reads. */
export class Calm {
  private turns: number;
  private counted = 0;

  constructor(
    private readonly every: number,
    private readonly most = 4,
  ) {
    this.turns = most;
  }

  /** Milliseconds until there is a turn. */
  wait(now: number): number {
    this.count(now);
    return this.turns >= 1 ? 0 : Math.ceil((1 - this.turns) * this.every);
  }

  take(now: number): void {
    this.count(now);
    this.turns -= 1;
  }

  private count(now: number): void {
    this.turns = Math.min(this.most, this.turns + Math.max(0, now - this.counted) / this.every);
    this.counted = now;
  }
}

/** A read that never overlaps itself: what is asked for meanwhile is done once more afterwards, not instead of it. Were it begun
    anew for every change, it would never end while changes come. */
export function oneAtATime(read: () => Promise<void>): () => void {
  let busy = false;
  let more = false;
  const go = async (): Promise<void> => {
    more = true;
    if (busy) return;
    busy = true;
    try {
      while (more) {
        more = false;
        await read();
      }
    } finally {
      busy = false;
    }
  };
  return () => void go();
}
