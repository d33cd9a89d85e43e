/** Guards for tools and workflow steps of Mastra (npm `@mastra/core`). Nothing of it is imported. */

export { MastraFlows } from "./flows.ts";
export type { AgentLike, Context, MastraGuard, MastraGuarded, Waiting, WorkflowLike } from "./flows.ts";
export type { GuardOptions, Question } from "../keyed.ts";
export type { Settings } from "../pausing.ts";
export { NotRun } from "../refusals.ts";
