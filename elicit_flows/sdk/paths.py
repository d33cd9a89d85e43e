"""The API's paths, from an id or from the object that the caller has."""

from __future__ import annotations

from urllib.parse import quote

from elicit_flows.sdk.errors import NotCompleted
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.shapes import Connection, Elicitation

AGENT = "/v1/agent"
ELICITATIONS = "/v1/elicitations"
CONNECTIONS = "/v1/connections"
PAYMENTS = "/v1/payments"


def elicitation_id(elicitation: str | Elicitation) -> str:
    return elicitation if isinstance(elicitation, str) else elicitation.id


def elicitation_path(elicitation: str | Elicitation) -> str:
    return _one(ELICITATIONS, elicitation_id(elicitation))


def question_path(elicitation: str | Elicitation, question: str) -> str:
    return f"{elicitation_path(elicitation)}/draft/{quote(question, safe='')}"


def payment_path(payment: str | Outcome) -> str:
    """The path of a payment. Raises NotCompleted for an outcome without one."""
    if isinstance(payment, str):
        return _one(PAYMENTS, payment)
    if isinstance(payment, Completed):
        return _one(PAYMENTS, payment.payment)
    raise NotCompleted(payment)


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


def _one(collection: str, id: str) -> str:
    return f"{collection}/{quote(id, safe='')}"
