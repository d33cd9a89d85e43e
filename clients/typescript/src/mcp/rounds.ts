/**
 * MCP 2026-07-28: the call is answered with a request for input, and is sent again with `requestState`.
 *
 * The user is asked once. The repeated call waits here for less than its client's time-out, and then gets an answer
 * without a question, so the client calls again; clients give up after about ten of those.
 */

import type { Elicit } from "../client.ts";
import { takenBack } from "../idempotency.ts";
import type { Outcome } from "../outcomes.ts";
import type { Elicitation } from "../shapes.ts";
import type { Call } from "./calls.ts";
import { hasNo, untilANo } from "./pending-question.ts";
import type { Answer, Answers, PendingQuestion } from "./pending-question.ts";
import type { State } from "./sealing.ts";
import type { Settings } from "./settings.ts";

/** How `questions` ended; or else the result that the call is answered with. */
export async function asked(
  elicit: Elicit, settings: Settings, call: Call, questions: readonly PendingQuestion[],
): Promise<Answers> {
  const state = await call.state(elicit, settings);
  const before = state && questions.some(({ place }) => place in state.asked) ? state : undefined;
  const known = before?.asked ?? {};
  const agreed = new Set(before?.agreed);
  const seen = new Map<PendingQuestion, Elicitation>();
  const outcomes = new Map<number, Outcome>();
  for (const one of questions) {
    const id = known[one.place];
    const found = id === undefined ? await one.ask(elicit) : await one.again(elicit, id);
    if (!found) throw call.badState();
    seen.set(one, found);
    const reply = id === undefined || found.over ? undefined : call.reply(found.id);
    if (found.over) outcomes.set(one.place, await one.outcome(elicit, found));
    else if (reply && reply !== "accept") outcomes.set(one.place, await takenBack(elicit, found, reply));
    else if (reply) agreed.add(found.id);
  }
  const unanswered = [...seen].filter(([{ place }]) => !outcomes.has(place));
  if (!hasNo(outcomes) && unanswered.every(([, { id }]) => agreed.has(id))) {
    const waits = unanswered.map(([one, found]) => {
      return [one.place, (leave: AbortSignal) => waited(elicit, settings, call, one, found, leave)] as const;
    });
    const ended = await call.awaited(settings, () => untilANo(new Map(waits)));
    for (const [place, outcome] of ended) outcomes.set(place, outcome);
  }
  const [first, ...rest] = [...seen].filter(([{ place }]) => !outcomes.has(place)).map(([, found]) => found);
  if (!first || hasNo(outcomes)) return { outcomes };
  const open = [first, ...rest] as const;
  const later: State = {
    asked: Object.fromEntries([...seen].map(([{ place }, { id }]) => [place, id])),
    agreed: [...agreed],
    round: (before?.round ?? 0) + 1,
  };
  if (!questions.every(({ place }) => place in known)) {
    const way = call.way(settings);
    if (way === "refuse") return { result: await call.noLinks(elicit, settings, open) };
    return way === "link" ? { open: [...open] } : { result: await call.ask(elicit, settings, open, later) };
  }
  if (later.round > settings.rounds) return { open: [...open] };
  const asks = open.filter(({ id }) => !agreed.has(id));
  const asking = asks.length ? call.ask(elicit, settings, asks, later) : call.putOff(elicit, settings, later);
  return { result: await asking };
}

/** Until it is over, the call's time is, the client has taken the call back, or `leave`. */
async function waited(
  elicit: Elicit, settings: Settings, call: Call, one: PendingQuestion, seen: Elicitation, leave: AbortSignal,
): Promise<Answer> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const signal of [call.signal, leave]) signal.addEventListener("abort", end, { signal: ending.signal });
  if (call.signal.aborted || leave.aborted) end();
  try {
    const last = await elicit.wait(seen, { timeout: call.left(settings), signal: ending.signal });
    return last.over ? { outcome: await one.outcome(elicit, last) } : { open: last };
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    return { open: seen };
  } finally {
    end();
  }
}
