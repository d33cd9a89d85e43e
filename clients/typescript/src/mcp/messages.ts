/** The answer of a tool that was not run: words for the model, and a mark for programs. */

import type { ElicitError } from "../errors.ts";
import type { Outcome } from "../outcomes.ts";
import * as refusals from "../refusals.ts";
import type { Elicitation } from "../shapes.ts";
import type { Settings } from "./settings.ts";

/** The member of a result's `_meta`. */
export const MARK = "elicit-flows/outcome";
const CODE = /^[a-z0-9_]{1,64}$/;
const ERRORS = ["refused", "unavailable", "failed"];

export type Verdict = "declined" | "waiting" | "cancelled" | "refused" | "unavailable" | "failed";

/** The outcome, and the elicitation's id, link or reason, if there is one. */
export interface Mark {
  readonly outcome: Verdict;
  readonly elicitation?: string;
  readonly url?: string;
  readonly urls?: readonly string[];
  readonly reason?: string;
}

/** `text` begins with the verdict, unless the author supplies it. `error`: whether it is one for every tool. */
export interface Words {
  readonly text: string;
  readonly mark: Mark;
  readonly error: boolean;
}

/** Ends a call with `words`, from anywhere within it. */
export class NotRun extends Error {
  readonly words: Words;

  constructor(words: Words) {
    super(words.text);
    this.words = words;
  }
}

function words(outcome: Verdict, text: string, about: Omit<Mark, "outcome">): Words {
  return { text: `${outcome}: ${text}`, mark: { outcome, ...about }, error: ERRORS.includes(outcome) };
}

/** The words while the user has not answered. */
export function waiting(open: readonly [Elicitation, ...Elicitation[]]): Words {
  const [first] = open;
  if (open.length === 1) return words("waiting", refusals.waitingFor(first), { elicitation: first.id, url: first.url });
  const urls = open.map(({ url }) => url);
  return words("waiting", refusals.waitingForAll(urls), { urls });
}

/** The words for a refusal whose links the library would lose. */
export function waitingFor(message: string, urls: readonly string[]): Words {
  return { ...words("waiting", `${message} ${urls.join(", ")}`, { urls }), error: true };
}

/** The words for the second of two calls with one answer. The first may still run, so nobody may call again. */
export function used({ id }: Elicitation): Words {
  return words("cancelled", refusals.USED, { elicitation: id, reason: "already_used" });
}

/** The words for any kind of no, or the author's own text. */
export function ended(settings: Settings, outcome: Outcome): Words {
  const said = no(outcome);
  return settings.say ? { text: settings.say(outcome), mark: said.mark, error: false } : said;
}

function no(outcome: Outcome): Words {
  const elicitation = outcome.elicitation.id;
  const text = refusals.whyNot(outcome);
  if (outcome.status === "declined") return words("declined", text, { elicitation });
  const reason = outcome.status === "failed" ? outcome.code : outcome.status;
  return words("cancelled", text, { elicitation, reason });
}

export function refused(text: string, reason: string): Words {
  return words("refused", text, { reason });
}

/** The words when the service refuses or cannot be reached. Its message may have addresses, so only the log has it. */
export function unavailable(error: ElicitError, tool: string, begun: boolean): Words {
  console.error(`${tool}: the service refused:`, error);
  const reason = CODE.test(error.code) ? error.code : "error";
  if (begun) {
    const why = `The tool was begun and could not go on, because the service refused (${reason}).`;
    return words("failed", `${why} It may be half done.`, { reason });
  }
  return words("unavailable", `The user cannot be asked at the moment (${reason}). Nothing was done.`, { reason });
}
