// One step of a run, in a process of its own.
import { cleaner, flows, mastra, report } from "./cleaner.js";

const say = (word: string, said: unknown): void => console.log(JSON.stringify({ [word]: said }));
const [what, given = ""] = process.argv.slice(2);

if (what === "ask") {
  const asked = await cleaner.generate(given);
  say("finish", asked.finishReason);
  say("text", asked.text);
  for (const { url } of await flows.waiting(cleaner, asked.runId ?? "")) console.log(url);
}
if (what === "report") {
  const begun = await (await report.createRun()).start({ inputData: { folder: "old" } });
  say("status", begun.status);
  if (begun.status === "suspended") console.log(begun.suspendPayload.read.url);
  if (begun.status === "success") say("result", begun.result);
}
if (what === "resume") {
  say("agent", (await flows.resume(cleaner, given))?.text ?? null);
  const ended = await flows.resume(report, given);
  say("workflow", ended?.status ?? null);
  if (ended?.status === "success") say("result", ended.result);
}
// As somebody would who knows of the run, and not of the question.
if (what === "force") {
  const { runs } = await cleaner.listSuspendedRuns();
  for (const { runId } of runs) say("forced", (await cleaner.resumeGenerate({ approved: true }, { runId })).finishReason);
}
await mastra.shutdown();
say("end", true);
