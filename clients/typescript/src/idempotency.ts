/** One question for one call, acting on its answer once, and taking it back. */

import type { Elicit } from "./client.ts";
import { ConflictError, StillWaiting } from "./errors.ts";
import { outcomeOf } from "./outcomes.ts";
import type { Cancelled, Declined, Outcome } from "./outcomes.ts";
import type { Elicitation } from "./shapes.ts";

/** The kinds of questions that lead to a connection, which lasts: acting on it twice does no harm. */
export const CONNECTS: readonly string[] = ["oauth", "credentials"];
const SETTLING_SECONDS = 10; // a question that can no longer be cancelled is over, or ends soon

/**
 * A digest that is the same in every process for the same values, and another for others. Throws TypeError for a value
 * whose contents cannot be read, such as a function or an instance of a class without `toJSON`.
 */
export async function keyOf(...said: readonly unknown[]): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(written(said)));
  return Array.from(new Uint8Array(digest), (one) => one.toString(16).padStart(2, "0")).join("");
}

/** JSON with sorted names. What JSON has no form for is written with its type: no two values are written alike. */
function written(value: unknown): string {
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      return Number.isFinite(value) ? JSON.stringify(value) : `number(${value})`;
    case "undefined":
      return "undefined";
    case "bigint":
      return `bigint(${value})`;
    case "object":
      return value === null ? "null" : writtenObject(value);
    default:
      throw new TypeError(`A ${typeof value} has no contents that could be compared.`);
  }
}

function writtenObject(value: object): string {
  if (Array.isArray(value)) return `[${value.map(written).join()}]`;
  if (value instanceof Map) return `Map(${written([...value])})`;
  if (value instanceof Set) return `Set(${written([...value])})`;
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return `${value.constructor.name}(${bytes.join()})`;
  }
  const kind = Object.getPrototypeOf(value);
  const plain = kind === Object.prototype || kind === null;
  if (!plain && "toJSON" in value && typeof value.toJSON === "function") {
    return `${value.constructor.name}(${written(value.toJSON())})`;
  }
  if (!plain) throw new TypeError(`A ${value.constructor.name} has no contents that could be compared.`);
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  const sorted = members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${sorted.map(([name, one]) => `${JSON.stringify(name)}:${written(one)}`).join()}}`;
}

/** Claim the elicitation for this run: true for the first caller, false for all others. Throws ElicitError. */
export async function actedOn(elicit: Elicit, elicitation: Elicitation): Promise<boolean> {
  try {
    await elicit.consume(elicitation);
  } catch (refused) {
    if (!(refused instanceof ConflictError) || refused.code !== "already_consumed") throw refused;
    return false;
  }
  return true;
}

/**
 * Cancel questions whose answers are of no use any more; the same call may ask them anew. What its user answered before
 * that stays answered. Throws ElicitError.
 */
export async function withdraw(elicit: Elicit, questions: readonly Elicitation[]): Promise<void> {
  for (const one of questions) {
    let seen: Elicitation;
    try {
      seen = await elicit.cancel(one);
    } catch (refused) {
      if (!(refused instanceof ConflictError)) throw refused;
      continue;
    }
    if (seen.status === "cancelled") await actedOn(elicit, seen);
  }
}

/**
 * Cancel a question because the client said `decline` or `cancel`, and return the outcome. If the user was quicker,
 * that is the user's outcome. Throws ElicitError, and StillWaiting if the question neither can be cancelled nor ends
 * soon (a payment that waits for a bank).
 */
export async function takenBack(elicit: Elicit, elicitation: Elicitation, action: string): Promise<Outcome> {
  let seen: Elicitation;
  try {
    seen = await elicit.cancel(elicitation);
  } catch (refused) {
    if (!(refused instanceof ConflictError)) throw refused;
    seen = await elicit.wait(elicitation.id, { timeout: SETTLING_SECONDS });
    if (!seen.over) throw new StillWaiting(seen);
  }
  if (seen.status !== "cancelled") return outcomeOf(seen);
  const declined: Declined = { status: "declined", action: "decline", elicitation: seen };
  const cancelled: Cancelled = { status: "cancelled", action: "cancel", elicitation: seen };
  return action === "decline" ? declined : cancelled;
}
