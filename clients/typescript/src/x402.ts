/** Paying for what answers 402 (x402): the user agrees, the operator's wallet pays, and the request is repeated. */

import { NotCompleted } from "./errors.ts";
import type { Json } from "./kinds.ts";
import type { Outcome } from "./outcomes.ts";
import { object, paymentHeader } from "./reading.ts";
import type { PaymentHeader } from "./shapes.ts";
import { Subscriptions } from "./subscriptions.ts";
import { randomKey } from "./transport.ts";

const AUTHORIZATIONS = "/v1/authorizations";
export const PAYMENT_REQUIRED = 402;
const REQUIRED = "payment-required";

/** An authorization by its id, or as the outcome of the question that asked for it. */
export type OfAuthorization = string | Outcome<"x402">;

/** `response` is the last one that the server gave. `outcome` is null if it asked for no payment. */
export interface Paid {
  readonly response: Response;
  readonly outcome: Outcome<"x402"> | null;
}

/** What a 402 asks for, to be passed to `x402`. Throws RangeError for a response without it, such as one of version 1. */
export function challengeOf(response: Response): Json {
  const said = response.headers.get(REQUIRED);
  if (response.status !== PAYMENT_REQUIRED || said === null) {
    throw new RangeError("This response has no PAYMENT-REQUIRED header, which is how x402 version 2 asks for payment.");
  }
  try {
    const bytes = Uint8Array.from(atob(said), (one) => one.charCodeAt(0));
    return object(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch (cause) {
    throw new RangeError("The PAYMENT-REQUIRED header of this response cannot be read.", { cause });
  }
}

/** Calls on payments by HTTP 402. */
export abstract class Paying extends Subscriptions {
  /**
   * The header that pays. It is given once: send it to its `url` by its `method` only. Throws ConflictError
   * `already_consumed` when it was given before, `conflict` when it is too late, and NotCompleted for an outcome
   * without an authorization.
   */
  async paymentHeader(
    authorization: OfAuthorization, options: { idempotencyKey?: string; signal?: AbortSignal } = {},
  ): Promise<PaymentHeader> {
    if (typeof authorization !== "string" && authorization.status !== "completed") {
      throw new NotCompleted(authorization);
    }
    const id = typeof authorization === "string" ? authorization : authorization.result.authorization;
    const headers = { "Idempotency-Key": options.idempotencyKey || randomKey() };
    const path = `${AUTHORIZATIONS}/${encodeURIComponent(id)}/sign`;
    return await this.transport.call(paymentHeader, "POST", path, { headers, signal: options.signal });
  }
}
