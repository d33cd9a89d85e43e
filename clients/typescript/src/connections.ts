/** What users have connected: tokens, secrets and revocation. */

import { NotCompleted } from "./errors.ts";
import type { Account } from "./kinds.ts";
import type { Outcome } from "./outcomes.ts";
import { claim, connection, exchanged, object, secrets, token, word } from "./reading.ts";
import type { Connection, Secret, Token, User } from "./shapes.ts";
import type { Body, Query, Transport } from "./transport.ts";

const CONNECTIONS = "/v1/connections";
const EXCHANGE = "/v1/token";
const HOST = "Elicit-Api-Host";
const USER_TOKEN = "Elicit-User-Token";
export const PAGE = 100;

/** A connection by its id, as it was read, or as the outcome of the question that made it. */
export type OfConnection = string | Connection | Outcome<"oauth"> | Outcome<"credentials">;

export interface TokenOptions {
  /** For how many more seconds the token must be valid. The default is 60, or a tenth of its lifetime. */
  minTtl?: number;
  /** The user's own access token, for an agent that has to show it; nothing else can be given with it. */
  userToken?: string;
  /** The token for scopes that begin with this name, such as Slack's `user`. */
  scopeSet?: string;
  /** A token of an app's installation, such as a GitHub App's, for repositories that the user reaches. */
  installation?: Installation;
  signal?: AbortSignal;
}

/** An installation of an app, and what its token is for: `{ id: 42, repositories: ["a"], permissions: { contents: "read" } }`. */
export interface Installation {
  id: number;
  repositories: readonly string[];
  permissions: Readonly<Record<string, "read" | "write" | "admin">>;
}

/** What of a call of a provider's API may be given. */
export interface ApiRequest {
  query?: Query;
  json?: unknown;
  /** What fetch takes as a body, in place of `json`. A stream needs `duplex: "half"`, which is added. */
  body?: Body;
  headers?: Record<string, string>;
  /** One of the API's hosts, if it has several. */
  host?: string;
  /** The user's own access token, for an agent that has to show it. */
  userToken?: string;
  signal?: AbortSignal;
}

export interface ProofOptions {
  /** The token that is sent with the proof; without it, the current one. */
  token?: Token;
  /** The nonce that the server asked for. */
  nonce?: string;
  /** The user's own access token, for an agent that has to show it. */
  userToken?: string;
  signal?: AbortSignal;
}

export interface ImportOptions {
  accessToken?: string;
  refreshToken?: string;
  expiresAt?: Date;
  scopes?: readonly string[];
  /** The account as the provider names it. */
  account?: Pick<Account, "id"> & Partial<Account>;
  /** What the provider's addresses leave to the user, such as `{ shop: "our-shop" }`. */
  variables?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

/**
 * Calls on connections. A connection is one user's account at one provider, or what they typed, for this agent only.
 */
export abstract class Connections {
  protected readonly transport: Transport;

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** The connections that this agent may use; only those of `user` and at `provider`, if given. */
  async connections(
    user?: User | null, options: { provider?: string; signal?: AbortSignal } = {},
  ): Promise<Connection[]> {
    const query = { ...(user ? claim(user) : {}), provider: options.provider, limit: PAGE };
    const found: Connection[] = [];
    for await (const one of this.transport.pages(connection, CONNECTIONS, query, options.signal)) found.push(one);
    return found;
  }

  /** The connection as it is now, also after it was revoked. Reading does not refresh its token. */
  async connection(of: OfConnection, options: { signal?: AbortSignal } = {}): Promise<Connection> {
    return await this.transport.call(connection, "GET", connectionPath(of), options);
  }

  /**
   * An access token, refreshed if need be. Throws NotCompleted for an outcome without a connection, and ElicitError
   * with the code `reauthorization_required` (ask the user again), `connection_revoked`, `user_token_required`,
   * `user_token_refused`, `invalid_scope` (no such scopes) or `forbidden` (the user does not reach that).
   */
  async token(of: OfConnection, options: TokenOptions = {}): Promise<Token> {
    const { minTtl, userToken, scopeSet, installation, signal } = options;
    if (userToken === undefined) {
      const json = { min_ttl: minTtl, scope_set: scopeSet, installation };
      return await this.transport.call(token, "POST", `${connectionPath(of)}/token`, { json, signal });
    }
    const form = {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: userToken,
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      connection: connectionId(of),
    };
    return await this.transport.call(exchanged, "POST", EXCHANGE, { form, signal });
  }

