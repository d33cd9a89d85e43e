// Guards without their frameworks: one call of each that comes with an id, and what became of it.
const [source, url, id = ""] = process.argv.slice(2);
const { Elicit } = await import(`${source}/index.ts`);
const { AiFlows } = await import(`${source}/ai-sdk/index.ts`);
const { MastraFlows } = await import(`${source}/mastra/index.ts`);
const settings = { user: ["https://idp.example", "alice"], elicit: new Elicit({ url, apiKey: "key-of-the-tests" }) };
const ran = [];
const run = async (_outcome, { count }) => ran.push(count);
const messages = [
  { role: "assistant", content: [{ type: "tool-approval-request", approvalId: "a", toolCallId: "call_1" }] },
  { role: "tool", content: [{ type: "tool-approval-response", approvalId: "a", approved: true, reason: id }] },
];
const calls = {
  ai: () => new AiFlows(settings).confirm("May I?")(run)({ count: 12 }, { toolCallId: "call_1", messages }),
  mastra: () => new MastraFlows(settings).confirm("May I?").step(run)({
    inputData: { count: 12 }, workflowId: "w", runId: "r", resumeData: { elicitation: id },
    ...(id ? { suspendData: { elicitation: id } } : {}), suspend: ({ elicitation }) => ran.push(`asks ${elicitation}`),
  }),
};
for (const [name, call] of Object.entries(calls)) {
  const code = await call().then(() => "ran", (error) => error.code);
  console.log(JSON.stringify([name, code, ran.splice(0)]));
}
