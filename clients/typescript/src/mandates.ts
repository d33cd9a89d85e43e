/** What users allowed this agent to charge later, and charging it. */

import { Connections, PAGE } from "./connections.ts";
import { NotCompleted } from "./errors.ts";
import type { Json } from "./kinds.ts";
import type { Outcome } from "./outcomes.ts";
import { claim, object } from "./reading.ts";
import type { User } from "./shapes.ts";
import { randomKey } from "./transport.ts";

const MANDATES = "/v1/mandates";

/** A mandate by its id, or as the outcome of the question that asked for it. */
export type OfMandate = string | Outcome<"payment">;

/** What a charge is for. */
export interface ChargeDetails {
  description: string;
  /** What the user may use once it is paid. */
  item?: string;
  /** How often. */
  uses?: number;
  /** Your own JSON, returned with the charge. */
  metadata?: Json;
  /** Called again under the same key, it is charged once; use one for each purchase. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

/** Calls on mandates. Answers have the API's own names. */
export abstract class Mandates extends Connections {
  /** The mandates that users gave this agent, newest first; only those of `user` and with `status`, if given. */
  mandates(
    user?: User | null, options: { status?: "active" | "ended"; signal?: AbortSignal } = {},
  ): AsyncGenerator<Json, void> {
    const query = { ...(user ? claim(user) : {}), status: options.status, limit: PAGE };
    return this.transport.pages(object, MANDATES, query, options.signal);
  }

  /** The mandate with its limits, and in `used` what is charged or reserved of them. */
  async mandateOf(mandate: OfMandate, options: { signal?: AbortSignal } = {}): Promise<Json> {
    return await this.transport.call(object, "GET", path(mandate), options);
  }

  /**
   * Charge `amount` minor units under the mandate. The charge's `status` is paid, failed, processing (an event
   * follows), announced, or requires_action: then the user has to open its `url`.
   *
   * Throws PermissionDeniedError `over_limit` beyond a limit, ConflictError when the mandate has ended, and NotCompleted
   * for an outcome without a mandate.
   */
  async charge(mandate: OfMandate, amount: number, details: ChargeDetails): Promise<Json> {
    const { idempotencyKey, signal, ...said } = details;
    const headers = { "Idempotency-Key": idempotencyKey || randomKey() };
    const json = { amount, ...said };
    return await this.transport.call(object, "POST", `${path(mandate)}/charges`, { json, headers, signal });
  }

  /** The charges of a mandate, newest first. */
  charges(mandate: OfMandate, options: { signal?: AbortSignal } = {}): AsyncGenerator<Json, void> {
    return this.transport.pages(object, `${path(mandate)}/charges`, { limit: PAGE }, options.signal);
  }

  /** End it: nothing more can be charged. Gives the mandate. */
  async endMandate(mandate: OfMandate, options: { signal?: AbortSignal } = {}): Promise<Json> {
    return await this.transport.call(object, "POST", `${path(mandate)}/end`, options);
  }
}

function path(mandate: OfMandate): string {
  if (typeof mandate === "string") return `${MANDATES}/${encodeURIComponent(mandate)}`;
  const found = mandate.status === "completed" ? mandate.result.mandate : undefined;
  if (found === undefined) throw new NotCompleted(mandate);
  return `${MANDATES}/${encodeURIComponent(found)}`;
}
