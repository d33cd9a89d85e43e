/** The client of Elicit Flows for agents in TypeScript and JavaScript: fetch and Web Crypto are all that it needs. */

export type { AskOptions, OnUrl, Options, PayRequestOptions } from "./asking.ts";
export { Elicit } from "./client.ts";
export type { ElicitOptions } from "./client.ts";
export type { ApiRequest, ImportOptions, Installation, OfConnection, ProofOptions, TokenOptions } from "./connections.ts";
export {
  AuthenticationError,
  ConflictError,
  ElicitError,
  GoneError,
  InvalidRequestError,
  NotCompleted,
  NotFoundError,
  PermissionDeniedError,
  RateLimitedError,
  ServerError,
  ServiceUnavailableError,
  StillWaiting,
  UnexpectedAnswerError,
  UnreachableError,
} from "./errors.ts";
export type { Mistake } from "./errors.ts";
export type { Account, CredentialsField, Json, Kind, MandateLimits, Metadata, Order, Params, Results, Step } from "./kinds.ts";
export type { ChargeDetails, OfMandate } from "./mandates.ts";
export { outcomeOf } from "./outcomes.ts";
export type { Cancelled, Completed, Declined, Expired, Failed, Outcome } from "./outcomes.ts";
export type { ConfirmWords, PaymentTerms, X402Details } from "./questions.ts";
export { Secret, Token } from "./shapes.ts";
export type {
  Action,
  Claim,
  Connection,
  Draft,
  DraftAnswer,
  Elicitation,
  Event,
  GivenAnswer,
  PaymentHeader,
  Status,
  User,
  UserCode,
} from "./shapes.ts";
export type { OfSubscription } from "./subscriptions.ts";
export { WebhookApp } from "./webhook-app.ts";
export type { WebhookAppOptions } from "./webhook-app.ts";
export { verifyWebhook } from "./webhooks.ts";
export type { WebhookHeaders } from "./webhooks.ts";
export { challengeOf } from "./x402.ts";
export type { OfAuthorization, Paid } from "./x402.ts";
