/** The question of one call of a tool, what becomes of a no, and waiting for several. */

import type { Elicit } from "../client.ts";
import { ElicitError } from "../errors.ts";
import { actedOn } from "../idempotency.ts";
import { Keyed } from "../keyed.ts";
import type { Question } from "../keyed.ts";
import { outcomeOf } from "../outcomes.ts";
import type { Declined, Outcome } from "../outcomes.ts";
import type { Claim, Elicitation } from "../shapes.ts";

const NO = "declined"; // the member of the note that says when a call was told about the no
const CALL = "mcp_call"; // the member of an elicitation's metadata that says which call it belongs to
const NOTE_SECONDS = 5;

/** `key` identifies server, user, client, tool and arguments. `place`: the guard's position on the tool. */
export class PendingQuestion extends Keyed {
  readonly place: number;
  /** Seconds for which a no stands. */
  readonly askAgainAfter: number;

  constructor(place: number, key: string, question: Question, user: Claim, askAgainAfter: number) {
    super(CALL, key, question, user);
    this.place = place;
    this.askAgainAfter = askAgainAfter;
  }

  /** The question of this call. It is new only if there is none that is open, unreported, or declined a moment ago. */
  async ask(elicit: Elicit): Promise<Elicitation> {
    const seen = await this.create(elicit);
    if (seen.status !== "expired" && !(await this.#isStale(elicit, seen)) && !(await this.#isOldNo(elicit, seen))) {
      return seen;
    }
    await actedOn(elicit, seen);
    return await this.create(elicit);
  }

  /** Whether it led to a connection that has ended since, because the call never came back. */
  async #isStale(elicit: Elicit, seen: Elicitation): Promise<boolean> {
    const result = seen.result ?? {};
    if (!("connection" in result) || seen.reused) return false;
    const standing = await elicit.connections(this.user);
    return !standing.some((one) => one.id === result.connection && one.status === "active");
  }

  /** Whether it was declined, and reported longer than `askAgainAfter` ago. */
  async #isOldNo(elicit: Elicit, seen: Elicitation): Promise<boolean> {
    if (seen.status !== "declined" && seen.status !== "cancelled") return false;
    const told = (await elicit.note(seen))[NO];
    return told !== undefined && Date.now() - Date.parse(told) > this.askAgainAfter * 1000;
  }

  /** How it ended. The service sees a decline in the client as a cancelled question; the note tells them apart. */
  async outcome(elicit: Elicit, seen: Elicitation): Promise<Outcome> {
    if (seen.status === "cancelled" && NO in (await elicit.note(seen))) {
      return { status: "declined", action: "decline", elicitation: seen };
    }
    return outcomeOf(seen);
  }

  /** Store a no for the next calls, which other processes may serve. False if it could not be stored. */
  async keep(elicit: Elicit, { elicitation }: Declined): Promise<boolean> {
    const signal = AbortSignal.timeout(NOTE_SECONDS * 1000);
    try {
      if (NO in (await elicit.note(elicitation, { signal }))) return true;
      await elicit.addToNote(elicitation, { [NO]: new Date().toISOString() }, { signal });
    } catch (error) {
      if (!(error instanceof ElicitError) && error !== signal.reason) throw error;
      return false;
    }
    return true;
  }
}

/** How a question ended; the elicitation if the call ends before that. */
export type Answer = { readonly outcome: Outcome } | { readonly open: Elicitation };

/** How questions ended, by place: all of them, or else one is a no. `open`: those that are left when the call ends. */
export type Answers =
  | { readonly outcomes: ReadonlyMap<number, Outcome> }
  | { readonly open: readonly [Elicitation, ...Elicitation[]] }
  | { readonly result: { [name: string]: unknown } };

export function hasNo(outcomes: ReadonlyMap<number, Outcome>): boolean {
  return [...outcomes.values()].some(({ status }) => status !== "completed");
}

/** Wait for all of them, by place, or until one is a no: then the signal ends the others. */
export async function untilANo(
  waits: ReadonlyMap<number, (leave: AbortSignal) => Promise<Answer>>,
): Promise<Map<number, Outcome>> {
  const leaving = new AbortController();
  const outcomes = new Map<number, Outcome>();
  const waited = [...waits].map(async ([place, wait]) => {
    const answer = await wait(leaving.signal);
    if (!("outcome" in answer)) return;
    outcomes.set(place, answer.outcome);
    if (answer.outcome.status !== "completed") leaving.abort();
  });
  try {
    await Promise.all(waited);
  } finally {
    leaving.abort();
  }
  return outcomes;
}
