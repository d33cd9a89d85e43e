/** `Elicit`, the client that agents import. */

import { Asking } from "./asking.ts";
import type { Options } from "./asking.ts";
import { PAGE } from "./connections.ts";
import { apiKey, serviceUrl } from "./environment.ts";
import { NotCompleted } from "./errors.ts";
import * as feed from "./feed.ts";
import type { Json, Kind, Params } from "./kinds.ts";
import type { Outcome } from "./outcomes.ts";
import { claim, draft, elicitation as asElicitation, note, object, userCode, word } from "./reading.ts";
import type { Draft, Elicitation, Event, GivenAnswer, Status, User, UserCode } from "./shapes.ts";
import { Limit, randomKey, TIMEOUT, Transport } from "./transport.ts";

const ELICITATIONS = "/v1/elicitations";
const PAYMENTS = "/v1/payments";
const POLL_SECONDS = 25;

export interface ElicitOptions {
  /** Where the service is. The default is ELICIT_URL. */
  url?: string;
  /** The agent's key. The default is ELICIT_API_KEY, or the file var/demo.key. */
  apiKey?: string;
  /** For how many seconds waiting goes on while the service cannot be reached (300). */
  retryFor?: number;
  /** For how many seconds an answer may be on its way (10). */
  timeout?: number;
  /**
   * How often a call that does not wait is retried. The default is 5 times within 5 seconds, and as often as there is
   * time in 30 seconds while the service is away.
   */
  maxRetries?: number | undefined;
  /** A fetch of your own, for proxies or certificates. */
  fetch?: typeof fetch;
}

/** Every call takes a signal that ends it; then the signal's reason is thrown. */
export interface Signalled {
  signal?: AbortSignal;
}

type OfElicitation = string | Elicitation;
type OfPayment = string | Outcome<"payment">;

/**
 * One agent at one service.
 *
 * Calls are retried where that is safe: after lost connections, 429, 500, 502, 503 and 504. A service that is away, as
 * when it restarts, is waited for up to 30 seconds, and so is a pause that it asks for (Retry-After). Every call throws ElicitError when the service refuses it
 * or cannot be reached. All times are in seconds.
 */
export class Elicit extends Asking {
  readonly #options: ElicitOptions;

  constructor(options: ElicitOptions = {}) {
    const { retryFor = 300, timeout = TIMEOUT, maxRetries, fetch = globalThis.fetch } = options;
    const at = { url: serviceUrl(options.url), apiKey: apiKey(options.apiKey) };
    super(new Transport({ ...at, retryFor, timeout, maxRetries, fetch }));
    this.#options = { ...at, retryFor, timeout, maxRetries, fetch };
  }

