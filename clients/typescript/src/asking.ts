/** Ask and wait: one method for each kind of question. */

import { StillWaiting, UnexpectedAnswerError } from "./errors.ts";
import type { Json, Kind, MandateLimits, Params, Step } from "./kinds.ts";
import { outcomeOf } from "./outcomes.ts";
import type { Outcome } from "./outcomes.ts";
import * as questions from "./questions.ts";
import type {
  Asked,
  Completion,
  ConfirmWords,
  CredentialsOf,
  MandateDetails,
  OAuthTerms,
  PaymentDetails,
  X402Details,
} from "./questions.ts";
import type { Elicitation, User } from "./shapes.ts";
import { PAYMENT_REQUIRED, Paying, challengeOf } from "./x402.ts";
import type { Paid } from "./x402.ts";

/** A function that shows the link to the user. */
export type OnUrl = (url: string) => unknown;

/** What every kind of question takes beside its parameters. */
export interface Options {
  /** Seconds until the link expires. */
  expiresIn?: number;
  /** Where the last page sends the user. */
  returnUrl?: string;
  /** Whether the last page goes there by itself (`auto`, the default) or by a button. */
  return?: "auto" | "button";
  /** The language that you suggest for the pages (BCP 47). */
  locale?: string;
  /** Whether the user is told, by e-mail for example, that you ask; your operator has to allow it. */
  notify?: boolean;
  /** `if_valid` accepts an earlier answer that still holds, `never` does not. */
  reuse?: "if_valid" | "never";
  /** Your own JSON, returned with the elicitation. */
  metadata?: Json;
  /** Asked again under the same key, it is the same question; without one, each call asks anew. */
  idempotencyKey?: string;
  /** Ends the call; the question stays open. */
  signal?: AbortSignal;
}

/** What asking and waiting takes. */
export interface AskOptions extends Options {
  /** Shows the link to the user. It is not called when an earlier answer is reused. */
  onUrl: OnUrl;
  /** Seconds to wait. Without it, the wait goes on for as long as the question is open. */
  timeout?: number;
}

/** What paying for a request takes. */
export interface PayRequestOptions {
  message?: string;
  /** The slug of the wallet. Without it, the first that fits. */
  account?: string;
  /** What `fetch` takes: headers, a body, a signal. */
  request?: RequestInit;
  /** A fetch of your own, for proxies or certificates. */
  fetch?: typeof fetch;
}

type Worded = AskOptions & { message: string };

/** Each method creates an elicitation, shows its link, and waits for the end: see `ask`. */
export abstract class Asking extends Paying {
  abstract create<K extends Kind>(
    kind: K, user: User, params: Params[K], options: Options & { message: string },
  ): Promise<Elicitation<K>>;

  abstract wait<K extends Kind = Kind>(
    elicitation: string | Elicitation<K>, options?: { timeout?: number; signal?: AbortSignal },
  ): Promise<Elicitation<K>>;

  /**
   * Ask `user` to connect an account at `provider`, the slug under which the operator configured it, and wait.
   */
  async oauth(user: User, provider: string, options: AskOptions & OAuthTerms): Promise<Outcome<"oauth">> {
    return await this.#asked(user, questions.oauth(provider, options), options);
  }

  /**
   * Ask `user` to pay `amount` minor units (1999 is 19.99 EUR and 1999 JPY) for `description`, and wait. Use one
   * `idempotencyKey` for each purchase: asked again under that key, it is paid once.
   */
  async payment(
    user: User, amount: number, currency: string, options: AskOptions & PaymentDetails,
  ): Promise<Outcome<"payment">> {
    return await this.#asked(user, questions.payment(amount, currency, options), options);
  }

  /**
   * Ask `user` to allow charges in `currency` within `limits` for `description`, and wait. Pass the outcome to `charge`.
   */
  async mandate(
    user: User, currency: string, limits: MandateLimits, options: AskOptions & MandateDetails,
  ): Promise<Outcome<"payment">> {
    return await this.#asked(user, questions.mandate(currency, limits, options), options);
  }

  /**
   * Ask `user` to pay `amount` for each period of their `subscription` (its id) from the next charge on, and wait. Nothing
   * is charged now; currency and interval stay. Throws InvalidRequestError for one that has ended or is cancelled.
   */
  async priceChange(
    user: User, subscription: string, amount: number, currency: string, options: AskOptions & { message?: string },
  ): Promise<Outcome<"payment">> {
    return await this.#asked(user, questions.priceChange(subscription, amount, currency, options), options);
  }

