/** How a question ended, as a value: look at its `status`. A decline is an answer, not an error. */

import { ElicitError } from "./errors.ts";
import type { Kind, Results } from "./kinds.ts";
import type { Elicitation } from "./shapes.ts";

interface Ended<K extends Kind> {
  readonly elicitation: Elicitation<K>;
}

/** The user did what was asked. This is the only outcome that means yes. */
export interface Completed<K extends Kind = Kind> extends Ended<K> {
  readonly status: "completed";
  readonly action: "accept";
  /** What the kind defines, for example the id of a connection or the answers of a form. */
  readonly result: Results[K];
  /** Whether an earlier answer was reused, and nobody was asked. */
  readonly reused: boolean;
}

/** The user said no. */
export interface Declined<K extends Kind = Kind> extends Ended<K> {
  readonly status: "declined";
  readonly action: "decline";
}

/** The agent cancelled the question. */
export interface Cancelled<K extends Kind = Kind> extends Ended<K> {
  readonly status: "cancelled";
  readonly action: "cancel";
}

/** Nobody answered in time. */
export interface Expired<K extends Kind = Kind> extends Ended<K> {
  readonly status: "expired";
  readonly action: "cancel";
}

/** The request failed; `code` and `message` say why. */
export interface Failed<K extends Kind = Kind> extends Ended<K> {
  readonly status: "failed";
  readonly action: null;
  readonly code: string;
  readonly message: string;
}

export type Outcome<K extends Kind = Kind> = Completed<K> | Declined<K> | Cancelled<K> | Expired<K> | Failed<K>;

/** The outcome of an elicitation that is over. Throws ElicitError `not_over` while it is open. */
export function outcomeOf<K extends Kind>(elicitation: Elicitation<K>): Outcome<K> {
  switch (elicitation.status) {
    case "completed": {
      const result = (elicitation.result ?? {}) as Results[K];
      return { status: "completed", action: "accept", elicitation, result, reused: elicitation.reused };
    }
    case "declined":
      return { status: "declined", action: "decline", elicitation };
    case "cancelled":
      return { status: "cancelled", action: "cancel", elicitation };
    case "expired":
      return { status: "expired", action: "cancel", elicitation };
    case "failed": {
      const { code = "", message = "" } = elicitation.error ?? {};
      return { status: "failed", action: null, elicitation, code, message };
    }
    default:
      throw new ElicitError("not_over", `${elicitation.id} is still ${elicitation.status}`);
  }
}
