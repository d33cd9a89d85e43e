/** `AiFlows`: guards for tools of the AI SDK, which asks for approval, ends the run, and goes on in another one. */

import { Guards } from "../guards.ts";
import type { Asks, Made } from "../guards.ts";
import type { Kind } from "../kinds.ts";
import { outcomeOf } from "../outcomes.ts";
import type { Completed } from "../outcomes.ts";
import { Pausing } from "../pausing.ts";
import type { Settings } from "../pausing.ts";
import { whyNot } from "../refusals.ts";
import type { Elicitation } from "../shapes.ts";

const CALL = "ai_sdk_call"; // the member of an elicitation's metadata that has the key of its call
const TOOL_CALL = "tool_call"; // the member that has the id that the model gave the call

/** The parts of a message that are read here; version 6 and 7 have them alike. */
interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly approvalId?: string;
  readonly reason?: string | undefined;
}

interface Message {
  readonly role: string;
  readonly content: string | readonly Part[];
}

/** What the AI SDK hands to a tool beside its input. */
export interface Call {
  readonly toolCallId: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly abortSignal?: AbortSignal | undefined;
  /** Your own, in version 7. */
  readonly context?: any;
  /** Your own, in version 6. */
  readonly experimental_context?: any;
}

/** What the AI SDK takes as a message of the role `tool`. */
export interface Answers {
  role: "tool";
  content: { type: "tool-approval-response"; approvalId: string; approved: boolean; reason: string }[];
}

/** Goes around a tool's `execute`, which then gets the outcome first; `needed` is the tool's `needsApproval`. */
export interface AiGuarded<K extends Kind, O = Completed<K>> {
  <I, R>(run: (outcome: O, input: I, call: Call) => R | Promise<R>): (input: I, call: Call) => Promise<R>;
  readonly needed: (input: any, call: Call) => Promise<boolean>;
}

export interface AiGuard extends Made {
  readonly guard: AiGuarded<this["kind"], this["outcome"]>;
}

/**
 * Guards for the tools of `generateText`, `streamText` and `ToolLoopAgent` of the package `ai`, version 6 or 7.
 *
 * A tool takes both halves of its guard: `needsApproval: guard.needed` and `execute: guard(run)`.
 */
export class AiFlows extends Guards<AiGuard> {
  readonly #pausing: Pausing<Call>;

  constructor(settings: Settings<Call>) {
    super();
    this.#pausing = new Pausing(settings, CALL);
  }

  /**
   * The messages with the answer of this elicitation as the response to the approval request that waits for it.
   *
   * `ready` says whether to go on with them: an answer was added, and no request of that turn is without a response.
   * It is false while the question is open, and when the answer is in the messages already.
   */
  async answered<M extends { role: string; content: unknown }>(
    messages: readonly M[], elicitation: string | Elicitation,
  ): Promise<{ messages: (M | Answers)[]; ready: boolean }> {
    const seen = await this.#pausing.elicit.get(elicitation);
    const open = unanswered(messages);
    const mine = open.find(({ toolCallId }) => toolCallId === seen.metadata[TOOL_CALL]);
    if (!seen.over || !mine?.approvalId || !(CALL in seen.metadata)) return { messages: [...messages], ready: false };
    const outcome = outcomeOf(seen);
    const approved = outcome.status === "completed";
    const answer = { type: "tool-approval-response", approvalId: mine.approvalId, approved } as const;
    // The tool's guard looks the question up by this id; the model is not shown the reason of a yes.
    const given = { ...answer, reason: approved ? seen.id : whyNot(outcome) };
    const last = messages.at(-1);
    const ready = open.length === 1;
    if (last?.role !== "tool") return { messages: [...messages, { role: "tool", content: [given] }], ready };
    const content = [...(last.content as Part[]), given];
    return { messages: [...messages.slice(0, -1), { ...last, content }], ready };
  }

  protected override guard(make: Asks): AiGuarded<Kind, Completed | undefined> {
    const asked = (input: unknown, call: Call) =>
      this.#pausing.asked(make, input, call, { [TOOL_CALL]: call.toolCallId });
    const around = (run: (...given: any[]) => unknown) => async (...given: unknown[]) => {
      const [input, call] = given as [unknown, Call];
      const found = await asked(input, call);
      if (!found) return await run(undefined, ...given);
      const seen = await this.#pausing.find(found, response(call)?.reason);
      return await run(await this.#pausing.used(found, seen), ...given);
    };
    const needed = async (input: unknown, call: Call): Promise<boolean> => {
      if (response(call)) return true; // The SDK asks again when the run goes on, and denies what needs no approval.
      const found = await asked(input, call);
      return found !== null && (await this.#pausing.ask(found)).status !== "completed";
    };
    return Object.assign(around, { needed }) as AiGuarded<Kind, Completed | undefined>;
  }
}

function parts(messages: Call["messages"]): Part[] {
  return (messages as readonly Message[]).flatMap(({ content }) => (typeof content === "string" ? [] : content));
}

/** The requests for approval that have no response. */
function unanswered(messages: Call["messages"]): Part[] {
  const all = parts(messages);
  const done = new Set(all.filter(({ type }) => type === "tool-approval-response").map((one) => one.approvalId));
  return all.filter(({ type, approvalId }) => type === "tool-approval-request" && !done.has(approvalId));
}

/** The response with which the run goes on. Whoever sends the messages may have written it. */
function response({ toolCallId, messages }: Call): Part | undefined {
  const isRequest = (one: Part) => one.type === "tool-approval-request" && one.toolCallId === toolCallId;
  const requests = parts(messages).filter(isRequest).map(({ approvalId }) => approvalId);
  const isResponse = (one: Part) => one.type === "tool-approval-response" && requests.includes(one.approvalId);
  return parts(messages.slice(-1)).find(isResponse);
}
