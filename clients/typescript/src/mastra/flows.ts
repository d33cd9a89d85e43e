/** `MastraFlows`: guards for tools and workflow steps of Mastra, which suspend a run and resume it later. */

import type { Elicit } from "../client.ts";
import { Guards } from "../guards.ts";
import type { Asks, Made } from "../guards.ts";
import type { Json, Kind } from "../kinds.ts";
import type { Completed } from "../outcomes.ts";
import { Pausing } from "../pausing.ts";
import type { Settings } from "../pausing.ts";
import type { Elicitation } from "../shapes.ts";

const CALL = "mastra_call"; // the member of an elicitation's metadata that has the key of its call
const RUN = "mastra_run"; // the member that says which run waits for the answer

/** What a run is suspended with: show the link to the user. */
export interface Waiting {
  readonly elicitation: string;
  readonly url: string;
  readonly message: string;
}

interface Suspending {
  readonly suspend?: (payload: any) => unknown;
  readonly suspendPayload?: any;
}

/** What is read of what Mastra hands to a tool beside its input, or to a workflow's step. */
export interface Context extends Suspending {
  readonly agent?: (Suspending & { readonly agentId: string; readonly toolCallId: string }) | undefined;
  readonly workflow?: (Suspending & { readonly workflowId: string; readonly runId: string }) | undefined;
  readonly runId?: string;
  readonly requestContext?: { get(name: string): unknown } | undefined;
}

/** What Mastra hands to a step. */
export interface Step<I = unknown> extends Context {
  readonly inputData: I;
  readonly suspendData?: any;
  readonly workflowId: string;
  readonly runId: string;
  readonly mastra?: any;
  readonly state?: any;
  readonly setState?: any;
  readonly getStepResult?: any;
  readonly abortSignal?: any;
}

/** What is used of an `Agent`. */
export interface AgentLike<R> {
  listSuspendedRuns(): Promise<{ runs: readonly SuspendedRun[] }>;
  resumeGenerate(data: any, options: { runId: string; toolCallId?: string }): Promise<R>;
}

/** What is used of a workflow. */
export interface WorkflowLike<R> {
  getWorkflowRunById(runId: string): Promise<{ readonly steps?: any } | null>;
  createRun(options: { runId: string }): Promise<{ resume(data: any): Promise<R> }>;
}

interface SuspendedRun {
  readonly runId: string;
  readonly toolCalls: readonly { readonly toolCallId?: string; readonly suspendPayload?: any }[];
}

/** Goes around a tool's `execute`, which then gets the outcome first; `step` goes around that of a workflow's step. */
export interface MastraGuarded<K extends Kind, O = Completed<K>> {
  <I, C, R>(run: (outcome: O, input: I, context: C) => R | Promise<R>): (input: I, context: C) => Promise<R>;
  readonly step: <I, R>(
    run: (outcome: O, input: I, step: Step<I>) => R | Promise<R>,
  ) => (step: Step<I>) => Promise<R>;
}

export interface MastraGuard extends Made {
  readonly guard: MastraGuarded<this["kind"], this["outcome"]>;
}

/** Guards for the `execute` of Mastra's tools and workflow steps. The run's snapshots have to be stored. */
export class MastraFlows extends Guards<MastraGuard> {
  readonly #pausing: Pausing<Context>;

  constructor(settings: Settings<Context>) {
    super();
    this.#pausing = new Pausing(settings, CALL);
  }

  /** The questions at which an agent's run is suspended: one for each guarded tool that the model called in its turn. */
  async waiting(agent: Pick<AgentLike<unknown>, "listSuspendedRuns">, run: string): Promise<Waiting[]> {
    const { runs } = await agent.listSuspendedRuns();
    const calls = runs.filter(({ runId }) => runId === run).flatMap(({ toolCalls }) => toolCalls);
    return calls.map(({ suspendPayload }) => suspendPayload).filter((one) => typeof one?.elicitation === "string");
  }

