"""The API's paths, from an id or from the object that the caller has."""

from __future__ import annotations

from urllib.parse import quote

from elicit_flows.sdk.errors import NotCompleted
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.shapes import Connection, Elicitation

AGENT = "/v1/agent"
ELICITATIONS = "/v1/elicitations"
CONNECTIONS = "/v1/connections"
MANDATES = "/v1/mandates"
PAYMENTS = "/v1/payments"
SUBSCRIPTIONS = "/v1/subscriptions"


def elicitation_id(elicitation: str | Elicitation) -> str:
    return elicitation if isinstance(elicitation, str) else elicitation.id


def elicitation_path(elicitation: str | Elicitation) -> str:
    return _one(ELICITATIONS, elicitation_id(elicitation))


def question_path(elicitation: str | Elicitation, question: str) -> str:
    return f"{elicitation_path(elicitation)}/draft/{quote(question, safe='')}"


def payment_path(payment: str | Outcome) -> str:
    """The path of a payment. Raises NotCompleted, and KeyError for an outcome without one."""
    return _made(PAYMENTS, payment, "payment")


def mandate_path(mandate: str | Outcome) -> str:
    """The path of a mandate. Raises NotCompleted, and KeyError for an outcome without one."""
    return _made(MANDATES, mandate, "mandate")


def subscription_path(subscription: str | Outcome) -> str:
    """The path of a subscription. Raises NotCompleted, and KeyError for an outcome without one."""
    return _made(SUBSCRIPTIONS, subscription, "subscription")


def connection_id(connection: str | Connection | Outcome) -> str:
    """The id of a connection. Raises NotCompleted for an outcome without one."""
    if isinstance(connection, str):
        return connection
    if isinstance(connection, Connection):
        return connection.id
    if isinstance(connection, Completed):
        return connection.connection
    raise NotCompleted(connection)


def connection_path(connection: str | Connection | Outcome) -> str:
    """The path of a connection. Raises NotCompleted for an outcome without one."""
    return _one(CONNECTIONS, connection_id(connection))


def _made(collection: str, made: str | Outcome, name: str) -> str:
    """``made``: its id, or the outcome that has it as ``name``."""
    if isinstance(made, Completed):
        return _one(collection, getattr(made, name))
    if isinstance(made, str):
        return _one(collection, made)
    raise NotCompleted(made)


def _one(collection: str, id: str) -> str:
    return f"{collection}/{quote(id, safe='')}"
