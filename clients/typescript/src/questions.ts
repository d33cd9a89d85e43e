/** The kinds of questions and their parameters, in one place: what `Elicit` asks, and what guards ask. */

import type { CredentialsField, Json, Kind, MandateLimits, Order, Params, Step } from "./kinds.ts";

const LONGEST_MESSAGE = 2000;

/** What `create` takes, without the user. */
export type Asked<K extends Kind> = { kind: K; params: Params[K]; message: string };

/** The terms of a payment. An item that was paid for on the same terms is not asked for again. */
export interface PaymentTerms {
  mode?: "pay" | "save" | "subscribe";
  /** For subscribe. */
  interval?: "day" | "week" | "month" | "year";
  /** For subscribe: how many days are free before the first charge. */
  trial_days?: number;
  /** The slug of the payment account, if the agent has several. */
  account?: string;
  /** What the user may use once it is paid. */
  item?: string;
  /** How often. */
  uses?: number;
  /** The lines that the user sees, in mode pay. Together with the tax they are the amount. */
  order?: Order;
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

/** What connecting an account takes beside the provider. */
export interface OAuthTerms {
  message?: string;
  /** They are added to those that the operator set. */
  scopes?: readonly string[];
  /** Why a scope is needed, by its name, in one line each. The user reads it below the scope. */
  reasons?: Record<string, string>;
  /** The id of a connection that is to be connected again. */
  connection?: string;
  /** What is known of the provider's address, such as the user's shop. */
  variables?: Record<string, string>;
}

export interface PaymentDetails {
  message?: string;
  description: string;
  terms?: PaymentTerms;
}

export interface MandateDetails {
  message?: string;
  description: string;
  /** The slug of the payment account, if the agent has several. */
  account?: string;
}

/** What paying for a 402 takes beside its challenge. */
export interface X402Details {
  message?: string;
  /** The method of the request that is paid for (GET). */
  method?: string;
  /** The slug of the wallet. Without it, the first that fits. */
  account?: string;
}

/** The fields that the user fills in, or the slug of a provider whose fields the operator configured. */
export type CredentialsOf = { message?: string } & ({ fields: readonly CredentialsField[] } | { provider: string });

export function oauth(
  provider: string, { message, scopes = [], reasons, connection, variables }: OAuthTerms,
): Asked<"oauth"> {
  const again = { ...(connection === undefined ? {} : { connection }), ...(variables ? { variables } : {}) };
  const params = { provider, scopes, ...(reasons ? { reasons } : {}), ...again };
  return { kind: "oauth", params, message: message || `Connect your account at ${provider}.` };
}

export function payment(
  amount: number, currency: string, { message, description, terms = {} }: PaymentDetails,
): Asked<"payment"> {
  const params = { amount, currency, description, ...terms };
  return { kind: "payment", params, message: message || `Pay for: ${description}` };
}

export function mandate(
  currency: string, limits: MandateLimits, { message, description, account }: MandateDetails,
): Asked<"payment"> {
  const params = { mode: "mandate" as const, currency, description, mandate: limits };
  const asked = { ...params, ...(account === undefined ? {} : { account }) };
  return { kind: "payment", params: asked, message: message || `Allow charges for: ${description}` };
}

export function priceChange(
  subscription: string, amount: number, currency: string, { message }: { message?: string },
): Asked<"payment"> {
  const params = { mode: "subscribe" as const, changes: subscription, amount, currency };
  return { kind: "payment", params, message: message || "Change the price of your subscription." };
}

export function x402(
  url: string, challenge: Json, { message, method = "GET", account }: X402Details,
): Asked<"x402"> {
  const params = { url, method, challenge, ...(account === undefined ? {} : { account }) };
  return { kind: "x402", params, message: message || `Pay for what ${url} offers.`.slice(0, LONGEST_MESSAGE) };
}

export function credentials(given: CredentialsOf): Asked<"credentials"> {
  const { message, fields, provider }: { message?: string } & Params["credentials"] = given;
  const params = { ...(fields ? { fields } : {}), ...(provider ? { provider } : {}) };
  return { kind: "credentials", params, message: message || "Hand over your key." };
}

export function form(schema: Json, { message }: { message: string }): Asked<"form"> {
  const properties = schema["properties"];
  const order = typeof properties === "object" && properties !== null ? { order: Object.keys(properties) } : {};
  return { kind: "form", params: { schema, ...order }, message };
}

export function confirm({ message, words = {} }: { message: string; words?: ConfirmWords }): Asked<"confirm"> {
  const { confirmLabel, declineLabel, ...params } = words;
  const labels = {
    ...(confirmLabel === undefined ? {} : { confirm_label: confirmLabel }),
    ...(declineLabel === undefined ? {} : { decline_label: declineLabel }),
  };
  return { kind: "confirm", params: { ...params, ...labels }, message };
}

export type Completion = "on_return" | "by_agent";

export function urlAction(
  url: string, { message, completion = "on_return" }: { message: string; completion?: Completion },
): Asked<"link"> {
  return { kind: "link", params: { url, completion }, message };
}

export function steps(steps: readonly Step[], { message }: { message: string }): Asked<"steps"> {
  return { kind: "steps", params: { steps }, message };
}
