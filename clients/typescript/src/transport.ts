/**
 * HTTP requests to the service, retried where that is safe.
 *
 * Nearly every call of the API is safe to repeat: reads change nothing, create, consume and refund carry an
 * Idempotency-Key, and the others have the same effect twice as once. The exceptions pass `repeatable: false`.
 */

import { ElicitError, UnexpectedAnswerError, UnreachableError, problem } from "./errors.ts";
import { page } from "./reading.ts";
import { VERSION } from "./version.ts";

export const TIMEOUT = 10;
const MAX_RETRIES = 5;
const RETRY_FOR = 5;
const PROXIED = 65; // seconds: the service waits a minute for a provider
const ANSWERED_BY = "elicit-answered-by"; // of answers that are the provider's
const LONGEST = 30; // seconds that a plain call waits for a service that is away, and because the service says so
export const LONGEST_TIMER = 2 ** 31 - 1; // milliseconds; a longer timer would ring at once
const REFUSED = new Set([429, 503]); // the service did nothing, so even an unsafe call may be repeated
const TRANSIENT = new Set([429, 500, 502, 503, 504]);
// Node's, Deno's and Bun's words for a connection that was never made. Browsers do not say.
const NEVER_CONNECTED = new Set([
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused",
]);

export type Query = Record<string, string | number | null | undefined>;

/** What `fetch` sends as a body. */
export type Body = NonNullable<RequestInit["body"]>;

export interface Request {
  query?: Query | undefined;
  json?: unknown;
  form?: Record<string, string>;
  headers?: Record<string, string>;
  /** Seconds for which a call that waits is retried. */
  retryFor?: number | undefined;
  /** Seconds that the service may keep the request. */
  hold?: number;
  repeatable?: boolean;
  signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  url: string;
  apiKey: string;
  retryFor: number;
  timeout: number;
  maxRetries: number | undefined;
  fetch: typeof fetch;
}

/**
 * How long consecutive failures are retried: `seconds` from the first one, and at most `retries` times, if given. With
 * `retries`, a pause that the service asks for (Retry-After) of up to `longest` seconds is not counted.
 */
export class RetryLimit {
  readonly #seconds: number;
  readonly #retries: number | undefined;
  readonly #longest: number;
  #until: number | undefined;
  #failures = 0;

  constructor(seconds: number, retries?: number, longest = 0) {
    this.#seconds = seconds;
    this.#retries = retries;
    this.#longest = longest;
  }

  reset(): void {
    this.#until = undefined;
    this.#failures = 0;
  }

