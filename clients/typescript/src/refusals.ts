/** The words for a call whose tool was not run: they tell a model what happened, and whether to call again. */

import { ElicitError } from "./errors.ts";
import type { Outcome } from "./outcomes.ts";
import type { Elicitation } from "./shapes.ts";

export const USED =
  "Another call with this answer is running the tool, or has run it. Do not call it again for this.";

export function waitingFor({ url }: Elicitation): string {
  return `The user has not done it yet. Their link is ${url} ; call this tool again when they have.`;
}

export function waitingForAll(urls: readonly string[]): string {
  const links = urls.join(", ");
  return `The user has not done it all yet. Their links are ${links} ; call this tool again when they have.`;
}

/** Why there is no yes. */
export function whyNot(outcome: Outcome): string {
  switch (outcome.status) {
    case "declined":
      return "The user said no. Do not call this again unless they ask for it.";
    case "expired":
      return "Nobody answered in time.";
    case "failed":
      return `It could not be done. ${outcome.message}`;
    default:
      return "The question was taken back.";
  }
}

/**
 * A guarded tool or step was not run. `code` is `waiting`, `declined`, `cancelled`, `expired`, `failed`, or
 * `already_used` for the second of two runs with one answer.
 */
export class NotRun extends ElicitError {
  readonly elicitation: Elicitation;

  constructor(code: string, message: string, elicitation: Elicitation) {
    super(code, message);
    this.elicitation = elicitation;
  }
}
