/**
 * One call of a tool, with one interface for `@modelcontextprotocol/sdk` 1.x and `@modelcontextprotocol/server` 2.x,
 * whose contexts differ. Nothing of either is imported: a server brings its own copy.
 */

import type { Elicit } from "../client.ts";
import { keyOf } from "../idempotency.ts";
import type { Claim, Elicitation } from "../shapes.ts";
import { LONGEST_TIMER, milliseconds } from "../transport.ts";
import { MARK, NotRun, refused, waitingFor } from "./messages.ts";
import type { Words } from "./messages.ts";
import { opened, sealed } from "./sealing.ts";
import type { State } from "./sealing.ts";
import type { AuthInfo, Settings, UrlParams } from "./settings.ts";

const MODERN = "2026-07-28";
const REQUIRED = -32042; // URLElicitationRequiredError
const NAME_IT =
  "This server has no name, so its users' answers could not be told from those for another server with the same API " +
  'key. Give it one, new McpServer({ name: "…" }), or say new McpFlows(server, { server: "…" }).';
const DO_IT_FIRST = "The user has something to do first.";

type Json = { [name: string]: unknown };
interface Notification {
  method: string;
  params?: Json;
}
interface Capabilities {
  elicitation?: { url?: unknown } | undefined;
}
interface Named {
  name: string;
}

/** What the `McpServer` of both majors has. */
export interface Server {
  registerTool(name: string, config: never, callback: never): unknown;
  readonly server: {
    getClientCapabilities(): Capabilities | undefined;
    getClientVersion(): Named | undefined;
    notification(notification: Notification): Promise<void>;
    onclose?: (() => void) | undefined;
  };
}

/** What neither major's types show, or only one of them has. */
interface Inside {
  readonly _serverInfo?: { readonly name?: unknown };
  getNegotiatedProtocolVersion?(): string | undefined;
}

/** The context of 1.x. */
interface One {
  readonly authInfo?: AuthInfo;
  readonly sessionId?: string;
  readonly signal: AbortSignal;
  readonly _meta?: { progressToken?: string | number };
  sendNotification(notification: Notification): Promise<void>;
  sendRequest(request: Notification, schema: unknown, options: object): Promise<unknown>;
}

/** The context of 2.x. */
interface Two {
  readonly sessionId?: string;
  readonly http?: { readonly authInfo?: AuthInfo };
  readonly mcpReq: {
    readonly signal: AbortSignal;
    readonly _meta?: { progressToken?: string | number };
    readonly envelope?: { readonly [name: string]: unknown };
    readonly inputResponses?: { readonly [key: string]: unknown };
    requestState(): unknown;
    notify(notification: Notification): Promise<void>;
    send(request: Notification, options: object): Promise<unknown>;
  };
}

/** The tool that is called, as it was registered. */
export interface Tool {
  readonly name: string;
  /** Whether it has an output schema, which the mark of a tool that was not run would not fit. */
  readonly shaped: boolean;
}

/** What the 1.x library reads an answer with; what it says is looked at here. */
const AS_IT_IS = { safeParse: (data: unknown) => ({ success: true, data }) };

export class Call {
  /** Whether the tool itself was called. */
  begun = false;
  readonly tool: Tool;
  readonly given: unknown;
  readonly #server: Server["server"] & Inside;
  readonly #context: One | Two;
  #awaitedSince: number | undefined;
  #progress = 0;

  /** `given`: the tool's arguments. `context`: what the library passes to the tool. */
  constructor(server: Server, tool: Tool, given: unknown, context: unknown) {
    this.#server = server.server;
    this.tool = tool;
    this.given = given;
    this.#context = context as One | Two;
  }

  /** Whether the call may be answered with a request for input. If not, the server sends requests of its own. */
  get modern(): boolean {
    return (this.#server.getNegotiatedProtocolVersion?.() ?? "") >= MODERN;
  }

  get #two(): Two["mcpReq"] | undefined {
    return "mcpReq" in this.#context ? this.#context.mcpReq : undefined;
  }

  /** The caller's verified access token. */
  get token(): AuthInfo | undefined {
    return "mcpReq" in this.#context ? this.#context.http?.authInfo : this.#context.authInfo;
  }

  /** Ends when the client takes the call back, or hangs up where that means the same. */
  get signal(): AbortSignal {
    return "mcpReq" in this.#context ? this.#context.mcpReq.signal : this.#context.signal;
  }

