/** From the API's JSON to the shapes. A TypeError says that the answer has another form. */

import type { Json, Kind } from "./kinds.ts";
import { Secret, Token } from "./shapes.ts";
import type { Claim, Connection, Draft, Elicitation, Event, PaymentHeader, Status, User, UserCode } from "./shapes.ts";

const OPEN = ["pending", "started", "settling"];
const OVER = ["completed", "declined", "cancelled", "expired", "failed"];

/** The claim of a user given as `[iss, sub]` or as `{iss, sub}`. Throws TypeError for anything else. */
export function claim(user: User): Claim {
  const given: unknown = user;
  let pair: unknown[] = [];
  if (Array.isArray(given)) {
    pair = given;
  } else if (typeof given === "object" && given !== null && "iss" in given && "sub" in given) {
    pair = [given.iss, given.sub];
  }
  const [iss, sub] = pair;
  if (pair.length !== 2 || typeof iss !== "string" || typeof sub !== "string" || !iss || !sub) {
    throw new TypeError("user: Give the issuer and the subject, two texts, as [iss, sub] or {iss, sub}.");
  }
  return { iss, sub };
}

export function elicitation<K extends Kind = Kind>(answer: unknown): Elicitation<K> {
  const body = object(answer);
  const status = word(body, "status") as Status;
  if (!OPEN.includes(status) && !OVER.includes(status)) throw new TypeError(`there is no status ${status}`);
  const read: Elicitation = {
    id: word(body, "id"),
    kind: word(body, "kind") as "form",
    status,
    action: (body["action"] ?? null) as Elicitation["action"],
    url: word(body, "url"),
    message: String(body["message"] ?? ""),
    subject: subject(body),
    params: object(body["params"] ?? {}),
    result: (body["result"] ?? null) as null,
    error: (body["error"] ?? null) as Elicitation["error"],
    reused: body["reused"] === true,
    seq: Number(body["seq"]),
    over: OVER.includes(status),
    createdAt: moment(body, "created_at"),
    expiresAt: moment(body, "expires_at"),
    finishedAt: momentOrNull(body, "finished_at"),
    consumedAt: momentOrNull(body, "consumed_at"),
    returnUrl: wordOrNull(body, "return_url"),
    return: body["return"] === "button" ? "button" : "auto",
    locale: wordOrNull(body, "locale"),
    metadata: object(body["metadata"] ?? {}),
  };
  return read as Elicitation as Elicitation<K>; // the kind is the one that was asked for
}

export function connection(answer: unknown): Connection {
  const body = object(answer);
  return {
    id: word(body, "id"),
    provider: wordOrNull(body, "provider"),
    subject: subject(body),
    scopes: words(body["scopes"]),
    status: word(body, "status") as Connection["status"],
    account: (body["account"] ?? null) as Connection["account"],
    label: String(body["label"] ?? ""),
    metadata: metadata(body),
    variables: (body["variables"] ?? {}) as Connection["variables"],
    mcp: wordOrNull(body, "mcp"),
    resource: wordOrNull(body, "resource"),
    health: String(body["health"] ?? "") as Connection["health"],
    nextRefreshAt: momentOrNull(body, "next_refresh_at"),
    lastRefreshError: wordOrNull(body, "last_refresh_error"),
  };
}

function metadata(body: Record<string, unknown>): Connection["metadata"] {
  return (body["metadata"] ?? {}) as Connection["metadata"];
}

export function token(answer: unknown): Token {
  const body = object(answer);
  const type = wordOrNull(body, "token_type") ?? "Bearer";
  const until = momentOrNull(body, "expires_at");
  const [resource, secret] = [wordOrNull(body, "resource"), wordOrNull(body, "token_secret")];
  return new Token(word(body, "access_token"), type, until, words(body["scopes"]), metadata(body), resource, secret);
}

/** The header that pays for a request answered 402. */
export function paymentHeader(answer: unknown): PaymentHeader {
  const body = object(answer);
  return {
    name: word(body, "name"),
    value: word(body, "value"),
    url: word(body, "url"),
    method: word(body, "method"),
    validUntil: momentOrNull(body, "valid_until"),
  };
}

/** The token of a token exchange, whose lifetime is in seconds. */
export function exchanged(answer: unknown): Token {
  const body = object(answer);
  const lasting = body["expires_in"];
  const until = typeof lasting === "number" ? new Date(Date.now() + lasting * 1000) : null;
  const scopes = word(body, "scope").split(" ").filter(Boolean);
  const [value, type, resource] = [word(body, "access_token"), word(body, "token_type"), wordOrNull(body, "resource")];
  return new Token(value, type, until, scopes, metadata(body), resource);
}

export function event(answer: unknown, cursor: string | null = null): Event {
  const body = object(answer);
  return {
    id: word(body, "id"),
    type: word(body, "type"),
    data: object(body["data"]),
    seq: typeof body["seq"] === "number" ? body["seq"] : null,
    elicitation: wordOrNull(body, "elicitation"),
    createdAt: momentOrNull(body, "created_at"),
    cursor,
  };
}

export function userCode(answer: unknown): UserCode {
  const body = object(answer);
  return { code: word(body, "user_code"), url: word(body, "verification_uri"), expiresAt: moment(body, "expires_at") };
}

export function draft(answer: unknown): Draft {
  const body = object(answer);
  return {
    elicitation: word(body, "elicitation"),
    status: word(body, "status") as Status,
    seq: Number(body["seq"]),
    answers: object(body["answers"]) as Draft["answers"],
    missing: words(body["missing"]),
  };
}

export function note(answer: unknown): Record<string, string> {
  return object(object(answer)["note"]) as Record<string, string>;
}

export function secrets(answer: unknown): Record<string, Secret> {
  const fields = Object.entries(object(object(answer)["fields"]));
  return Object.fromEntries(fields.map(([name, value]) => [name, new Secret(String(value))]));
}

/** One page of a list, and where the next begins. */
export function page<T>(read: (one: unknown) => T): (answer: unknown) => { found: T[]; next: string | null } {
  return (answer) => {
    const body = object(answer);
    return { found: list(body["data"]).map(read), next: wordOrNull(body, "next_cursor") };
  };
}

export function object(value: unknown): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError("an object is missing");
  return value as Json;
}

export function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new TypeError("a list is missing");
  return value;
}

export function word(body: Json, name: string): string {
  const value = body[name];
  if (typeof value !== "string") throw new TypeError(`${name} is missing`);
  return value;
}

function wordOrNull(body: Json, name: string): string | null {
  return body[name] === undefined || body[name] === null ? null : word(body, name);
}

function words(value: unknown): string[] {
  return list(value ?? []).map(String);
}

function subject(body: Json): Claim {
  return claim(object(body["subject"]) as unknown as Claim);
}

function moment(body: Json, name: string): Date {
  const read = new Date(word(body, name));
  if (Number.isNaN(read.getTime())) throw new TypeError(`${name} is not a time`);
  return read;
}

function momentOrNull(body: Json, name: string): Date | null {
  return wordOrNull(body, name) === null ? null : moment(body, name);
}
