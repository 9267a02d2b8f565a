/** The REST API: one function, errors with what is wrong and how to go on, the token that changes need. */

import { store } from "./store";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Args = Record<string, string | number | boolean | string[] | null | undefined>;

export interface Paged<T> {
  items: T[];
  next_cursor: string | null;
  scanned_until?: string | null;
}

/** What the server refused: `code` is stable, the message says what to change, `request` finds it in the server's log. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly where: string,
    readonly request: string | null,
    readonly details: Json = null,
  ) {
    super(message);
  }
}

/** Counts up when the server says that nobody is logged in: the frame then shows the login. */
export const loggedOut = store(0);
let csrf: string | null = null;

export function keepCsrf(token: string | null): void {
  csrf = token;
}

export function address(path: string, args: Args = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export interface Asked {
  args?: Args;
  body?: unknown;
  signal?: AbortSignal;
  /** So that a repeat after a broken connection does the thing once. */
  once?: string;
}

export async function ask<T>(method: string, path: string, asked: Asked = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (asked.body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) headers["X-Weft-CSRF"] = csrf;
  if (asked.once) headers["Idempotency-Key"] = asked.once;
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (asked.body !== undefined) init.body = JSON.stringify(asked.body);
  if (asked.signal) init.signal = asked.signal;
  let answer: Response;
  try {
    answer = await fetch(address(path, asked.args), init);
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    throw new Refused(0, "UNREACHABLE", "The server does not answer. Is it running? Try again.", path, null);
  }
  if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as T;
  const refused = refusal(answer.status, path, await answer.text(), answer.headers.get("x-request-id"));
  if (answer.status === 401 && path !== "/v1/login") loggedOut.set(loggedOut.get() + 1);
  throw refused;
}

/** Both envelopes: `{"error": {code, message, …}}`, and AIOpsLab's `{"error": text, code}`. */
export function refusal(status: number, path: string, text: string, request: string | null): Refused {
  try {
    const told = JSON.parse(text) as { error?: unknown; code?: string; details?: Json };
    if (typeof told.error === "string") return new Refused(status, told.code ?? "ERROR", told.error, path, request);
    const error = told.error as { code?: string; message?: string; request_id?: string; details?: Json } | undefined;
    if (error?.message)
      return new Refused(status, error.code ?? "ERROR", error.message, path, error.request_id ?? request, error.details ?? null);
  } catch {
    /* not JSON: a proxy's page, perhaps */
  }
  return new Refused(status, "ERROR", `The server answered ${status} without saying why.`, path, request);
}

export const get = <T>(path: string, args?: Args, signal?: AbortSignal): Promise<T> =>
  ask<T>("GET", path, { ...(args ? { args } : {}), ...(signal ? { signal } : {}) });
export const post = <T>(path: string, body?: unknown, args?: Args): Promise<T> =>
  ask<T>("POST", path, { body: body ?? {}, ...(args ? { args } : {}) });
/** For operations that take no body at all. */
export const act = <T>(path: string, method = "POST", args?: Args): Promise<T> => ask<T>(method, path, args ? { args } : {});
export const part = (text: string): string => encodeURIComponent(text);
