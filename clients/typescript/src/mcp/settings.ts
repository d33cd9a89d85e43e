/** The settings of a server's guards. */

import type { Elicit } from "../client.ts";
import type { Completed, Outcome } from "../outcomes.ts";
import type { User } from "../shapes.ts";

/** How a client is given a link. */
export type Way = "url" | "link" | "refuse";

/** What the SDKs tell a tool of the caller's verified access token. */
export interface AuthInfo {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resource?: URL | undefined;
  readonly extra?: { readonly [name: string]: unknown } | undefined;
}

/** What a client is told of a question. */
export type UrlParams = { mode: "url"; message: string; url: string; elicitationId: string };

/** The SDK's `UrlElicitationRequiredError`. */
export type Refusal = new (elicitations: UrlParams[], message?: string) => Error;

/** All times are in seconds. */
export interface Settings {
  /** Tells this server from others with the same API key. The default is its name, and what its tokens are for. */
  readonly server?: string;
  /** The one user of a server on that user's own machine; without it, the caller's verified access token says who. */
  readonly user?: User;
  /** Returns the user for an access token. The default reads `iss` and `sub` of its `extra`. */
  readonly identify?: (token: AuthInfo) => User | null;
  /** How long one call waits for the user, for all its guards together (45). Keep it below the client's time-out. */
  readonly hold: number;
  /** How many times a call may be answered with "call again" (8); clients give up after 10. */
  readonly rounds: number;
  /** Between two progress notifications, for clients that ask for them (10). */
  readonly progressEvery: number;
  /** For how long a user who declined is not asked again by the same call (60). */
  readonly askAgainAfter: number;
  /** With 2025-11-25, ask with `elicitation/create` (true), or refuse with -32042 until the user has finished. */
  readonly push: boolean;
  /**
   * Ask what all guards of a tool ask at once, and not one after the other (false). The first no ends the call, and the
   * other questions are taken back.
   */
  readonly together: boolean;
  /** The SDK's `UrlElicitationRequiredError`, without which a call cannot be refused with -32042. */
  readonly refusal?: Refusal;
  /** For clients that cannot open links: put the link into the tool's answer (`link`), or end the call (`refuse`). */
  readonly otherwise: "link" | "refuse";
  /** By the client's name, for clients that can do more or less than they declare. */
  readonly clients: { readonly [name: string]: Way };
  /** Is called with each completed outcome before the tool runs. */
  readonly after?: (done: Completed) => unknown;
  /** Returns the tool's answer for an outcome that is not `completed`. */
  readonly say?: (outcome: Outcome) => string;
}

export type Given = Partial<Settings> & {
  /** The client. The default is made from the environment at the first call. */
  readonly elicit?: Elicit;
};

const DEFAULTS: Settings = {
  hold: 45, rounds: 8, progressEvery: 10, askAgainAfter: 60, push: true, together: false, otherwise: "link",
  clients: {},
};
const NAMES = new Set([...Object.keys(DEFAULTS), "server", "user", "identify", "refusal", "after", "say"]);
const LEAST = { hold: 0, askAgainAfter: 0, rounds: 1, progressEvery: 0.1 } as const;

/** `before` with these changes. Throws TypeError for an unknown setting, RangeError for a value out of range. */
export function settings(given: Partial<Settings>, before: Settings = DEFAULTS): Settings {
  for (const name of Object.keys(given)) {
    if (!NAMES.has(name)) throw new TypeError(`${name}: There is no such setting.`);
  }
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  const made: Settings = { ...before, ...Object.fromEntries(said) };
  if (made.server !== undefined && !(typeof made.server === "string" && made.server.trim())) {
    throw new RangeError(`server: Give the server a name of its own, not ${JSON.stringify(made.server)}.`);
  }
  for (const [name, least] of Object.entries(LEAST) as [keyof typeof LEAST, number][]) {
    if (!(typeof made[name] === "number" && made[name] >= least)) {
      throw new RangeError(`${name}: Give a number of ${least} or more, not ${made[name]}.`);
    }
  }
  check("otherwise", made.otherwise, ["link", "refuse"]);
  for (const way of Object.values(made.clients)) check("clients", way, ["url", "link", "refuse"]);
  if (!made.push && !made.refusal) {
    throw new TypeError("push: To refuse calls, give the SDK's UrlElicitationRequiredError as refusal.");
  }
  return made;
}

function check(name: string, way: string, known: string[]): void {
  if (!known.includes(way)) throw new RangeError(`${name}: Give one of ${known.join(", ")}, not ${way}.`);
}
