/** What users subscribed to, and its renewals. */

import { PAGE } from "./connections.ts";
import { NotCompleted } from "./errors.ts";
import type { Json } from "./kinds.ts";
import { Mandates } from "./mandates.ts";
import type { Outcome } from "./outcomes.ts";
import { claim, object } from "./reading.ts";
import type { User } from "./shapes.ts";

const SUBSCRIPTIONS = "/v1/subscriptions";

/** A subscription by its id, or as the outcome of the question that asked for it. */
export type OfSubscription = string | Outcome<"payment">;

/** Calls on subscriptions. Answers have the API's own names. */
export abstract class Subscriptions extends Mandates {
  /** What users subscribed to, newest first; only those of `user` and with `status`, if given. */
  subscriptions(
    user?: User | null, options: { status?: "active" | "past_due" | "ended"; signal?: AbortSignal } = {},
  ): AsyncGenerator<Json, void> {
    const query = { ...(user ? claim(user) : {}), status: options.status, limit: PAGE };
    return this.transport.pages(object, SUBSCRIPTIONS, query, options.signal);
  }

  /**
   * The subscription: its state, until when it is paid, and whether it is cancelled. Throws NotCompleted for an outcome
   * without a subscription.
   */
  async subscriptionOf(subscription: OfSubscription, options: { signal?: AbortSignal } = {}): Promise<Json> {
    return await this.transport.call(object, "GET", path(subscription), options);
  }

  /**
   * Cancel it at the end of the paid period, or `now`. Gives the subscription. Only its user can take a cancellation
   * back.
   */
  async cancelSubscription(
    subscription: OfSubscription, options: { now?: boolean; signal?: AbortSignal } = {},
  ): Promise<Json> {
    const json = { at: options.now ? "now" : "period_end" };
    return await this.transport.call(object, "POST", `${path(subscription)}/cancel`, { json, signal: options.signal });
  }

  /** The periods after the first, newest first. */
  renewals(subscription: OfSubscription, options: { signal?: AbortSignal } = {}): AsyncGenerator<Json, void> {
    return this.transport.pages(object, `${path(subscription)}/renewals`, { limit: PAGE }, options.signal);
  }
}

function path(subscription: OfSubscription): string {
  if (typeof subscription === "string") return `${SUBSCRIPTIONS}/${encodeURIComponent(subscription)}`;
  const found = subscription.status === "completed" ? subscription.result.subscription : undefined;
  if (found === undefined) throw new NotCompleted(subscription);
  return `${SUBSCRIPTIONS}/${encodeURIComponent(found)}`;
}
