/** The question of one call: when the call is repeated, it is the same question. */

import type { Options } from "./asking.ts";
import type { Elicit } from "./client.ts";
import { NotFoundError } from "./errors.ts";
import type { Kind, Params } from "./kinds.ts";
import type { Asked } from "./questions.ts";
import type { Claim, Elicitation } from "./shapes.ts";

/** What a guard's question takes beside its parameters; the guard itself sees to the idempotency key. */
export type GuardOptions = Omit<Options, "signal" | "idempotencyKey">;

/** What a guard asks. */
export type Question = { [K in Kind]: Asked<K> & { options?: GuardOptions } }[Kind];

/** `mark`: the member of an elicitation's metadata that has the key, and so says which call it belongs to. */
export class Keyed {
  readonly #mark: string;
  readonly #key: string;
  readonly #question: Question;
  protected readonly user: Claim;

  constructor(mark: string, key: string, question: Question, user: Claim) {
    this.#mark = mark;
    this.#key = key;
    this.#question = question;
    this.user = user;
  }

  /** The question of this call; a new one if there is none, or if its answer was acted on. */
  async create(elicit: Elicit): Promise<Elicitation> {
    const { kind, params, message, options = {} } = this.#question;
    const metadata = { ...options.metadata, [this.#mark]: this.#key };
    const asked = { ...options, message, metadata, idempotencyKey: this.#key };
    return (await elicit.create<Kind>(kind, this.user, params as Params[Kind], asked)) as Elicitation;
  }

  /** The question with this id, if it was asked for this call and user. */
  async again(elicit: Elicit, id: string): Promise<Elicitation | null> {
    let seen: Elicitation;
    try {
      seen = await elicit.get(id);
    } catch (refused) {
      if (!(refused instanceof NotFoundError)) throw refused;
      return null;
    }
    const mine = seen.subject.iss === this.user.iss && seen.subject.sub === this.user.sub;
    return mine && seen.metadata[this.#mark] === this.#key ? seen : null;
  }
}