  /**
   * Ask `user` whether `url` may be paid from a wallet of the operator's, and wait. `challenge` is what it asked for with
   * its 402: see `challengeOf`. Pass the outcome to `paymentHeader`, or let `payRequest` do all of it. Throws
   * InvalidRequestError with the reason when no wallet pays that, and PermissionDeniedError `over_limit`.
   */
  async x402(user: User, url: string, challenge: Json, options: AskOptions & X402Details): Promise<Outcome<"x402">> {
    return await this.#asked(user, questions.x402(url, challenge, options), options);
  }

  /**
   * Send a request; if it is answered 402, ask `user` whether to pay, and repeat it with the payment.
   *
   * It is repeated at most once: if the server then asks for another price, its 402 is returned. Redirects are not
   * followed, so that nobody else gets the payment. Throws RangeError for a 402 that is not x402 version 2, and
   * TypeError for a body that cannot be sent twice.
   */
  async payRequest(
    user: User, method: string, url: string, options: AskOptions & PayRequestOptions,
  ): Promise<Paid> {
    const { request = {}, fetch: send = fetch, ...rest } = options;
    // Node's fetch takes every asynchronous iterable, such as a file's stream.
    if (request.body instanceof ReadableStream || Symbol.asyncIterator in Object(request.body ?? {})) {
      throw new TypeError("request.body: A stream cannot be sent twice. Give a text or bytes.");
    }
    const asked = { ...request, method: method.toUpperCase(), redirect: "manual" as const };
    const address = new URL(url);
    address.hash = ""; // it is not sent
    const response = await send(address, asked);
    if (response.status !== PAYMENT_REQUIRED) return { response, outcome: null };
    const outcome = await this.x402(user, address.href, challengeOf(response), { ...rest, method: asked.method });
    if (outcome.status !== "completed") return { response, outcome };
    const header = await this.paymentHeader(outcome, rest.signal ? { signal: rest.signal } : {});
    if (header.url !== address.href || header.method !== asked.method) {
      throw new UnexpectedAnswerError("unexpected_answer", "The service gave the payment for another request.");
    }
    await response.body?.cancel();
    const headers = new Headers(request.headers);
    headers.set(header.name, header.value);
    return { response: await send(address, { ...asked, headers }), outcome };
  }

  /**
   * Ask `user` for keys or passwords, and wait. Give `fields`, or the slug of a `provider` whose fields the operator
   * configured. `secret` returns what was typed; of a client of the user's own, `token` returns an access token.
   */
  async credentials(user: User, options: AskOptions & CredentialsOf): Promise<Outcome<"credentials">> {
    return await this.#asked(user, questions.credentials(options), options);
  }

  /**
   * Ask `user` the questions of `schema` (the restricted JSON Schema of MCP), and wait. The answers are in
   * `result.content`. A form that asks for secrets is refused: use `credentials`.
   */
  async form(user: User, schema: Json, options: Worded): Promise<Outcome<"form">> {
    return await this.#asked(user, questions.form(schema, options), options);
  }

  /** Ask `user` for a yes, and wait. Only the status `completed` means yes. */
  async confirm(user: User, options: Worded & { words?: ConfirmWords }): Promise<Outcome<"confirm">> {
    return await this.#asked(user, questions.confirm(options), options);
  }

  /**
   * Send `user` to `url`, and wait. `completion` says when the question is completed: `on_return`, when that page sends
   * the user back, or `by_agent`, when you call `complete`.
   */
  async urlAction(user: User, url: string, options: Worded & { completion?: Completion }): Promise<Outcome<"link">> {
    return await this.#asked(user, questions.urlAction(url, options), options);
  }

  /**
   * Ask `user` for several things in order behind one link, and wait. The elicitation's `result.steps` says what was
   * done, whatever the outcome is.
   */
  async steps(user: User, steps: readonly Step[], options: Worded): Promise<Outcome<"steps">> {
    return await this.#asked(user, questions.steps(steps, options), options);
  }

  /**
   * Create a question of `kind`, pass its link to `onUrl`, wait, and return how it ended. Throws StillWaiting when
   * `timeout` has passed (the question stays open), and ElicitError when the service refuses the question or cannot be
   * reached.
   */
  async ask<K extends Kind>(kind: K, user: User, params: Params[K], options: Worded): Promise<Outcome<K>> {
    const { onUrl, timeout, ...rest } = options;
    const waiting = { ...(timeout === undefined ? {} : { timeout }), ...(rest.signal ? { signal: rest.signal } : {}) };
    let elicitation = await this.create(kind, user, params, rest);
    if (!elicitation.over) {
      await onUrl(elicitation.url);
      elicitation = await this.wait(elicitation, waiting);
    }
    if (!elicitation.over) throw new StillWaiting(elicitation as Elicitation);
    return outcomeOf(elicitation);
  }

  async #asked<K extends Kind>(user: User, asked: Asked<K>, options: AskOptions): Promise<Outcome<K>> {
    return await this.ask(asked.kind, user, asked.params, { ...options, message: asked.message });
  }
}
