"""What agents import. No Django: only httpx2 and standardwebhooks are needed beside the standard library."""

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError, NotCompleted, StillWaiting
from elicit_flows.sdk.outcomes import Cancelled, Completed, Declined, Expired, Failed, Outcome, outcome_of
from elicit_flows.sdk.questions import ConfirmWords, Options, PaymentTerms, Question, Questions
from elicit_flows.sdk.shapes import Connection, Draft, DraftAnswer, Elicitation, Event, GivenAnswer, Token
from elicit_flows.sdk.sync import SyncElicit
from elicit_flows.sdk.webhooks import verify_webhook
from elicit_flows.values import Claim, Secret

__all__ = [
    "Cancelled",
    "Claim",
    "Completed",
    "ConfirmWords",
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
    "NotCompleted",
    "Options",
    "Outcome",
    "PaymentTerms",
    "Question",
    "Questions",
    "Secret",
    "StillWaiting",
    "SyncElicit",
    "Token",
    "outcome_of",
    "verify_webhook",
]
