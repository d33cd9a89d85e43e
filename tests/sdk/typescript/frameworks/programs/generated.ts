// What a model answers to a prompt, in the form of the AI SDK's provider interface (versions 3 and 4).
type Part = { type: string; toolCallId?: string; output?: unknown };
type Message = { role: string; content: string | Part[] };
type Call = [tool: string, input: object];

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** `wanted`: what it calls when the user's message does not say. `insists`: it calls it once more after a no. */
export function generated(prompt: readonly unknown[], wanted: string, insists = false): any {
  const messages = prompt as Message[];
  const last = messages.at(-1);
  const parts = typeof last?.content === "string" ? [] : (last?.content ?? []);
  if (last?.role === "tool") {
    const told = parts.filter(({ type }) => type === "tool-result").map(({ output }) => output);
    const refused = JSON.stringify(told).includes("said no");
    if (insists && refused && messages.filter(({ role }) => role === "tool").length === 1) {
      return calling(messages, [[wanted, { folder: "old" }]]);
    }
    return { content: [{ type: "text", text: JSON.stringify(told) }], finishReason: reason("stop"), usage, warnings: [] };
  }
  const [asked] = parts as { text?: string }[];
  const calls: Call[] = asked?.text?.startsWith("[") ? JSON.parse(asked.text) : [[wanted, { folder: "old" }]];
  return calling(messages, calls);
}

function calling(messages: readonly Message[], calls: readonly Call[]): any {
  const content = calls.map(([toolName, input], at) => ({
    type: "tool-call", toolCallId: `call_${messages.length}_${at}`, toolName, input: JSON.stringify(input),
  }));
  return { content, finishReason: reason("tool-calls"), usage, warnings: [] };
}

function reason(unified: string): object {
  return { unified, raw: undefined };
}
