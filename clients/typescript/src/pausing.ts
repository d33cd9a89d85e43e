/** Guards for frameworks whose runs pause: what a paused call was asked, and whether it may go on. */

import { Elicit } from "./client.ts";
import type { Asks } from "./guards.ts";
import { actedOn, CONNECTS, keyOf } from "./idempotency.ts";
import { Keyed } from "./keyed.ts";
import type { Question } from "./keyed.ts";
import type { Json } from "./kinds.ts";
import { outcomeOf } from "./outcomes.ts";
import type { Completed } from "./outcomes.ts";
import { claim } from "./reading.ts";
import { NotRun, USED, waitingFor, whyNot } from "./refusals.ts";
import type { Elicitation, User } from "./shapes.ts";

/** Who is asked, and how. `C` is what the framework hands to a tool beside its arguments. */
export interface Settings<C> {
  /** The user, or what finds the user of a call. It must not come from the model or from what the caller says. */
  readonly user: User | ((call: C) => User | Promise<User>);
  /** Shows the link to the user. */
  readonly onUrl?: (url: string, elicitation: Elicitation) => unknown;
  /** Your own JSON, returned with each elicitation and its events: what you need to find the run again. */
  readonly metadata?: Json;
  /** The client. The default is made from the environment at the first call. */
  readonly elicit?: Elicit;
}

/** The question of a paused call. */
export interface Asked {
  readonly question: Question;
  readonly keyed: Keyed;
}

/** The questions of one set of guards. */
export class Pausing<C> {
  readonly #settings: Settings<C>;
  readonly #mark: string;
  #elicit: Elicit | undefined;

  /** `mark`: the member of an elicitation's metadata that has the key of its call. */
  constructor(settings: Settings<C>, mark: string) {
    this.#settings = settings;
    this.#mark = mark;
    this.#elicit = settings.elicit;
  }

  get elicit(): Elicit {
    return (this.#elicit ??= new Elicit());
  }

  /** What is asked for this call, which `identity` tells from others of the user; null for nothing. */
  async asked(make: Asks, input: unknown, call: C, identity: Json): Promise<Asked | null> {
    const question = await make(input);
    if (!question) return null;
    const { user, metadata: mine } = this.#settings;
    const who = claim(typeof user === "function" ? await user(call) : user);
    const { kind, params, message, options } = question;
    const key = await keyOf(this.#mark, who, mine, identity, input, [kind, params, message, options]);
    const metadata = { ...mine, ...options?.metadata, ...identity };
    const marked = { ...question, options: { ...options, metadata } } as Question;
    return { question, keyed: new Keyed(this.#mark, key, marked, who) };
  }

  /** Ask, and show the link; it may be answered already. A no to a call with the same id is not one to this call. */
  async ask({ keyed }: Asked): Promise<Elicitation> {
    let seen = await keyed.create(this.elicit);
    if (seen.over && seen.status !== "completed") {
      await actedOn(this.elicit, seen);
      seen = await keyed.create(this.elicit);
    }
    if (!seen.over) await this.#settings.onUrl?.(seen.url, seen);
    return seen;
  }

  /** The question that was asked, by its id; without one, the question of this call. */
  async find({ keyed }: Asked, id: string | undefined): Promise<Elicitation> {
    return (id && (await keyed.again(this.elicit, id))) || (await keyed.create(this.elicit));
  }

  /** The outcome, which nobody else will act on. Throws NotRun for a no, and for all but the first. */
  async used({ question }: Asked, seen: Elicitation): Promise<Completed> {
    if (!seen.over) throw new NotRun("waiting", waitingFor(seen), seen);
    const outcome = outcomeOf(seen);
    if (outcome.status !== "completed") throw new NotRun(outcome.status, whyNot(outcome), seen);
    if (!(await actedOn(this.elicit, seen)) && !CONNECTS.includes(question.kind)) {
      throw new NotRun("already_used", USED, seen);
    }
    return outcome;
  }
}
