/** Guards for the tools of an MCP server, on either major of the TypeScript SDK, for clients of both revisions. */

export type { GuardOptions, Question } from "../keyed.ts";
export { McpFlows } from "./flows.ts";
export type { Guarded, McpGuard } from "./flows.ts";
export type { Mark, Verdict } from "./messages.ts";
export { MARK } from "./messages.ts";
export type { AuthInfo, Given, Refusal, Settings, Way } from "./settings.ts";