  /** What tells this server from others, the same in all of its processes. Throws NotRun if nothing does. */
  server(settings: Settings): string[] {
    if (settings.server !== undefined) return [settings.server];
    const said = this.#server._serverInfo?.name;
    const name = typeof said === "string" ? said.trim() : "";
    const address = this.token?.resource?.href ?? "";
    if (!name && !address) throw new NotRun(refused(NAME_IT, "no_server_name"));
    return [name, address];
  }

  /** The client: from its verified access token, or else the name that it gives itself. */
  get who(): string {
    return this.token ? this.token.clientId : this.client;
  }

  /** The name that the client gives itself; not verified. */
  get client(): string {
    const said = this.modern ? this.#about<Named>("clientInfo") : this.#server.getClientVersion();
    return typeof said?.name === "string" ? said.name : "";
  }

  /** Whether the client declared URL mode: for the session, or with 2026-07-28 in this request. */
  get opensLinks(): boolean {
    const known = this.modern ? this.#about<Capabilities>("clientCapabilities") : this.#server.getClientCapabilities();
    return Boolean(known?.elicitation?.url);
  }

  #about<T>(name: string): T | undefined {
    return this.#two?.envelope?.[`io.modelcontextprotocol/${name}`] as T | undefined;
  }

  get sessionId(): string {
    return this.#context.sessionId ?? "";
  }

  /** How this client is given a link. With 2026-07-28 the library asks no client that has not declared URL mode. */
  way(settings: Settings): "url" | "link" | "refuse" {
    const known = Object.hasOwn(settings.clients, this.client) ? settings.clients[this.client] : undefined;
    if (known && !(known === "url" && this.modern && !this.opensLinks)) return known;
    return this.opensLinks ? "url" : settings.otherwise;
  }

  /** Seconds for which this call may still wait for its user. The time begins with the first call of `left`. */
  left(settings: Settings): number {
    const now = performance.now() / 1000;
    this.#awaitedSince ??= now;
    return Math.max(0, settings.hold - (now - this.#awaitedSince));
  }

  /** What `waited` resolves to; meanwhile a client that gave a progress token is sent progress notifications. */
  async awaited<T>(settings: Settings, waited: () => Promise<T>): Promise<T> {
    const telling = setInterval(() => void this.#tellProgress(), milliseconds(settings.progressEvery));
    try {
      return await waited();
    } finally {
      clearInterval(telling);
    }
  }

  async #tellProgress(): Promise<void> {
    const progressToken = (this.#two ?? (this.#context as One))._meta?.progressToken;
    if (progressToken === undefined) return;
    this.#progress += 1;
    const params = { progressToken, progress: this.#progress, message: "Waiting for the user." };
    await gone(this.#notify({ method: "notifications/progress", params }));
  }

  /** Within the call, so that it comes on the call's own stream. */
  async #notify(notification: Notification): Promise<void> {
    if ("mcpReq" in this.#context) await this.#context.mcpReq.notify(notification);
    else await this.#context.sendNotification(notification);
  }

  /** The tool's result with these `words`, whatever the tool returns. */
  answer({ text, mark, error }: Words): Json {
    return {
      content: [{ type: "text", text }],
      isError: error || this.tool.shaped,
      _meta: { [MARK]: mark },
      ...(this.tool.shaped ? {} : { structuredContent: mark }),
    };
  }

  // Revision 2026-07-28: the call is answered with a request for input, and sent again.

  /** The state that this server sent with its last answer; null in the first round. Throws NotRun for any other. */
  async state(elicit: Elicit, settings: Settings): Promise<State | null> {
    const said = this.#two?.requestState();
    if (said === undefined || said === null) return null;
    const state = await opened(elicit, await this.#itself(settings), said);
    if (!state) throw this.badState();
    return state;
  }

  async #itself(settings: Settings): Promise<string> {
    return await keyOf(this.server(settings), this.tool.name, this.who, this.given);
  }

  badState(): NotRun {
    return new NotRun(refused("Invalid or expired requestState. Call this tool anew.", "bad_state"));
  }

  /** The action that the client answered under `key`. Throws NotRun for one that is none. */
  reply(key: string): string | undefined {
    const responses = this.#two?.inputResponses ?? {};
    return Object.hasOwn(responses, key) ? action(responses[key]) : undefined;
  }

  /** The result that asks the client; with a state, for its answer to be sent again. */
  async ask(elicit: Elicit, settings: Settings, asks: readonly Elicitation[], state: State): Promise<Json> {
    const requests = asks.map(({ id, message, url }) => {
      return [id, { method: "elicitation/create", params: { mode: "url", message, url } }] as const;
    });
    const requestState = await sealed(elicit, await this.#itself(settings), state);
    return { resultType: "input_required", inputRequests: Object.fromEntries(requests), requestState };
  }

  /** The result that asks nothing, because the user is still busy: the client calls again. */
  async putOff(elicit: Elicit, settings: Settings, state: State): Promise<Json> {
    const requestState = await sealed(elicit, await this.#itself(settings), state);
    return { resultType: "input_required", requestState };
  }

  // Revision 2025-11-25: the server asks the client, or refuses the call.

  /** Send `elicitation/create` and wait for the client's action. Its accept is only consent to open the link. */
  async push(elicitation: Elicitation, signal: AbortSignal): Promise<string> {
    const request = { method: "elicitation/create", params: params(elicitation) };
    const options = { signal, timeout: LONGEST_TIMER };
    const answer =
      "mcpReq" in this.#context
        ? await this.#context.mcpReq.send(request, options)
        : await this.#context.sendRequest(request, AS_IT_IS, options);
    return action(answer);
  }

  /** The error -32042, which names all that the call needs. */
  required(settings: Settings, needed: readonly Elicitation[]): Error {
    const asked = needed.map(params);
    return settings.refusal ? new settings.refusal(asked, DO_IT_FIRST) : inWords(DO_IT_FIRST, asked);
  }

  /** Send the notification that the elicitation is over: `within` this call, or apart from it if the call has ended. */
  async tell({ id }: Elicitation, within: boolean): Promise<void> {
    const told = { method: "notifications/elicitation/complete", params: { elicitationId: id } };
    await gone(within ? this.#notify(told) : this.#server.notification(told));
  }

  /** The answer for a client that did not declare URL mode, or the error. */
  async noLinks(elicit: Elicit, settings: Settings, asks: readonly Elicitation[]): Promise<Json> {
    // The library makes -32021 of a request that the client has not declared.
    if (this.modern && !this.opensLinks) {
      return await this.ask(elicit, settings, asks, { asked: {}, agreed: [], round: 0 });
    }
    throw new NotRun(refused("This needs a client that can do elicitation in url mode.", "no_links"));
  }

  /** What a tool threw: -32042 only where it can arrive. A client of 2026-07-28 must never see it. */
  thrown(error: unknown): unknown {
    if (!this.modern || !(error instanceof Error) || !("code" in error) || error.code !== REQUIRED) return error;
    const data = "data" in error ? (error.data as { elicitations?: { url: string }[] } | undefined) : undefined;
    return inWords(error.message, data?.elicitations ?? []);
  }

  /** What identifies a question of this call, of its guard's `place`, and of `user`. Throws NotRun. */
  async key(settings: Settings, place: number, user: Claim, asked: readonly unknown[]): Promise<string> {
    const whose = [this.server(settings), this.tool.name, place, user.iss, user.sub, this.who];
    try {
      return await keyOf(...whose, asked, this.given);
    } catch (unclear) {
      if (!(unclear instanceof TypeError)) throw unclear;
      const why = `An argument of this tool cannot be told from another. ${unclear.message}`;
      throw new NotRun(refused(why, "arguments"));
    }
  }
}

/** All four members are required. */
function params({ id, message, url }: Elicitation): UrlParams {
  return { mode: "url", message, url, elicitationId: id };
}

function action(answer: unknown): string {
  const said = typeof answer === "object" && answer !== null && "action" in answer ? answer.action : undefined;
  if (said === "accept" || said === "decline" || said === "cancel") return said;
  throw new NotRun(refused("The client's answer is none of accept, decline and cancel.", "bad_answer"));
}

function inWords(message: string, asked: readonly { url: string }[]): NotRun {
  return new NotRun(waitingFor(message, asked.map(({ url }) => url)));
}

/** Nothing is lost if the client has gone: it gets the outcome when it calls again. */
async function gone(sending: Promise<void>): Promise<void> {
  await sending.catch((error: unknown) => console.warn("elicit-flows: the client was not told:", error));
}
