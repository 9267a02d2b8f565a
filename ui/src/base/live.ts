/** What is watched over `/v1/live`: one socket for the page, subscriptions by name, cursors so that nothing is missed.

    socket   none ─▶ connecting ─▶ open ─▶ (lost) ─▶ connecting …   waits longer after each failure, with jitter
    again    every subscription is asked for anew with its cursor: `unchanged`, or what there is now
    4401     the credential does not stand any more: no more tries until somebody logs in
    silent   a network that went away says nothing: a socket that answers no ping is given up, and a new one opened
*/

import type { Json } from "./api";
import { store } from "./store";

export type LiveState = "off" | "connecting" | "open" | "refused";
export interface Pushed {
  data: Json;
  cursor: number;
  /** Something before this was left out: what was built up from earlier messages must be read again. */
  gap: boolean;
}
export interface Watcher {
  push(pushed: Pushed): void;
  /** The subscription has ended: it is not found, not allowed, or the server does not know the subject. */
  end?(code: string, message: string): void;
}
interface Subscription {
  id: string;
  subject: string;
  args: Record<string, Json>;
  cursor: number | null;
  last: Pushed | null;
  tail: boolean;
  watchers: Set<Watcher>;
}
interface Told {
  type: string;
  id?: string;
  session?: string;
  cursor?: number;
  gap?: boolean;
  data?: Json;
  code?: string;
  message?: string;
}
type Opener = (url: string) => WebSocket;

const FIRST = 400;
const LONGEST = 15_000;
const PING = 15_000;
/** Milliseconds without a word after which there is nobody at the other end. */
const DEAD = 40_000;

/** Milliseconds before the n-th try: doubled each time, half of it by chance, so that pages do not return all at once. */
export function backoff(tries: number, chance: number): number {
  const whole = Math.min(LONGEST, FIRST * 2 ** Math.min(tries, 10));
  return whole / 2 + (whole / 2) * chance;
}

export class Live {
  readonly state = store<LiveState>("off");
  private socket: WebSocket | null = null;
  private session: string | null = null;
  private tries = 0;
  private next = 1;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pinging: ReturnType<typeof setInterval> | undefined;
  private heard = 0;
  private readonly known = new Map<string, Subscription>();
  private readonly byId = new Map<string, Subscription>();

  constructor(
    private readonly url: () => string,
    private readonly open: Opener = (url) => new WebSocket(url),
  ) {}

  /** Watch; what it answers ends it. Who asks for the same shares one subscription and gets the newest at once. */
  watch(subject: string, args: Record<string, Json>, watcher: Watcher, tail = false): () => void {
    const key = tail ? `${subject} ${this.next}` : `${subject} ${JSON.stringify(args)}`;
    let one = this.known.get(key);
    if (!one) {
      one = { id: `s${this.next++}`, subject, args, cursor: null, last: null, tail, watchers: new Set() };
      this.known.set(key, one);
      this.byId.set(one.id, one);
      this.subscribe(one);
    } else if (one.last) {
      watcher.push(one.last);
    }
    const mine = one;
    mine.watchers.add(watcher);
    this.connect();
    return () => {
      mine.watchers.delete(watcher);
      if (mine.watchers.size || this.known.get(key) !== mine) return;
      this.known.delete(key);
      this.byId.delete(mine.id);
      this.send({ type: "unsubscribe", id: mine.id });
    };
  }

  connect(): void {
    if (this.socket || this.state.get() === "refused" || !this.known.size) return;
    clearTimeout(this.timer);
    this.state.set("connecting");
    const socket = this.open(this.url() + (this.session ? `?session=${this.session}` : ""));
    this.socket = socket;
    socket.onmessage = (event: MessageEvent<string>) => {
      if (socket === this.socket) this.hear(JSON.parse(event.data) as Told);
    };
    socket.onclose = (event: CloseEvent) => this.lost(socket, event.code);
  }

  /** Nobody is logged in: a try would only be refused. */
  stop(): void {
    const old = this.socket;
    this.socket = null;
    this.session = null;
    clearTimeout(this.timer);
    clearInterval(this.pinging);
    this.state.set("refused");
    old?.close();
  }

  /** Somebody has logged in. */
  restart(): void {
    this.session = null;
    this.tries = 0;
    const old = this.socket;
    this.socket = null;
    clearTimeout(this.timer);
    clearInterval(this.pinging);
    this.state.set("off");
    // what another person was shown is nobody else's
    for (const one of this.known.values()) one.cursor = one.last = null;
    old?.close();
    this.connect();
  }

  /** Asks whether the server is still there. Called now and then, and when somebody looks at the page again. */
  check(): void {
    const socket = this.socket;
    if (!socket || this.state.get() !== "open") return;
    if (Date.now() - this.heard > DEAD) {
      this.lost(socket, 1006);
      socket.close();
    } else this.send({ type: "ping" });
  }

  private hear(told: Told): void {
    this.heard = Date.now();
    if (told.type === "hello") {
      this.tries = 0;
      clearInterval(this.pinging);
      this.pinging = setInterval(() => this.check(), PING);
      this.session = told.session ?? null;
      this.state.set("open");
      for (const one of this.byId.values()) this.subscribe(one);
      return;
    }
    const one = told.id === undefined ? undefined : this.byId.get(told.id);
    if (!one) return;
    if (told.type === "data") {
      one.cursor = told.cursor ?? null;
      const pushed = { data: told.data ?? null, cursor: told.cursor ?? 0, gap: told.gap ?? false };
      if (one.tail) {
        const lines = Array.isArray(pushed.data) ? pushed.data : [];
        const last = lines[lines.length - 1] as { id?: number } | undefined;
        // a log goes on after its last line, not from the feed's cursor: lines have numbers of their own
        if (last?.id !== undefined) one.args = { ...one.args, after: last.id };
      } else one.last = pushed;
      for (const watcher of [...one.watchers]) watcher.push(pushed);
    } else if (told.type === "unchanged") {
      one.cursor = told.cursor ?? one.cursor;
    } else if (told.type === "error") {
      for (const [key, value] of this.known) if (value === one) this.known.delete(key);
      this.byId.delete(one.id);
      for (const watcher of [...one.watchers]) watcher.end?.(told.code ?? "ERROR", told.message ?? "");
    }
  }

  private subscribe(one: Subscription): void {
    const message: Record<string, Json> = { type: "subscribe", id: one.id, subject: one.subject, args: one.args };
    if (one.cursor !== null && !one.tail) message["cursor"] = one.cursor;
    this.send(message);
  }

  private send(message: Record<string, Json>): void {
    if (this.state.get() === "open" && this.socket) this.socket.send(JSON.stringify(message));
  }

  private lost(socket: WebSocket, code: number): void {
    if (socket !== this.socket) return;
    this.socket = null;
    clearInterval(this.pinging);
    if (code === 4401) {
      this.state.set("refused");
      return;
    }
    this.state.set("connecting");
    this.timer = setTimeout(() => this.connect(), backoff(this.tries++, Math.random()));
  }
}

export const live = new Live(() => `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/live`);
if (typeof document !== "undefined") document.addEventListener("visibilitychange", () => document.hidden || live.check());
