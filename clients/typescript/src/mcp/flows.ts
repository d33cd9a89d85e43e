/** `McpFlows`, the guards of one server. */

import { Elicit } from "../client.ts";
import type { Json, Kind, Step } from "../kinds.ts";
import type { Completed } from "../outcomes.ts";
import * as questions from "../questions.ts";
import type { Asked, Completion, ConfirmWords, CredentialsOf, OAuthTerms, PaymentDetails } from "../questions.ts";
import type { Server } from "./calls.ts";
import { Guard } from "./guard.ts";
import type { Asker, Asks } from "./guard.ts";
import { Followers } from "./pushed.ts";
import { settings } from "./settings.ts";
import type { Given, Settings } from "./settings.ts";
import type { GuardOptions, Question } from "./ticket.ts";

/** Wraps a tool's callback, which then gets the outcome before what it gets anyway. */
export type Guarded<K extends Kind, O = Completed<K>> = <A extends unknown[], R>(
  tool: (outcome: O, ...given: A) => R | Promise<R>,
) => (...given: A) => Promise<R>;

/**
 * Guards for the tools of an `McpServer`, of `@modelcontextprotocol/sdk` 1.x or `@modelcontextprotocol/server` 2.x.
 *
 * Each method makes a guard, to be put around a tool's callback that is registered with `registerTool`. Several around
 * one callback ask from the outside to the inside.
 */
export class McpFlows<S extends Server> {
  /** The server's own method, for tools with guards. */
  readonly registerTool: S["registerTool"];
  readonly #server: S;
  readonly #asker: Asker;

  constructor(server: S, given: Given = {}) {
    const { elicit, ...changes } = given;
    let client = elicit;
    let followers: Followers | undefined;
    this.#server = server;
    this.#asker = {
      elicit: () => (client ??= new Elicit()),
      settings: settings(changes),
      followers: () => (followers ??= new Followers(server)),
    };
    const register = (name: string, config: { outputSchema?: unknown }, callback: (...given: unknown[]) => unknown) =>
      server.registerTool(
        name, config as never, Guard.named(server, { name, shaped: Boolean(config.outputSchema) }, callback) as never,
      );
    this.registerTool = register as S["registerTool"];
  }

  /** The same guards with these settings changed, for a tool that needs others. */
  having(changes: Partial<Settings>): McpFlows<S> {
    const { elicit, followers } = this.#asker;
    const made = new McpFlows(this.#server);
    Object.assign(made.#asker, { elicit, followers, settings: settings(changes, this.#asker.settings) });
    return made;
  }

  /**
   * Ask what `make` returns for the tool's arguments. If it returns null, the tool runs without a question, and the
   * outcome is undefined.
   */
  ask<G>(make: (given: G) => Question | null | Promise<Question | null>): Guarded<Kind, Completed | undefined> {
    return this.#around(make);
  }

  /** Connect an account at `provider` (its slug). */
  oauth(provider: string, options: GuardOptions & OAuthTerms = {}): Guarded<"oauth"> {
    return this.#asked(questions.oauth(provider, options), options);
  }

  /** Pay `amount` minor units (1999 is 19.99 EUR and 1999 JPY). `currency` is an ISO 4217 code. */
  payment(amount: number, currency: string, options: GuardOptions & PaymentDetails): Guarded<"payment"> {
    return this.#asked(questions.payment(amount, currency, options), options);
  }

  /** Hand over keys or passwords: `fields`, or those that the operator configured for a `provider`. */
  credentials(options: GuardOptions & CredentialsOf): Guarded<"credentials"> {
    return this.#asked(questions.credentials(options), options);
  }

  /** Answer the questions of `schema` (the restricted JSON Schema of MCP). A form that asks for secrets is refused. */
  form(schema: Json, options: GuardOptions & { message: string }): Guarded<"form"> {
    return this.#asked(questions.form(schema, options), options);
  }

  /** Say yes. */
  confirm(message: string, options: GuardOptions & { words?: ConfirmWords } = {}): Guarded<"confirm"> {
    return this.#asked(questions.confirm({ ...options, message }), options);
  }

  /** Go to `url`; `completion` says when that is completed: when its page sends the user back, or when you say so. */
  urlAction(url: string, options: GuardOptions & { message: string; completion?: Completion }): Guarded<"link"> {
    return this.#asked(questions.urlAction(url, options), options);
  }

  /** Do several things in order behind one link. */
  steps(steps: readonly Step[], options: GuardOptions & { message: string }): Guarded<"steps"> {
    return this.#asked(questions.steps(steps, options), options);
  }

  #asked<K extends Kind>(asked: Asked<K>, options: GuardOptions): Guarded<K> {
    const { expiresIn, returnUrl, return: back, locale, reuse, metadata } = options;
    const kept = { expiresIn, returnUrl, return: back, locale, reuse, metadata };
    const given = Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined));
    const question = { ...asked, options: given } as Asked<Kind> as Question;
    return this.#around(() => question);
  }

  #around<K extends Kind, O>(make: Asks): Guarded<K, O> {
    return ((tool: (...given: unknown[]) => unknown) => Guard.around(tool, this.#asker, make)) as Guarded<K, O>;
  }
}
