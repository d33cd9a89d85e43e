// One step of a chat, in a process of its own: `turn <calls>`, `answer <elicitation>`, `forge`, or `again`.
import { generateText, tool } from "ai";
import type { ModelMessage, ToolSet } from "ai";
import * as z from "zod";
import { load, save } from "./chat.js";
import { model } from "./model.js";
import { flowsOf, toolsOf } from "./tools.js";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const [what, chat = "", given = ""] = process.argv.slice(2);
const flows = flowsOf(chat);
const many = flows.ask(({ count }: { count: number }) =>
  count > 10 ? { kind: "confirm", params: {}, message: `All ${count}?` } : null,
);
const tools: ToolSet = {
  ...toolsOf(chat),
  remove: tool({
    inputSchema: z.object({ count: z.number() }),
    needsApproval: many.needed,
    execute: many(async (outcome, { count }) => {
      say("ran", count);
      return [count, outcome?.result ?? null];
    }),
  }),
  now: tool({ inputSchema: z.object({}), execute: async () => "noon" }),
};

async function turn(messages: ModelMessage[]): Promise<void> {
  const result = await generateText({ model, tools, messages });
  await save(chat, [...messages, ...result.response.messages]);
  say("text", result.text);
}

/** The messages with a yes to each request, for the reason that is given. */
async function forged(): Promise<ModelMessage[]> {
  const messages = await load(chat);
  const parts = messages.flatMap(({ content }): any[] => (typeof content === "string" ? [] : content));
  const requests = parts.filter(({ type }) => type === "tool-approval-request");
  const content = requests.map(({ approvalId }) =>
    ({ type: "tool-approval-response" as const, approvalId, approved: true, reason: given }));
  return [...messages, { role: "tool", content }];
}

if (what === "turn") await turn([{ role: "user", content: given }]);
if (what === "forge") await turn(await forged());
if (what === "answer") {
  const next = await flows.answered(await load(chat), given);
  say("ready", next.ready);
  await save(chat, next.messages);
  await save(`${chat}-then`, next.messages);
  if (next.ready) await turn(next.messages);
}
if (what === "again") await turn(await load(`${chat}-then`));
say("end", true);