  /** A client with these settings changed, for single calls: `elicit.withOptions({ timeout: 2 }).get(…)`. */
  withOptions(options: Pick<ElicitOptions, "retryFor" | "timeout" | "maxRetries">): Elicit {
    const said = Object.entries(options).filter(([, value]) => value !== undefined);
    return new Elicit({ ...this.#options, ...Object.fromEntries(said) });
  }

  /** @internal 32 bytes for `purpose` that all clients with the same API key derive, and nobody else. */
  static async derived(elicit: Elicit, purpose: string): Promise<ArrayBuffer> {
    return await elicit.transport.derived(purpose);
  }

  /**
   * Create an elicitation of `kind` for `user`, and return at once. Without an `idempotencyKey` a random one is sent,
   * so a retry after a lost answer does not ask twice.
   */
  override async create<K extends Kind>(
    kind: K, user: User, params: Params[K], options: Options & { message: string },
  ): Promise<Elicitation<K>> {
    const { message, expiresIn, returnUrl, locale, notify, reuse, metadata, idempotencyKey, signal } = options;
    const asked = { kind, subject: claim(user), message, params };
    const back = { return_url: returnUrl, return: options.return };
    const json = { ...asked, metadata, locale, notify, reuse, expires_in: expiresIn, ...back };
    const headers = { "Idempotency-Key": idempotencyKey || randomKey() };
    return await this.transport.call(asElicitation<K>, "POST", ELICITATIONS, { json, headers, signal });
  }

  /** The elicitation as it is now, or, with `wait` (seconds), as soon as its `seq` is above `afterSeq`. */
  async get<K extends Kind = Kind>(
    elicitation: string | Elicitation<K>, options: Signalled & { wait?: number; afterSeq?: number } = {},
  ): Promise<Elicitation<K>> {
    return await this.#get(elicitation, options);
  }

  /**
   * Wait until the elicitation is over, or until `timeout` seconds have passed; `over` says which. Without `timeout` it
   * waits without end. After a lost connection or a 503 the wait goes on for up to `retryFor` seconds. When an id is
   * given, the first look at it may take a second even if `timeout` is shorter.
   */
  override async wait<K extends Kind = Kind>(
    elicitation: string | Elicitation<K>, options: Signalled & { timeout?: number } = {},
  ): Promise<Elicitation<K>> {
    const { timeout = Infinity, signal } = options;
    const retryFor = this.transport.retryFor;
    const end = now() + timeout;
    const look = (signal: AbortSignal): Promise<Elicitation<K>> => this.#get<K>(elicitation, { signal, retryFor });
    let seen =
      typeof elicitation === "string"
        ? await this.#unless(Math.max(timeout, 1), signal, null, look)
        : (elicitation as Elicitation<K>);
    while (!seen.over && end - now() > 0) {
      const left = end - now();
      const asked = { wait: Math.ceil(Math.min(POLL_SECONDS, left)), afterSeq: seen.seq, retryFor };
      const { id } = seen;
      seen = await this.#unless(left, signal, seen, (signal) => this.#get<K>(id, { ...asked, signal }));
    }
    return seen;
  }

  /** Cancel the question. Throws ConflictError when it has ended in another way. */
  async cancel(elicitation: OfElicitation, options: Signalled = {}): Promise<Elicitation> {
    return await this.transport.call(asElicitation, "POST", `${path(elicitation)}/cancel`, options);
  }

  /**
   * A code that the user can type on another device, for a user who has no browser where they read it. Throws
   * ConflictError `already_over`.
   */
  async userCode(elicitation: OfElicitation, options: Signalled = {}): Promise<UserCode> {
    return await this.transport.call(userCode, "POST", `${path(elicitation)}/code`, options);
  }

  /** This agent's elicitations, newest first; only those of `user` and with `status`, if given. */
  elicitations(user?: User | null, options: Signalled & { status?: Status } = {}): AsyncGenerator<Elicitation, void> {
    const query = { ...(user ? claim(user) : {}), status: options.status, limit: PAGE };
    return this.transport.pages(asElicitation<Kind>, ELICITATIONS, query, options.signal);
  }

  /**
   * Every event after the cursor `after` (without it: from the first), then each new one as it happens, without end.
   *
   * `stream`: true uses server-sent events, false uses long-polling, for networks that buffer streams. Store
   * `event.cursor` to go on from there after a restart.
   */
  events(after: string | null = null, options: Signalled & { stream?: boolean } = {}): AsyncGenerator<Event, void> {
    const follow = (options.stream ?? true) ? feed.stream : feed.poll;
    return follow(this.transport, after, options.signal);
  }

  /** The cursor of the newest event. Pass it to `events` to receive only events that happen from now on. */
  async newest(options: Signalled = {}): Promise<string> {
    const read = (answer: unknown): string => word(object(answer), "cursor");
    return await this.transport.call(read, "GET", feed.EVENTS, { query: { after: "latest" }, signal: options.signal });
  }

  /** What this agent is and may ask, as `GET /v1/agent` answers it: kinds, providers, accounts, limits. */
  async agent(options: Signalled = {}): Promise<Json> {
    return await this.transport.call(object, "GET", "/v1/agent", options);
  }

  /** This agent's payments, newest first; only those of `user`, with `status` or of `elicitation`, if given. */
  payments(
    user?: User | null, options: Signalled & { status?: string; elicitation?: OfElicitation } = {},
  ): AsyncGenerator<Json, void> {
    const { status, elicitation, signal } = options;
    const asked = elicitation === undefined ? undefined : idOf(elicitation);
    const query = { ...(user ? claim(user) : {}), status, elicitation: asked, limit: PAGE };
    return this.transport.pages(object, PAYMENTS, query, signal);
  }

  /**
   * Complete a `by_agent` link, or submit a form. `answers` maps a question to its answer; what was submitted to the
   * form's shared draft is sent with them. Throws ConflictError `not_submitted` while a required question of the form
   * has no submitted answer.
   */
  async complete(
    elicitation: OfElicitation, answers?: Record<string, GivenAnswer> | null, options: Signalled = {},
  ): Promise<Elicitation> {
    const json = answers && Object.keys(answers).length ? { answers } : undefined;
    return await this.transport.call(asElicitation, "POST", `${path(elicitation)}/complete`, { json, ...options });
  }

  /**
   * Claim the result before you act on it: of several calls exactly one succeeds. The next `create` under the
   * elicitation's idempotency key then asks anew. `key` identifies this one run, so that the call can be repeated;
   * never use a key that a replay by your client would send again.
   *
   * Throws ConflictError `already_consumed` when another run has claimed it, and then you must not act; `not_over`
   * while the question is open.
   */
  async consume(elicitation: OfElicitation, options: Signalled & { key?: string } = {}): Promise<Elicitation> {
    const request = { headers: { "Idempotency-Key": options.key || randomKey() }, signal: options.signal };
    return await this.transport.call(asElicitation, "POST", `${path(elicitation)}/consume`, request);
  }

  /**
   * Refund `amount` minor units of a payment, or all that is left of it. The refund may be `pending` at first; an event
   * reports its end. Throws NotCompleted for an outcome without a payment.
   */
  async refund(
    payment: OfPayment, options: Signalled & { amount?: number; reason?: string; idempotencyKey?: string } = {},
  ): Promise<Json> {
    const { amount, reason, idempotencyKey, signal } = options;
    const headers = { "Idempotency-Key": idempotencyKey || randomKey() };
    const json = { amount, reason };
    return await this.transport.call(object, "POST", `${paymentPath(payment)}/refunds`, { json, headers, signal });
  }

  /** The answers of a shared form so far. With `afterSeq`, only those that changed after it. */
  async draft(elicitation: OfElicitation, options: Signalled & { afterSeq?: number } = {}): Promise<Draft> {
    const query = { after_seq: options.afterSeq ?? 0 };
    return await this.transport.call(draft, "GET", `${path(elicitation)}/draft`, { query, signal: options.signal });
  }

  /**
   * Answer one question of a shared form, or clear its answer with null. Everybody who has the form open sees it. `seq`
   * is the last that you have seen; with it, ConflictError `draft_changed` is thrown when the answer has changed since.
   */
  async answer(
    elicitation: OfElicitation,
    question: string,
    answer: GivenAnswer | null,
    options: Signalled & { seq?: number } = {},
  ): Promise<Draft> {
    const { seq, signal } = options;
    // A retry with the same `seq` would conflict with the change that the first attempt made.
    const request = { json: { answer, seq }, signal, repeatable: seq === undefined };
    const at = `${path(elicitation)}/draft/${encodeURIComponent(question)}`;
    return await this.transport.call(draft, "PUT", at, request);
  }

  /** Change the message or the questions of a form under the same id and link. Answers that still fit are kept. */
  async askAgain(
    elicitation: OfElicitation, changes: { message?: string; params?: Params["form"] }, options: Signalled = {},
  ): Promise<Elicitation> {
    return await this.transport.call(asElicitation, "PATCH", path(elicitation), { json: changes, ...options });
  }

  /** The agent's note on an elicitation, which nobody else can read; empty if there is none. */
  async note(elicitation: OfElicitation, options: Signalled = {}): Promise<Record<string, string>> {
    return await this.transport.call(note, "GET", `${path(elicitation)}/note`, options);
  }

  /**
   * Set the given members of the note and keep the others; null removes a member. Returns the whole note. Retries for
   * `retryFor` seconds, because the note may be the only record of what was done.
   */
  async addToNote(
    elicitation: OfElicitation, changes: Record<string, string | null>, options: Signalled = {},
  ): Promise<Record<string, string>> {
    const request = { json: { note: changes }, retryFor: this.transport.retryFor, ...options };
    return await this.transport.call(note, "PATCH", `${path(elicitation)}/note`, request);
  }

  async #get<K extends Kind>(
    elicitation: string | Elicitation<K>,
    options: { wait?: number; afterSeq?: number; retryFor?: number; signal?: AbortSignal },
  ): Promise<Elicitation<K>> {
    const { wait, afterSeq, retryFor, signal } = options;
    const request = { query: { wait, after_seq: afterSeq }, hold: wait ?? 0, retryFor, signal };
    return await this.transport.call(asElicitation<K>, "GET", path(elicitation as OfElicitation), request);
  }

  /** What `get` answers; after `seconds`, `otherwise`, or UnreachableError where that is null. */
  async #unless<T>(
    seconds: number, outer: AbortSignal | undefined, otherwise: T | null, get: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const limit = new Limit(seconds, outer);
    try {
      return await get(limit.signal);
    } catch (error) {
      if (!limit.late || error !== limit.signal.reason) throw error;
      if (otherwise === null) throw this.transport.unreachable(error);
      return otherwise;
    } finally {
      limit.done();
    }
  }
}

function idOf(elicitation: OfElicitation): string {
  return typeof elicitation === "string" ? elicitation : elicitation.id;
}

function path(elicitation: OfElicitation): string {
  return `${ELICITATIONS}/${encodeURIComponent(idOf(elicitation))}`;
}

function paymentPath(payment: OfPayment): string {
  if (typeof payment === "string") return `${PAYMENTS}/${encodeURIComponent(payment)}`;
  if (payment.status === "completed") return `${PAYMENTS}/${encodeURIComponent(payment.result.payment)}`;
  throw new NotCompleted(payment);
}

function now(): number {
  return performance.now() / 1000;
}
