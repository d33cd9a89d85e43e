/** One call of a guarded tool: who the user is, what is asked, how it ended, and only then the tool. */

import type { Elicit } from "../client.ts";
import { ElicitError, StillWaiting } from "../errors.ts";
import type { Asks } from "../guards.ts";
import { actedOn, CONNECTS, withdraw } from "../idempotency.ts";
import type { Completed, Outcome } from "../outcomes.ts";
import { Call } from "./calls.ts";
import type { Server, Tool } from "./calls.ts";
import { userOf } from "./identity.ts";
import * as messages from "./messages.ts";
import { NotRun } from "./messages.ts";
import * as pushed from "./pushed.ts";
import type { Followers } from "./pushed.ts";
import { PendingQuestion } from "./pending-question.ts";
import type { Answers } from "./pending-question.ts";
import * as rounds from "./rounds.ts";
import type { Settings } from "./settings.ts";

const REGISTER = "Register this tool with flows.registerTool, so that its guard knows its name.";

/** What a guard needs to ask. */
export interface Asker {
  readonly elicit: () => Elicit;
  readonly settings: Settings;
  readonly followers: () => Followers;
}

type Callback = (...given: unknown[]) => unknown;
type Due = readonly [Asker, PendingQuestion];

/** The guards of each guarded callback, from the outermost to the innermost, and the tool itself. */
const KNOWN = new WeakMap<Callback, Guard>();

export class Guard {
  readonly #tool: Callback;
  readonly #asks: readonly (readonly [Asker, Asks])[];

  constructor(tool: Callback, asks: readonly (readonly [Asker, Asks])[]) {
    this.#tool = tool;
    this.#asks = asks;
  }

  /** The callback with one guard more, which is asked before those that it has. */
  static around(tool: Callback, asker: Asker, make: Asks): Callback {
    const inner = KNOWN.get(tool);
    const guard = new Guard(inner ? inner.#tool : tool, [[asker, make], ...(inner ? inner.#asks : [])]);
    const guarded: Callback = () => Promise.reject(new Error(REGISTER));
    KNOWN.set(guarded, guard);
    return guarded;
  }

  /** The callback to register for a tool; one without guards as it is. */
  static named(server: Server, tool: Tool, callback: Callback): Callback {
    const guard = KNOWN.get(callback);
    if (!guard) return callback;
    return async (...given) => {
      const call = new Call(server, tool, given.length > 1 ? given[0] : {}, given.at(-1));
      return await guard.#call(call, given);
    };
  }

  async #call(call: Call, given: readonly unknown[]): Promise<unknown> {
    try {
      return await this.#guarded(call, given);
    } catch (thrown) {
      const error = call.begun ? call.thrown(thrown) : thrown;
      if (error instanceof NotRun) return call.answer(error.words);
      if (error instanceof ElicitError) {
        return call.answer(messages.unavailable(error, call.tool.name, call.begun));
      }
      throw error;
    }
  }

  async #guarded(call: Call, given: readonly unknown[]): Promise<unknown> {
    const ended = new Map<number, readonly [Asker, Completed]>();
    let due = await this.#questions(call);
    while (due[0]) {
      const [asker] = due[0];
      const now = due.filter(([one], at) => at === 0 || (asker.settings.together && one === asker));
      due = due.filter((one) => !now.includes(one));
      const questions = now.map(([, pending]) => pending);
      const answer = await asked(call, asker, questions, due);
      if ("result" in answer) return answer.result;
      if ("open" in answer) return call.answer(messages.waiting(answer.open));
      const { outcomes } = answer;
      for (const pending of questions) {
        const outcome = outcomes.get(pending.place);
        if (outcome?.status === "completed") ended.set(pending.place, [asker, outcome]);
        else if (outcome) {
          await told(asker, pending, outcome);
          const open = questions.filter(({ place }) => !outcomes.has(place)).map((one) => one.ask(asker.elicit()));
          await withdraw(asker.elicit(), await Promise.all(open));
          return call.answer(messages.ended(asker.settings, outcome));
        }
      }
    }
    const done = [...ended].sort(([one], [other]) => one - other).map(([, each]) => each);
    const last = done.at(-1);
    // Nobody would get what the tool returns; the same call finds the answer unused.
    if (last && call.signal.aborted) return call.answer(messages.waiting([last[1].elicitation]));
    if (last && !(await acts(done))) return call.answer(messages.used(last[1].elicitation));
    call.begun = true;
    for (const [asker, one] of done) await asker.settings.after?.(one);
    // The guard nearest to the tool was wrapped around it first, so its outcome comes first.
    return await this.#tool(...this.#asks.map((_, place) => ended.get(place)?.[1]).reverse(), ...given);
  }

  async #questions(call: Call): Promise<Due[]> {
    const found: Due[] = [];
    for (const [place, [asker, make]] of this.#asks.entries()) {
      const question = await make(call.given);
      if (!question) continue;
      const { settings } = asker;
      const user = userOf(settings, call.token);
      const { kind, params, message, options = {} } = question;
      const key = await call.key(settings, place, user, [kind, params, message, options]);
      found.push([asker, new PendingQuestion(place, key, question, user, settings.askAgainAfter)]);
    }
    return found;
  }
}

/** `rest`: what will be asked afterwards. */
async function asked(
  call: Call, asker: Asker, questions: readonly PendingQuestion[], rest: readonly Due[],
): Promise<Answers> {
  const { settings } = asker;
  const elicit = asker.elicit();
  try {
    if (call.modern) return await rounds.asked(elicit, settings, call, questions);
    const later = rest.map(([, one]) => one);
    return await pushed.asked(elicit, settings, asker.followers(), call, questions, later);
  } catch (error) {
    if (error instanceof StillWaiting) return { open: [error.elicitation] };
    throw error;
  }
}

/** A no is reported, and a user who declined is not asked again for a while. */
async function told(asker: Asker, pending: PendingQuestion, no: Outcome): Promise<void> {
  const elicit = asker.elicit();
  if (no.status === "declined" && pending.askAgainAfter && (await pending.keep(elicit, no))) return;
  await actedOn(elicit, no.elicitation);
}

/** Whether this run is the one that acts on the outcomes. Several runs may act on a connection. */
async function acts(ended: readonly (readonly [Asker, Completed])[]): Promise<boolean> {
  for (const [asker, { elicitation }] of ended.toReversed()) {
    const first = await actedOn(asker.elicit(), elicitation);
    if (!first && !CONNECTS.includes(elicitation.kind)) return false;
  }
  return true;
}
