/** Guards for tools of the AI SDK (npm `ai`), versions 6 and 7. Nothing of it is imported. */

export { AiFlows } from "./flows.ts";
export type { AiGuard, AiGuarded, Answers, Call } from "./flows.ts";
export type { GuardOptions, Question } from "../keyed.ts";
export type { Settings } from "../pausing.ts";
export { NotRun } from "../refusals.ts";
