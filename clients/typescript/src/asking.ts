/** Ask and wait: one method for each kind of question. */

import { Connections } from "./connections.ts";
import { StillWaiting } from "./errors.ts";
import type { CredentialsField, Json, Kind, Params, Step } from "./kinds.ts";
import { outcomeOf } from "./outcomes.ts";
import type { Outcome } from "./outcomes.ts";
import type { Elicitation, User } from "./shapes.ts";

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

type Worded = AskOptions & { message: string };
type MayBeWorded = AskOptions & { message?: string };

/** The terms of a payment. An item that was paid for on the same terms is not asked for again. */
export interface PaymentTerms {
  mode?: "pay" | "save" | "subscribe";
  /** For subscribe. */
  interval?: "day" | "week" | "month" | "year";
  /** The slug of the payment account, if the agent has several. */
  account?: string;
  /** What the user may use once it is paid. */
  item?: string;
  /** How often. */
  uses?: number;
}

/** The words of a confirmation. */
export interface ConfirmWords {
  /** What exactly will happen. */
  detail?: string;
  /** The user has to type a word first. */
  danger?: boolean;
  confirmLabel?: string;
  declineLabel?: string;
}

/** Each method creates an elicitation, shows its link, and waits for the end: see `ask`. */
export abstract class Asking extends Connections {
  abstract create<K extends Kind>(
    kind: K, user: User, params: Params[K], options: Options & { message: string },
  ): Promise<Elicitation<K>>;

  abstract wait<K extends Kind = Kind>(
    elicitation: string | Elicitation<K>, options?: { timeout?: number; signal?: AbortSignal },
  ): Promise<Elicitation<K>>;

  /**
   * Ask `user` to connect an account at `provider`, the slug under which the operator configured it, and wait.
   * `scopes` are added to those that the operator set. `connection` is the id of one that is to be connected again.
   */
  async oauth(
    user: User, provider: string, options: MayBeWorded & { scopes?: readonly string[]; connection?: string },
  ): Promise<Outcome<"oauth">> {
    const { scopes = [], connection, ...rest } = options;
    const params: Params["oauth"] = { provider, scopes, ...(connection === undefined ? {} : { connection }) };
    const message = rest.message || `Connect your account at ${provider}.`;
    return await this.ask("oauth", user, params, { ...rest, message });
  }

  /**
   * Ask `user` to pay `amount` minor units (1999 is 19.99 EUR and 1999 JPY) for `description`, and wait. Use one
   * `idempotencyKey` for each purchase: asked again under that key, it is paid once.
   */
  async payment(
    user: User, amount: number, currency: string,
    options: MayBeWorded & { description: string; terms?: PaymentTerms },
  ): Promise<Outcome<"payment">> {
    const { description, terms = {}, ...rest } = options;
    const params = { amount, currency, description, ...terms };
    return await this.ask("payment", user, params, { ...rest, message: rest.message || `Pay for: ${description}` });
  }

  /**
   * Ask `user` for keys or passwords, and wait. Give `fields`, or the slug of a `provider` whose fields the operator
   * configured. `secret` returns what was typed; of a client of the user's own, `token` returns an access token.
   */
  async credentials(
    user: User, options: MayBeWorded & ({ fields: readonly CredentialsField[] } | { provider: string }),
  ): Promise<Outcome<"credentials">> {
    const { fields, provider, ...rest }: MayBeWorded & Params["credentials"] = options;
    const params = { ...(fields ? { fields } : {}), ...(provider ? { provider } : {}) };
    return await this.ask("credentials", user, params, { ...rest, message: rest.message || "Hand over your key." });
  }

  /**
   * Ask `user` the questions of `schema` (the restricted JSON Schema of MCP), and wait. The answers are in
   * `result.content`. A form that asks for secrets is refused: use `credentials`.
   */
  async form(user: User, schema: Json, options: Worded): Promise<Outcome<"form">> {
    const properties = schema["properties"];
    const order = typeof properties === "object" && properties !== null ? { order: Object.keys(properties) } : {};
    return await this.ask("form", user, { schema, ...order }, options);
  }

  /** Ask `user` for a yes, and wait. Only the status `completed` means yes. */
  async confirm(user: User, options: Worded & { words?: ConfirmWords }): Promise<Outcome<"confirm">> {
    const { words: { confirmLabel, declineLabel, ...params } = {}, ...rest } = options;
    const labels = {
      ...(confirmLabel === undefined ? {} : { confirm_label: confirmLabel }),
      ...(declineLabel === undefined ? {} : { decline_label: declineLabel }),
    };
    return await this.ask("confirm", user, { ...params, ...labels }, rest);
  }

  /**
   * Send `user` to `url`, and wait. `completion` says when the question is completed: `on_return`, when that page sends
   * the user back, or `by_agent`, when you call `complete`.
   */
  async urlAction(
    user: User, url: string, options: Worded & { completion?: "on_return" | "by_agent" },
  ): Promise<Outcome<"link">> {
    const { completion = "on_return", ...rest } = options;
    return await this.ask("link", user, { url, completion }, rest);
  }

  /**
   * Ask `user` for several things in order behind one link, and wait. The elicitation's `result.steps` says what was
   * done, whatever the outcome is.
   */
  async steps(user: User, steps: readonly Step[], options: Worded): Promise<Outcome<"steps">> {
    return await this.ask("steps", user, { steps }, options);
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
}
