/**
 * MCP 2026-07-28: the call is answered with a request for input, and is sent again with `requestState`.
 *
 * The user is asked once. The repeated call waits here for less than its client's time-out, and then gets an answer
 * without a question, so the client calls again; clients give up after about ten of those.
 */

import type { Elicit } from "../client.ts";
import { takenBack } from "../idempotency.ts";
import type { Elicitation } from "../shapes.ts";
import type { Call } from "./calls.ts";
import type { Answer } from "./pushed.ts";
import type { Settings } from "./settings.ts";
import type { PendingQuestion } from "./pending-question.ts";

/** How it ended; the elicitation if the call ends before that; or else the result that the call is answered with. */
export async function asked(elicit: Elicit, settings: Settings, call: Call, pending: PendingQuestion): Promise<Answer> {
  const state = await call.state(elicit, settings);
  if (state?.place !== pending.place) {
    const seen = await pending.ask(elicit);
    if (seen.over) return { outcome: await pending.outcome(elicit, seen) };
    return await first(elicit, settings, call, pending, seen);
  }
  const again = await pending.again(elicit, state.id);
  if (!again) throw call.badState();
  let seen = again;
  const reply = call.reply(seen.id);
  if (!seen.over && reply && reply !== "accept") return { outcome: await takenBack(elicit, seen, reply) };
  const agreed = state.agreed || reply !== undefined;
  if (agreed && !seen.over) seen = await call.awaited(settings, () => waited(elicit, settings, call, again));
  if (seen.over) return { outcome: await pending.outcome(elicit, seen) };
  if (state.round >= settings.rounds) return { open: seen };
  const later = { ...state, round: state.round + 1, agreed };
  return { result: await (agreed ? call.putOff(elicit, settings, later) : call.ask(elicit, settings, seen, later)) };
}

async function first(
  elicit: Elicit, settings: Settings, call: Call, pending: PendingQuestion, seen: Elicitation,
): Promise<Answer> {
  const way = call.way(settings);
  if (way === "refuse") return { result: await call.noLinks(elicit, settings, seen) };
  if (way === "link") return { open: seen };
  const state = { place: pending.place, id: seen.id, round: 1, agreed: false };
  return { result: await call.ask(elicit, settings, seen, state) };
}

/** The elicitation when it is over, when the call's time is, or when the client has taken the call back. */
async function waited(elicit: Elicit, settings: Settings, call: Call, seen: Elicitation): Promise<Elicitation> {
  try {
    return await elicit.wait(seen, { timeout: call.left(settings), signal: call.signal });
  } catch (error) {
    if (!call.signal.aborted) throw error;
    return seen;
  }
}