  /**
   * Calls the provider's API through the service, which adds the user's credential, and gives the API's own answer,
   * whatever its status; its body is a stream. `at` is below the API's address, such as `/v1/me`. Nothing is retried.
   *
   * Throws ElicitError for an answer that is not the API's but the service's: `reauthorization_required` (ask the user
   * again), `connection_revoked`, `no_api`, `bad_path`, `provider_unavailable`, `provider_broken`.
   */
  async request(of: OfConnection, method: string, at: string, options: ApiRequest = {}): Promise<Response> {
    const { query, json, body, headers, host, userToken, signal } = options;
    const ours = { ...(host ? { [HOST]: host } : {}), ...(userToken ? { [USER_TOKEN]: userToken } : {}) };
    const others = Object.entries(headers ?? {}).filter(([name]) => name.toLowerCase() !== "authorization");
    return await this.transport.proxied(`${connectionPath(of)}/proxy`, at, method, {
      query, json, body, signal, headers: { Accept: "*/*", ...Object.fromEntries(others), ...ours },
    });
  }

  /**
   * Report that the provider answered 401 to the token. It is refreshed at once, at most every 30 seconds. If the
   * status is then `active`, fetch the token and try again; if not, ask the user again.
   */
  async report(of: OfConnection, options: { signal?: AbortSignal } = {}): Promise<Connection> {
    const request = { json: { status: 401 }, signal: options.signal };
    return await this.transport.call(connection, "POST", `${connectionPath(of)}/report`, request);
  }

  /**
   * The value of the `DPoP` header for one request with that `method` and `url`, for a token whose `tokenType` is DPoP
   * (RFC 9449).
   */
  async proof(of: OfConnection, method: string, url: string, options: ProofOptions = {}): Promise<string> {
    const { token, nonce, userToken, signal } = options;
    const json = { method, url, nonce, ath: await token?.ath(), subject_token: userToken };
    const read = (answer: unknown): string => word(object(answer), "dpop");
    return await this.transport.call(read, "POST", `${connectionPath(of)}/proof`, { json, signal });
  }

  /** What the user typed, by the names that you gave the fields. Call `reveal` on a `Secret` to read it. */
  async secret(
    of: OfConnection, options: { userToken?: string; signal?: AbortSignal } = {},
  ): Promise<Record<string, Secret>> {
    const { userToken, signal } = options;
    const json = userToken === undefined ? undefined : { subject_token: userToken };
    return await this.transport.call(secrets, "POST", `${connectionPath(of)}/secret`, { json, signal });
  }

  /** End the connection at the service at once. The service then revokes it at the provider. */
  async revoke(of: OfConnection, options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.transport.call(() => undefined, "DELETE", connectionPath(of), options);
  }

  /**
   * Import tokens of an account that the user connected elsewhere. Give an access token, a refresh token or both.
   * Throws PermissionDeniedError if the operator has not allowed this agent to import, and ConflictError if the account
   * is connected already; that connection is not changed.
   */
  async importConnection(user: User, provider: string, options: ImportOptions): Promise<Connection> {
    const { accessToken, refreshToken, expiresAt, scopes = [], account, variables, signal } = options;
    const json = {
      provider,
      subject: claim(user),
      scopes,
      access_token: accessToken,
      refresh_token: refreshToken,
      expires_at: expiresAt?.toISOString(),
      account,
      variables,
    };
    // A retry would find the account that the first attempt connected, and fail.
    return await this.transport.call(connection, "POST", CONNECTIONS, { json, signal, repeatable: false });
  }
}

function connectionPath(of: OfConnection): string {
  return `${CONNECTIONS}/${encodeURIComponent(connectionId(of))}`;
}

/** Throws NotCompleted for an outcome without a connection. */
function connectionId(of: OfConnection): string {
  if (typeof of === "string") return of;
  if ("id" in of) return of.id;
  if (of.status === "completed") return of.result.connection;
  throw new NotCompleted(of);
}
