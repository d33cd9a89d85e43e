"""What agents import. No Django: only httpx2 and standardwebhooks are needed beside the standard library.

The rooms, from the door inwards:

client, sync    one agent at one service: ``Elicit``, and ``SyncElicit`` on a ``loop`` of its own
asking          ask and wait, a method for each kind; drafts: forms that several fill in; notes: what the agent keeps
questions       what is asked, as a value; outcomes: how it ended, as a value; shapes: what the API answers
feed, webhooks  what happened: as a stream or by polling, or sent
transport       HTTP, and what is borne with; environment, paths, errors: what all of it needs
once            what every protocol's side needs: the same question, acted on once, taken back, found again

mcp             guards for the tools of an MCP server
acp             asks in the sessions of an ACP agent
ahp             the input requests of an AHP host
tesseron        asks in the actions of an app on Tesseron
hosts           the other end: the rounds of an MCP client
testing         a pytest plug-in: a service in a box, with its users

Imports point down this list, and none of the protocols knows another.
"""

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.errors import ElicitError, NotCompleted, StillWaiting
from elicit_flows.sdk.outcomes import Cancelled, Completed, Declined, Expired, Failed, Outcome, outcome_of
from elicit_flows.sdk.questions import ConfirmWords, Options, PaymentTerms, Question, Questions
from elicit_flows.sdk.shapes import Connection, Draft, DraftAnswer, Elicitation, Event, GivenAnswer, Token, UserCode
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
    "UserCode",
    "outcome_of",
    "verify_webhook",
]
