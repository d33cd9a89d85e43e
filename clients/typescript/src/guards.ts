/** The methods by which guards are made: one for each kind of question. */

import type { GuardOptions, Question } from "./keyed.ts";
import type { Json, Kind, Step } from "./kinds.ts";
import type { Completed } from "./outcomes.ts";
import * as questions from "./questions.ts";
import type { Asked, Completion, ConfirmWords, CredentialsOf, OAuthTerms, PaymentDetails } from "./questions.ts";

/** Returns the question for a call, or null if nothing is to be asked. */
export type Asks<G = any> = (given: G) => Question | null | undefined | Promise<Question | null | undefined>;

/**
 * What a subclass makes of a question. TypeScript has no type parameter that takes one itself, so a subclass extends
 * this interface, and its `guard` is written with `this["kind"]` and `this["outcome"]`.
 */
export interface Made {
  readonly kind: Kind;
  /** `Completed` of the kind, or undefined too where nothing may have been asked. */
  readonly outcome: unknown;
  readonly guard: unknown;
}

type Of<M extends Made, K extends Kind> = (M & { readonly kind: K; readonly outcome: Completed<K> })["guard"];
type Perhaps<M extends Made> = (M & { readonly outcome: Completed | undefined })["guard"];

/** Guards of one framework or server. */
export abstract class Guards<M extends Made> {
  protected abstract guard(make: Asks): unknown;

  /**
   * Ask what `make` returns for the call's arguments. If it returns null, the call goes on without a question, and the
   * outcome is undefined.
   */
  ask<G>(make: Asks<G>): Perhaps<M> {
    return this.guard(make) as Perhaps<M>;
  }

  /** Connect an account at `provider` (its slug). */
  oauth(provider: string, options: GuardOptions & OAuthTerms = {}): Of<M, "oauth"> {
    return this.#asked(questions.oauth(provider, options), options);
  }

  /** Pay `amount` minor units (1999 is 19.99 EUR and 1999 JPY). `currency` is an ISO 4217 code. */
  payment(amount: number, currency: string, options: GuardOptions & PaymentDetails): Of<M, "payment"> {
    return this.#asked(questions.payment(amount, currency, options), options);
  }

  /** Hand over keys or passwords: `fields`, or those that the operator configured for a `provider`. */
  credentials(options: GuardOptions & CredentialsOf): Of<M, "credentials"> {
    return this.#asked(questions.credentials(options), options);
  }

  /** Answer the questions of `schema` (the restricted JSON Schema of MCP). A form that asks for secrets is refused. */
  form(schema: Json, options: GuardOptions & { message: string }): Of<M, "form"> {
    return this.#asked(questions.form(schema, options), options);
  }

  /** Say yes. */
  confirm(message: string, options: GuardOptions & { words?: ConfirmWords } = {}): Of<M, "confirm"> {
    return this.#asked(questions.confirm({ ...options, message }), options);
  }

  /** Go to `url`; `completion` says when that is completed: when its page sends the user back, or when you say so. */
  urlAction(url: string, options: GuardOptions & { message: string; completion?: Completion }): Of<M, "link"> {
    return this.#asked(questions.urlAction(url, options), options);
  }

  /** Do several things in order behind one link. */
  steps(steps: readonly Step[], options: GuardOptions & { message: string }): Of<M, "steps"> {
    return this.#asked(questions.steps(steps, options), options);
  }

  #asked<K extends Kind>(asked: Asked<K>, options: GuardOptions): Of<M, K> {
    const { expiresIn, returnUrl, return: back, locale, notify, reuse, metadata } = options;
    const kept: Required<{ [N in keyof GuardOptions]: unknown }> = {
      expiresIn, returnUrl, return: back, locale, notify, reuse, metadata,
    };
    const given = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
    const question = { ...asked, options: given } as Asked<Kind> as Question;
    return this.guard(() => question) as Of<M, K>;
  }
}