  /**
   * Resume the run that waits for this elicitation, and return what Mastra returns; null if the question, or another one
   * of the same turn, is open, or if no run of this agent or workflow waits for it. `options` go to Mastra.
   */
  async resume<R>(
    runs: AgentLike<R> | WorkflowLike<R>, elicitation: string | Elicitation, options: { requestContext?: any } = {},
  ): Promise<R | null> {
    const seen = await this.#pausing.elicit.get(elicitation);
    if (!seen.over) return null;
    return "listSuspendedRuns" in runs ? await resumed(runs, seen, options, this.#pausing.elicit) : await continued(runs, seen, options);
  }

  protected override guard(make: Asks): MastraGuarded<Kind, any> {
    const guarded = async (place: Place, run: (outcome: Completed | undefined) => unknown): Promise<any> => {
      const found = await this.#pausing.asked(make, place.input, place.context, { [RUN]: place.identity });
      if (!found) return await run(undefined);
      const before = place.waiting?.elicitation;
      const seen = before ? await this.#pausing.find(found, before) : await this.#pausing.ask(found);
      if (seen.over || !place.suspend) return await run(await this.#pausing.used(found, seen));
      return await place.suspend({ elicitation: seen.id, url: seen.url, message: seen.message } satisfies Waiting);
    };
    const tool: (run: (...given: any[]) => unknown) => (input: any, context: any) => Promise<any> =
      (run) => async (input, context) => await guarded(inTool(input, context ?? {}), (done) => run(done, input, context));
    const step: (run: (...given: any[]) => unknown) => (given: any) => Promise<any> =
      (run) => async (given) => await guarded(inStep(given), (done) => run(done, given.inputData, given));
    return Object.assign(tool, { step });
  }
}

/** Mastra fails if one of several guarded calls is resumed while another waits, so all of a turn are resumed together. */
async function resumed<R>(
  agent: AgentLike<R>, { id }: Elicitation, options: object, elicit: Elicit,
): Promise<R | null> {
  const { runs } = await agent.listSuspendedRuns();
  for (const { runId, toolCalls } of runs) {
    const call = toolCalls.find(({ suspendPayload }) => suspendPayload?.elicitation === id);
    if (!call) continue;
    const waits = toolCalls.map(({ suspendPayload }) => suspendPayload?.elicitation);
    const alone = waits.some((one) => typeof one !== "string"); // the others were suspended by something else
    if (!alone && (await Promise.all(waits.map((one) => elicit.get(one)))).some(({ over }) => !over)) return null;
    const which = alone && call.toolCallId !== undefined ? { toolCallId: call.toolCallId } : {};
    return await agent.resumeGenerate({ elicitation: id }, { ...options, runId, ...which });
  }
  return null;
}

async function continued<R>(
  workflow: WorkflowLike<R>, { id, metadata }: Elicitation, options: object,
): Promise<R | null> {
  const { run } = (metadata[RUN] ?? {}) as { run?: string };
  const found = run === undefined ? null : await workflow.getWorkflowRunById(run);
  const steps: Record<string, { status?: string; suspendPayload?: any }> = found?.steps ?? {};
  const waits = ({ status, suspendPayload }: { status?: string; suspendPayload?: any }) =>
    status === "suspended" && suspendPayload?.elicitation === id;
  const step = Object.entries(steps).find(([, one]) => waits(one))?.[0];
  if (run === undefined || step === undefined) return null;
  return await (await workflow.createRun({ runId: run })).resume({ ...options, step, resumeData: { elicitation: id } });
}

/** Where a call stands: `identity` tells it from others, and `waiting` is what it was suspended with before. */
interface Place {
  readonly input: unknown;
  readonly context: Context;
  readonly identity: Json;
  readonly suspend: Suspending["suspend"];
  readonly waiting: Partial<Waiting> | undefined;
}

function inStep(step: Step): Place {
  const { inputData, suspend, suspendData, workflowId, runId } = step;
  return { input: inputData, context: step, identity: { workflow: workflowId, run: runId }, suspend, waiting: suspendData };
}

/** A tool that an agent called, one that is a step of a workflow, or one on its own. */
function inTool(input: unknown, context: Context): Place {
  const { agent, workflow, runId } = context;
  const { suspend, suspendPayload } = agent ?? workflow ?? context;
  const called = agent && { agent: agent.agentId, run: runId, toolCall: agent.toolCallId };
  const identity = called ?? (workflow && { workflow: workflow.workflowId, run: workflow.runId }) ?? {};
  return { input, context, identity, suspend, waiting: suspendPayload };
}
