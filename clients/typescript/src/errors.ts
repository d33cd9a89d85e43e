/** The errors of the client. A user's no is not one of them: it is an outcome, see outcomes.ts. */

import type { Outcome } from "./outcomes.ts";
import type { Elicitation } from "./shapes.ts";

const MAX_TOLD = 5; // how many mistakes of one answer the error's text lists

/** One mistake in a request: where it is, and what to do about it. */
export interface Mistake {
  readonly loc: readonly (string | number)[];
  readonly message: string;
}

export interface ErrorDetails {
  status?: number | undefined;
  errors?: readonly Mistake[] | undefined;
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  cause?: unknown;
}

/**
 * The service refused, or could not be reached. `message` gives the reason, the code and the id of the request.
 *
 * `code` is one of the codes on the API's error page; `unreachable` and `unexpected_answer` come from this client
 * itself. `status` is the HTTP status, undefined if there was no answer. `errors` is filled for 422. `retryAfter` is in
 * seconds. `requestId` (X-Request-Id) finds the request in the service's log.
 */
export class ElicitError extends Error {
  readonly code: string;
  readonly detail: string;
  readonly status: number | undefined;
  readonly errors: readonly Mistake[];
  readonly retryAfter: number | undefined;
  readonly requestId: string | undefined;

  constructor(code: string, detail: string, details: ErrorDetails = {}) {
    const errors = details.errors ?? [];
    const request = details.requestId ? `, request ${details.requestId}` : "";
    super(`${told(errors) || detail} [${code}${request}]`, "cause" in details ? { cause: details.cause } : {});
    this.name = new.target.name;
    this.code = code;
    this.detail = detail;
    this.status = details.status;
    this.errors = errors;
    this.retryAfter = details.retryAfter;
    this.requestId = details.requestId;
  }

  /** The first mistake without its place in the request, to show to the person who made it. */
  get reason(): string {
    return this.errors[0]?.message ?? this.detail;
  }
}

/** 400, 413, 415 or 422: the request is wrong, and a retry will not help. `errors` says where. */
export class InvalidRequestError extends ElicitError {}

/** 401: the API key is missing or not valid. */
export class AuthenticationError extends ElicitError {}

/** 403: this agent is not allowed to do that. */
export class PermissionDeniedError extends ElicitError {}

/** 404: it does not exist, or it belongs to another agent. */
export class NotFoundError extends ElicitError {}

/** 409: the current state does not allow the call. `code` says why. */
export class ConflictError extends ElicitError {}

/** 410: it existed and has ended, for example a revoked connection. */
export class GoneError extends ElicitError {}

/** 429: too many requests. `retryAfter` says how many seconds to wait. */
export class RateLimitedError extends ElicitError {}

/** 5xx: the service failed. */
export class ServerError extends ElicitError {}

/** 502, 503 or 504: the service, or something that it needs, does not answer at the moment. */
export class ServiceUnavailableError extends ServerError {}

/** There was no answer at all. */
export class UnreachableError extends ServiceUnavailableError {}

/** The answer does not come from an Elicit Flows API, or from a version that this client does not know. */
export class UnexpectedAnswerError extends ElicitError {}

/** A connection or a payment was requested from an outcome that has none. `outcome` says what happened instead. */
export class NotCompleted extends ElicitError {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super("not_completed", `There is no connection or payment: the question was ${outcome.elicitation.status}`);
    this.outcome = outcome;
  }
}

/** The `timeout` of the caller has passed. `elicitation` stays open: wait for it again, or cancel it. */
export class StillWaiting extends ElicitError {
  readonly elicitation: Elicitation;

  constructor(elicitation: Elicitation) {
    super("still_waiting", `Nobody has answered ${elicitation.id} yet`);
    this.elicitation = elicitation;
  }
}

const BY_STATUS: Record<number, typeof ElicitError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  410: GoneError,
  413: InvalidRequestError,
  415: InvalidRequestError,
  422: InvalidRequestError,
  429: RateLimitedError,
  502: ServiceUnavailableError,
  503: ServiceUnavailableError,
  504: ServiceUnavailableError,
};
// Token exchange answers 400 for all of these, as OAuth requires, so the code decides.
const BY_CODE = new Map<string, typeof ElicitError>([
  ["not_found", NotFoundError],
  ["reauthorization_required", ConflictError],
  ["connection_revoked", GoneError],
  ["provider_broken", ServiceUnavailableError],
]);

/**
 * The error for an answer with problem details (RFC 9457), or with an OAuth error (RFC 6749, section 5.2). A body with
 * neither (a proxy's page) gets the code `http_<status>`.
 */
export function problem(status: number, body: unknown, headers: Headers): ElicitError {
  const said: { [name: string]: unknown } = typeof body === "object" && body !== null ? { ...body } : {};
  const code = text(said["code"]) ?? `http_${status}`;
  const kind = BY_CODE.get(code) ?? BY_STATUS[status] ?? (status >= 500 ? ServerError : ElicitError);
  const detail = text(said["detail"]) ?? text(said["error_description"]) ?? text(said["title"]);
  return new kind(code, detail ?? `The service answered ${status}`, {
    status,
    errors: Array.isArray(said["errors"]) ? said["errors"].filter(isMistake) : [],
    retryAfter: retryAfter(headers.get("retry-after")),
    requestId: headers.get("x-request-id") ?? undefined,
  });
}

/** Seconds until the next attempt, from a number of seconds or an HTTP date (RFC 9110, section 10.2.3). */
function retryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value.trim())) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

function isMistake(one: unknown): one is Mistake {
  return typeof one === "object" && one !== null && "loc" in one && Array.isArray(one.loc) && "message" in one;
}

/** The mistakes as one line: `params.amount: Give a …; params.currency: Give an …`. */
function told(errors: readonly Mistake[]): string {
  const more = errors.length > MAX_TOLD ? `; and ${errors.length - MAX_TOLD} more` : "";
  return errors.slice(0, MAX_TOLD).map((one) => `${one.loc.join(".")}: ${one.message}`).join("; ") + more;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
