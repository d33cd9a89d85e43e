/**
 * MCP 2025-11-25: the server asks the client during the call, and notifies it when the user has finished.
 *
 * If the call has to end before that, the notification is sent later, and the client calls again.
 */

import type { Elicit } from "../client.ts";
import { takenBack } from "../idempotency.ts";
import type { Outcome } from "../outcomes.ts";
import { outcomeOf } from "../outcomes.ts";
import type { Elicitation } from "../shapes.ts";
import { milliseconds } from "../transport.ts";
import type { Call, Server } from "./calls.ts";
import { NotRun } from "./messages.ts";
import { hasNo, untilANo } from "./pending-question.ts";
import type { Answer, Answers, PendingQuestion } from "./pending-question.ts";
import type { Settings } from "./settings.ts";

/**
 * How `questions` ended. `rest`: the questions that this call will ask afterwards: a refusal has to name them all. Throws
 * the library's -32042.
 */
export async function asked(
  elicit: Elicit, settings: Settings, followers: Followers, call: Call, questions: readonly PendingQuestion[],
  rest: readonly PendingQuestion[],
): Promise<Answers> {
  const outcomes = new Map<number, Outcome>();
  const unanswered: [number, Elicitation][] = [];
  for (const one of questions) {
    const seen = await one.ask(elicit);
    if (seen.over) outcomes.set(one.place, await one.outcome(elicit, seen));
    else unanswered.push([one.place, seen]);
  }
  const [first, ...others] = unanswered.map(([, seen]) => seen);
  if (!first || hasNo(outcomes)) return { outcomes };
  const way = call.way(settings);
  if (way === "refuse") return { result: await call.noLinks(elicit, settings, [first, ...others]) };
  if (way === "link") return { open: [first, ...others] };
  if (settings.push) {
    const waits = unanswered.map(([place, seen]) => {
      const follower = followers.follow(elicit, call, seen);
      return [place, (leave: AbortSignal) => pushed(elicit, settings, call, follower, seen, leave)] as const;
    });
    const ended = await call.awaited(settings, () => untilANo(new Map(waits)));
    for (const [place, outcome] of ended) outcomes.set(place, outcome);
    const [left, ...more] = unanswered.filter(([place]) => !outcomes.has(place)).map(([, seen]) => seen);
    return left && !hasNo(outcomes) ? { open: [left, ...more] } : { outcomes };
  }
  const needed = [first, ...others];
  for (const pending of rest) {
    const one = await pending.ask(elicit);
    if (!one.over) needed.push(one);
  }
  for (const one of needed) followers.follow(elicit, call, one);
  throw call.required(settings, needed);
}

async function pushed(
  elicit: Elicit, settings: Settings, call: Call, follower: Follower, seen: Elicitation, leave: AbortSignal,
): Promise<Answer> {
  const left = call.left(settings);
  if (!left || call.signal.aborted || leave.aborted) return { open: seen }; // an abort before is not told of again
  const leaving = new AbortController();
  const unanswered = new AbortController();
  const answer = call.push(seen, unanswered.signal).then((action) => ({ action }), (refused: unknown) => ({ refused }));
  const over = follower.over.then((ended) => ({ ended }));
  const late = new Promise<{ open: Elicitation }>((resolve) => {
    const give = (): void => resolve({ open: seen });
    const timer = setTimeout(give, milliseconds(left));
    leaving.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    call.signal.addEventListener("abort", give, { once: true, signal: leaving.signal });
    leave.addEventListener("abort", give, { once: true, signal: leaving.signal });
  });
  follower.attending += 1;
  try {
    const first = await Promise.race([over, answer, late]);
    if ("refused" in first) return unasked(first.refused, seen);
    if ("action" in first && first.action !== "accept") {
      follower.told = true; // the client knows, since it was the client's own answer
      return { outcome: await takenBack(elicit, seen, first.action) };
    }
    if (!("action" in first)) unanswered.abort(); // the SDK would cancel even a request that was answered
    const last = "action" in first ? await Promise.race([over, late]) : first;
    if (!("ended" in last)) return { open: seen };
    await follower.tell(last.ended, call);
    return { outcome: outcomeOf(last.ended) };
  } finally {
    follower.attending -= 1;
    leaving.abort();
  }
}

/** The client cannot be asked to open a link; the tool's text has it. */
function unasked(refused: unknown, seen: Elicitation): Answer {
  if (refused instanceof NotRun) throw refused;
  console.warn("elicit-flows: the client cannot be asked to open a link:", refused);
  return { open: seen };
}

/** Waits for the end of one elicitation on behalf of one session, for all of its calls. */
class Follower {
  readonly over: Promise<Elicitation>;
  /** How many open calls will send the notification within themselves. */
  attending = 0;
  told = false;
  readonly #call: Call;

  constructor(elicit: Elicit, call: Call, elicitation: Elicitation, signal: AbortSignal) {
    this.#call = call;
    this.over = elicit.wait(elicitation, { signal });
  }

  /** Send the notification once. `within`: a call that is still open; the one that asked first may have ended. */
  async tell(elicitation: Elicitation, within?: Call): Promise<void> {
    if (this.told) return;
    this.told = true;
    await (within ?? this.#call).tell(elicitation, within !== undefined);
  }

  /** Send the notification when the elicitation is over and no call is open to send it. */
  async tellLater(signal: AbortSignal): Promise<void> {
    try {
      const ended = await this.over;
      if (!this.attending) await this.tell(ended);
    } catch (error) {
      if (signal.aborted) return;
      console.warn("elicit-flows: the client is not notified of the end of an elicitation:", error);
    }
  }
}

/** The followers of one server, by elicitation and session. They end when its connection is closed. */
export class Followers {
  #known = new Map<string, Follower>();
  #closed = new AbortController();

  constructor({ server }: Server) {
    const own = server.onclose;
    server.onclose = () => {
      this.#closed.abort();
      // The server may be connected again, to another client.
      this.#known = new Map();
      this.#closed = new AbortController();
      own?.();
    };
  }

  /** The follower for this session, which lives until the elicitation is over. */
  follow(elicit: Elicit, call: Call, elicitation: Elicitation): Follower {
    const key = JSON.stringify([elicitation.id, call.sessionId]);
    const followers = this.#known;
    const known = followers.get(key);
    if (known) return known;
    const made = new Follower(elicit, call, elicitation, this.#closed.signal);
    followers.set(key, made);
    void made.tellLater(this.#closed.signal).finally(() => followers.delete(key));
    return made;
  }
}
