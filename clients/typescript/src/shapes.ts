/** What the API answers, typed. Unknown fields are ignored, so an older client works with a newer service. */

import type { Account, Json, Kind, Metadata, Params, Results } from "./kinds.ts";

export type Status =
  | "pending"
  | "started"
  | "settling"
  | "completed"
  | "declined"
  | "cancelled"
  | "expired"
  | "failed";
export type Action = "accept" | "decline" | "cancel";

/** The user: issuer and subject, from the token that they signed in with. Never take them from a model or a client. */
export interface Claim {
  readonly iss: string;
  readonly sub: string;
}
export type User = Claim | readonly [iss: string, sub: string];

interface ElicitationOf<K extends Kind> {
  readonly id: string;
  readonly kind: K;
  readonly status: Status;
  readonly action: Action | null;
  /** The link to show to the user. */
  readonly url: string;
  readonly message: string;
  readonly subject: Claim;
  readonly params: Params[K];
  readonly result: Results[K] | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly reused: boolean;
  /** Grows with every change. */
  readonly seq: number;
  /** Whether it has ended, in whichever way. */
  readonly over: boolean;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly finishedAt: Date | null;
  readonly consumedAt: Date | null;
  readonly returnUrl: string | null;
  readonly return: "auto" | "button";
  readonly locale: string | null;
  readonly metadata: Json;
}

/** One question to one user. Look at `kind` to know the type of `params` and `result`. */
export type Elicitation<K extends Kind = Kind> = { [P in K]: ElicitationOf<P> }[K];

/** An account that a user connected, or what they typed. `label` is always filled. */
export interface Connection {
  readonly id: string;
  /** null: credentials whose fields the agent named. */
  readonly provider: string | null;
  readonly subject: Claim;
  readonly scopes: readonly string[];
  readonly status: "active" | "reauthorization_required" | "revoked";
  readonly account: Account | null;
  readonly label: string;
  /** What the provider said beside the tokens, such as `instance_url`, by the names of its entry. */
  readonly metadata: Metadata;
  /** What the user named in the provider's addresses, such as their shop. */
  readonly variables: Readonly<Record<string, string>>;
  /** The address of the remote MCP server; null for other providers. */
  readonly mcp: string | null;
  /** The only resource that its tokens are for. */
  readonly resource: string | null;
  /** ok, failing (the service will ask the provider again), expired, or the status that ended it. */
  readonly health: "ok" | "failing" | "expired" | "reauthorization_required" | "revoked";
  readonly nextRefreshAt: Date | null;
  readonly lastRefreshError: string | null;
}

/** Something that happened. `cursor` is the position after it in the feed; null for an event from a webhook. */
export interface Event {
  readonly id: string;
  readonly type: string;
  /** The object as it became, with the API's own names. */
  readonly data: Json;
  readonly seq: number | null;
  readonly elicitation: string | null;
  readonly createdAt: Date | null;
  readonly cursor: string | null;
}

/** A code that the user types at `url` until `expiresAt` (RFC 8628, section 3.2). */
export interface UserCode {
  readonly code: string;
  readonly url: string;
  readonly expiresAt: Date;
}

/** The answer to one question of a form. `value` has the form of the result's content; `reason`: why it is skipped. */
export interface GivenAnswer {
  state: "draft" | "submitted" | "skipped";
  value?: unknown;
  reason?: string;
}

/** One answer in a draft. Without a `state` it was cleared. `seq`: its last change; `by`: who made it. */
export interface DraftAnswer {
  readonly seq: number;
  readonly by: string;
  readonly state?: "draft" | "submitted" | "skipped";
  readonly value?: unknown;
  readonly reason?: string;
}

/** The answers of a form so far. `missing` names the questions without which it cannot be submitted. */
export interface Draft {
  readonly elicitation: string;
  readonly status: Status;
  readonly seq: number;
  readonly answers: Readonly<Record<string, DraftAnswer>>;
  readonly missing: readonly string[];
}

/** A text that does not appear in what is printed, logged or serialised. Call `reveal` to read it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The text itself. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "Secret(***)";
  }

  toJSON(): string {
    return this.toString();
  }
}

/** An access token for the provider's API, hidden from what prints it. `expiresAt` is null if it is not known. */
export class Token {
  readonly #accessToken: string;
  readonly #tokenSecret: string | null;
  readonly tokenType: string;
  readonly expiresAt: Date | null;
  readonly scopes: readonly string[];
  /** What the provider said beside the tokens, such as `instance_url`, by the names of its entry. */
  readonly metadata: Metadata;
  /** The only resource that it is for, such as an MCP server: send it nowhere else. */
  readonly resource: string | null;

  constructor(
    accessToken: string, tokenType = "Bearer", expiresAt: Date | null = null, scopes: readonly string[] = [],
    metadata: Metadata = {}, resource: string | null = null, tokenSecret: string | null = null,
  ) {
    this.#accessToken = accessToken;
    this.#tokenSecret = tokenSecret;
    this.resource = resource;
    this.tokenType = tokenType;
    this.expiresAt = expiresAt;
    this.scopes = scopes;
    this.metadata = metadata;
  }

  get accessToken(): string {
    return this.#accessToken;
  }

  /** Of a token of OAuth 1.0a, whose type is oauth1; otherwise null. */
  get tokenSecret(): string | null {
    return this.#tokenSecret;
  }

  /** The value of an Authorization header (RFC 6750, RFC 9449). */
  get authorization(): string {
    return `${this.tokenType} ${this.#accessToken}`;
  }

  /** The token's hash for a DPoP proof: base64url of its SHA-256 (RFC 9449, section 4.2). */
  async ath(): Promise<string> {
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(this.#accessToken));
    const plain = btoa(String.fromCharCode(...new Uint8Array(hash)));
    return plain.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }
}

/** What pays: a header, and the only request that it is meant for. */
export interface PaymentHeader {
  readonly name: string;
  readonly value: string;
  readonly url: string;
  readonly method: string;
  readonly validUntil: Date | null;
}