  /** Sleep until the next attempt. Throws `error` if that would be too late, or one attempt too many. */
  async pauseAfter(error: ElicitError, signal: AbortSignal | undefined): Promise<void> {
    const now = performance.now() / 1000;
    this.#until ??= now + this.#seconds;
    const asked = error.retryAfter ?? 0;
    const pause = Math.max(asked, Math.min(0.2 * 2 ** this.#failures, 5) * (0.5 + Math.random() / 2));
    if (this.#retries !== undefined) {
      if (this.#failures >= this.#retries) throw error;
      if (asked && pause <= this.#longest) this.#until += asked;
    }
    if (now + pause > this.#until) throw error;
    this.#failures += 1;
    await sleep(pause, signal);
  }
}

/** A signal that aborts with `outer`, or after `seconds`. Call `done` when it is not needed any more. */
export class Limit {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #pass = (): void => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #late = false;

  constructor(seconds: number, outer?: AbortSignal) {
    this.#outer = outer;
    if (outer?.aborted) this.#pass();
    outer?.addEventListener("abort", this.#pass, { once: true });
    this.again(seconds);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time is what ended it. */
  get late(): boolean {
    return this.#late;
  }

  /** Count the seconds from now on. */
  again(seconds: number): void {
    clearTimeout(this.#timer);
    if (!Number.isFinite(seconds)) return;
    const ring = (): void => {
      this.#late = true;
      this.#controller.abort(new DOMException(`There was no answer within ${seconds} s`, "TimeoutError"));
    };
    this.#timer = setTimeout(ring, milliseconds(seconds));
  }

  /** Count no more; the outer signal still ends what runs under this one, such as a body that is read. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  done(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#pass);
  }

  /** Done, and what still runs under the signal is ended. */
  abort(): void {
    this.done();
    this.#controller.abort();
  }
}

/** The HTTP requests of one agent. Redirects are not followed: the key is sent to the configured host only. */
export class Transport {
  readonly url: string;
  readonly timeout: number;
  readonly retryFor: number;
  readonly #headers: Record<string, string>;
  readonly #apiKey: string;
  readonly #fetch: typeof fetch;
  readonly #retries: number | undefined;

  constructor(options: TransportOptions) {
    this.#apiKey = options.apiKey;
    this.url = options.url;
    this.timeout = options.timeout;
    this.retryFor = options.retryFor;
    this.#retries = options.maxRetries;
    this.#fetch = options.fetch;
    this.#headers = {
      Authorization: `Bearer ${options.apiKey}`,
      Accept: "application/json",
      "User-Agent": `elicit-flows/${VERSION} typescript`,
    };
  }

  /**
   * `read` of the JSON of a successful answer. Throws ElicitError: at once for a refusal; for a temporary failure after
   * the retries, which go on for 30 seconds while the service is away, as when it restarts. An aborted `signal` throws
   * its reason.
   */
  async call<T>(read: (answer: unknown) => T, method: string, path: string, request: Request = {}): Promise<T> {
    const { retryFor, repeatable = true, signal } = request;
    const { usual, away } = this.#limits(retryFor);
    for (;;) {
      const refusal = await this.#attempt(read, method, path, request);
      if (!(refusal instanceof ElicitError)) return refusal.answer;
      if (!mayPass(refusal, repeatable, retryFor !== undefined)) throw refusal;
      await (isAway(refusal) ? away : usual).pauseAfter(refusal, signal);
    }
  }

  /** The entries of a list, fetched page by page. */
  async *pages<T>(
    read: (one: unknown) => T, path: string, query: Query, signal?: AbortSignal,
  ): AsyncGenerator<T, void> {
    let cursor: string | null = null;
    do {
      const request: Request = { query: { ...query, cursor }, retryFor: this.retryFor, signal };
      const { found, next }: { found: T[]; next: string | null } = await this.call(page(read), "GET", path, request);
      yield* found;
      cursor = next;
    } while (cursor !== null);
  }

  /** What fetch takes for a request. Throws TypeError for a header that HTTP does not allow. */
  prepare(method: string, path: string, request: Request): { url: URL; init: RequestInit } {
    const url = new URL(this.url + path);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers = new Headers(this.#headers);
    // One by one: two names of an object that differ in case alone would be joined.
    for (const [name, value] of Object.entries(request.headers ?? {})) headers.set(name, value);
    const init: RequestInit = { method, headers, redirect: "manual", cache: "no-store", credentials: "omit" };
    if (request.json !== undefined) {
      if (!headers.has("Content-Type")) headers.set("Content-Type", "application/json");
      init.body = JSON.stringify(request.json);
    }
    if (request.form) init.body = new URLSearchParams(request.form);
    return { url, init };
  }

  /** One attempt, as it is. Throws what fetch throws. */
  async send(prepared: { url: URL; init: RequestInit }, signal: AbortSignal): Promise<Response> {
    const send = this.#fetch; // called without `this`: browsers refuse a fetch that is called as a method
    return await send(prepared.url, { ...prepared.init, signal });
  }

  /**
   * An answer of a provider's API that came through the service, as it is. Throws ElicitError for one of the service
   * itself, UnreachableError if none has begun within a little more than the minute for which the service waits, and
   * TypeError if `at` leads away from `below`.
   */
  async proxied(
    below: string, at: string, method: string, request: Request & { body?: Body | undefined },
  ): Promise<Response> {
    const { url, init } = this.prepare(method, below + at, request);
    // The URL is normalized by now: with ".." it could be another call of the service.
    if (!url.pathname.startsWith(`${new URL(this.url + below).pathname}/`)) {
      throw new TypeError(`The path of an API begins with / and stays below the API's address: ${at}`);
    }
    if (request.body !== undefined) Object.assign(init, { body: request.body, duplex: "half" });
    const limit = new Limit(PROXIED, request.signal);
    try {
      const response = await this.send({ url, init }, limit.signal);
      if (response.headers.has(ANSWERED_BY)) return response;
      throw problem(response.status, parsed(await response.text()), response.headers);
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      throw error instanceof ElicitError ? error : this.unreachable(error);
    } finally {
      limit.pause();
    }
  }

  /** 32 bytes for `purpose` that only those who have the API key can know. */
  async derived(purpose: string): Promise<ArrayBuffer> {
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(this.#apiKey), hmac, false, ["sign"]);
    return await crypto.subtle.sign(hmac, key, new TextEncoder().encode(purpose));
  }

  unreachable(error: unknown): UnreachableError {
    const said = `The service at ${this.url} does not answer: ${why(error)}`;
    return new UnreachableError("unreachable", said, { cause: error });
  }

  /** `read` of an answer. Throws UnexpectedAnswerError if it has another form. */
  understood<T>(read: (answer: unknown) => T, answer: unknown, status: number, requestId?: string): T {
    try {
      return read(answer);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw this.#foreign(`: ${error.message}`, status, requestId, error);
    }
  }

  /** How long failures are retried, and how long those at which the service is away. A call that waits says it. */
  #limits(retryFor: number | undefined): { usual: RetryLimit; away: RetryLimit } {
    if (retryFor !== undefined) {
      const both = new RetryLimit(retryFor);
      return { usual: both, away: both };
    }
    const longest = Math.min(this.retryFor, LONGEST);
    const usual = new RetryLimit(Math.min(this.retryFor, RETRY_FOR), this.#retries ?? MAX_RETRIES, longest);
    return { usual, away: new RetryLimit(longest, this.#retries) };
  }

  async #attempt<T>(
    read: (answer: unknown) => T, method: string, path: string, request: Request,
  ): Promise<{ answer: T } | ElicitError> {
    const prepared = this.prepare(method, path, request);
    const limit = new Limit(this.timeout + (request.hold ?? 0), request.signal);
    try {
      const response = await this.send(prepared, limit.signal);
      const text = await response.text();
      if (!response.ok) return problem(response.status, parsed(text), response.headers);
      const requestId = response.headers.get("x-request-id") ?? undefined;
      const answer = response.status === 204 ? null : parsed(text);
      if (answer === undefined) return this.#foreign("", response.status, requestId);
      return { answer: this.understood(read, answer, response.status, requestId) };
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      if (error instanceof ElicitError) return error;
      return this.unreachable(error);
    } finally {
      limit.done();
    }
  }

  #foreign(why: string, status: number, requestId: string | undefined, cause?: unknown): UnexpectedAnswerError {
    const said = `The answer from ${this.url} is not one of the Elicit Flows API as version ${VERSION} knows it${why}`;
    return new UnexpectedAnswerError("unexpected_answer", said, { status, requestId, cause });
  }
}

/**
 * Whether no connection was made, or the service or the proxy before it says that it is away, and not for how long. A
 * 502 of the service's own is about a provider.
 */
function isAway(error: ElicitError): boolean {
  if (error instanceof UnreachableError) return NEVER_CONNECTED.has(codeOf(error.cause));
  return error.retryAfter === undefined && (error.status === 503 || error.code === "http_502");
}

/** Whether a retry may succeed. A call that waits retries every 5xx: a service that is being replaced answers 500. */
function mayPass(error: ElicitError, repeatable: boolean, waits: boolean): boolean {
  if (error instanceof UnreachableError) return repeatable || NEVER_CONNECTED.has(codeOf(error.cause));
  if (error instanceof UnexpectedAnswerError) return false;
  const status = error.status ?? 0;
  if ((repeatable ? TRANSIENT : REFUSED).has(status) || error.code === "idempotency_in_flight") return true;
  return waits && status >= 500;
}

/** JSON, or undefined if it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The system's code behind what fetch threw, for example ECONNREFUSED. */
function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  if ("code" in error && typeof error.code === "string") return error.code;
  return "cause" in error ? codeOf(error.cause) : "";
}

function why(error: unknown): string {
  return codeOf(error) || (error instanceof Error ? error.message : String(error));
}

async function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const wake = (): void => {
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds(seconds));
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** What a timer takes for `seconds`; none can take more than about 24 days. */
export function milliseconds(seconds: number): number {
  return Math.min(seconds * 1000, LONGEST_TIMER);
}

/** 128 random bits. Unlike randomUUID it is there on pages without TLS too. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
}
