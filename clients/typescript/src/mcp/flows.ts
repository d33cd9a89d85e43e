/** `McpFlows`, the guards of one server. */

import { Elicit } from "../client.ts";
import { Guards } from "../guards.ts";
import type { Asks, Made } from "../guards.ts";
import type { Kind } from "../kinds.ts";
import type { Completed } from "../outcomes.ts";
import type { Server } from "./calls.ts";
import { Guard } from "./guard.ts";
import type { Asker } from "./guard.ts";
import { Followers } from "./pushed.ts";
import { settings } from "./settings.ts";
import type { Given, Settings } from "./settings.ts";

/** Wraps a tool's callback, which then gets the outcome before what it gets anyway. */
export type Guarded<K extends Kind, O = Completed<K>> = <A extends unknown[], R>(
  tool: (outcome: O, ...given: A) => R | Promise<R>,
) => (...given: A) => Promise<R>;

/** What each method of `McpFlows` returns. */
export interface McpGuard extends Made {
  readonly guard: Guarded<this["kind"], this["outcome"]>;
}

/**
 * Guards for the tools of an `McpServer`, of `@modelcontextprotocol/sdk` 1.x or `@modelcontextprotocol/server` 2.x.
 *
 * Each method makes a guard, to be put around a tool's callback that is registered with `registerTool`. Several around
 * one callback ask from the outside to the inside.
 */
export class McpFlows<S extends Server> extends Guards<McpGuard> {
  /** The server's own method, for tools with guards. */
  readonly registerTool: S["registerTool"];
  readonly #server: S;
  readonly #asker: Asker;

  constructor(server: S, given: Given = {}) {
    super();
    const { elicit, ...changes } = given;
    let client = elicit;
    let followers: Followers | undefined;
    this.#server = server;
    this.#asker = {
      elicit: () => (client ??= new Elicit()),
      settings: settings(changes),
      followers: () => (followers ??= new Followers(server)),
    };
    const register = (name: string, config: { outputSchema?: unknown }, callback: (...given: unknown[]) => unknown) =>
      server.registerTool(
        name, config as never, Guard.named(server, { name, shaped: Boolean(config.outputSchema) }, callback) as never,
      );
    this.registerTool = register as S["registerTool"];
  }

  /** The same guards with these settings changed, for a tool that needs others. */
  having(changes: Partial<Settings>): McpFlows<S> {
    const { elicit, followers } = this.#asker;
    const made = new McpFlows(this.#server);
    Object.assign(made.#asker, { elicit, followers, settings: settings(changes, this.#asker.settings) });
    return made;
  }

  protected override guard(make: Asks): (tool: (...given: unknown[]) => unknown) => unknown {
    return (tool) => Guard.around(tool, this.#asker, make);
  }
}
