"""The package that agents import. It needs httpx2 and standardwebhooks beside the standard library, and no Django.

The modules, from the public surface downwards:

  client, sync    one agent at one service: ``Elicit``, and ``SyncElicit``, which runs it in a thread (sync_runner)
  asking          ask and wait, one method for each kind; drafts: shared forms; notes: data that the agent keeps;
                  mandates: charging what a user allowed
                  subscriptions: what users subscribed to; x402: paying for what answers 402
  checks          the checks of a question before it is sent
  typed_forms     forms from Python types, and answers as those types; it needs pydantic
  questions       a question, as a value; outcomes: how it ended, as a value; shapes: what the API answers
  feed, webhooks  events: as a stream or by polling, or as signed requests
  transport       HTTP and retries; environment, paths and errors, which the modules above use
  idempotency     shared by the protocols: idempotency keys, acting once, cancelling, finding open questions
  functions, words  shared by the guards: a tool's function without outcomes, and what a model is told

  mcp             guards for the tools of an MCP server
  acp             questions in the sessions of an ACP agent
  ahp             the input requests of an AHP host
  tesseron        questions in the actions of an app on Tesseron
  frameworks      guards for the tools of agent frameworks
  hosts           the other side: an MCP client that answers questions
  testing         a pytest plug-in that starts the service and plays its users

Imports point down this list, and the protocols do not import each other.
"""

from elicit_flows.domain.values import Claim, Secret
from elicit_flows.sdk.asking import OnUrl
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import (
    AuthenticationError,
    ConflictError,
    ElicitError,
    GoneError,
    InvalidAnswerError,
    InvalidQuestionError,
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
)
from elicit_flows.sdk.outcomes import (
    Answered,
    AnswerOutcome,
    Cancelled,
    Completed,
    Declined,
    Expired,
    Failed,
    Outcome,
    outcome_of,
)
from elicit_flows.sdk.proxied import check_answered
from elicit_flows.sdk.questions import (
    ConfirmWords,
    MandateLimits,
    Options,
    Order,
    OrderLine,
    PaymentTerms,
    Question,
    Questions,
)
from elicit_flows.sdk.shapes import (
    Connection,
    Draft,
    DraftAnswer,
    Elicitation,
    Event,
    GivenAnswer,
    Installation,
    Token,
    User,
    UserCode,
)
from elicit_flows.sdk.sync import SyncElicit
from elicit_flows.sdk.webhooks import verify_webhook

__all__ = [
    "AnswerOutcome",
    "Answered",
    "AuthenticationError",
    "Cancelled",
    "Claim",
    "Completed",
    "ConfirmWords",
    "ConflictError",
    "Connection",
    "Declined",
    "Draft",
    "DraftAnswer",
    "Elicit",
    "ElicitError",
    "Elicitation",
    "Event",
    "Expired",
    "Failed",
    "GivenAnswer",
    "GoneError",
    "Installation",
    "InvalidAnswerError",
    "InvalidQuestionError",
    "InvalidRequestError",
    "MandateLimits",
    "NotCompleted",
    "NotFoundError",
    "OnUrl",
    "Options",
    "Order",
    "OrderLine",
    "Outcome",
    "PaymentTerms",
    "PermissionDeniedError",
    "Question",
    "Questions",
    "RateLimitedError",
    "Secret",
    "ServerError",
    "ServiceUnavailableError",
    "StillWaiting",
    "SyncElicit",
    "Token",
    "UnexpectedAnswerError",
    "UnreachableError",
    "User",
    "UserCode",
    "check_answered",
    "outcome_of",
    "verify_webhook",
]
