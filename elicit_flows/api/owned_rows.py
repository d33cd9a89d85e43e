"""Looks up rows of the calling agent. A row of another agent is answered like one that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from elicit_flows import vault
from elicit_flows.domain.errors import NotFound
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import (
    Agent,
    Authorization,
    Connection,
    Delivery,
    Elicitation,
    Entitlement,
    Mandate,
    Payment,
    Subscription,
)
from elicit_flows.payments import authorizations, queries

_ONE = CompiledQuery(lambda agent, pk: Elicitation.objects.filter(agent=agent, parent=None, pk=pk), 1, "el")
_SEVERAL = CompiledQuery(lambda pks: Elicitation.objects.filter(parent=None, pk__among=pks), ["el"])


def own_elicitation(agent_id: int, elicitation_id: str) -> Elicitation:
    try:
        return _ONE.get(agent_id, elicitation_id)
    except Elicitation.DoesNotExist:
        raise NotFound("There is no elicitation with this id.") from None


def own_elicitations(asked: set[tuple[int, str]]) -> Iterator[Elicitation]:
    """``own_elicitation`` for many in one SELECT, each named with its agent. Those that do not exist are left out."""
    return (row for row in _SEVERAL.all([pk for _, pk in asked]) if (row.agent_id, row.pk) in asked)


def own_connection(agent: Agent, connection_id: str) -> Connection:
    row = vault.owned(agent).filter(pk=connection_id).first()
    if row is None:
        raise NotFound("There is no connection with this id.")
    return row


def own_delivery(agent: Agent, delivery_id: str) -> Delivery:
    row = Delivery.objects.select_related("event").filter(agent=agent, pk=delivery_id).first()
    if row is None:
        raise NotFound("There is no delivery with this id.")
    return row


def own_payment(agent: Agent, payment_id: str) -> Payment:
    row = queries.payments_of(agent).filter(pk=payment_id).select_related("agent", "account", "elicitation").first()
    if row is None:
        raise NotFound("There is no payment with this id.")
    return row


def own_entitlement(agent: Agent, entitlement_id: str) -> Entitlement:
    row = queries.entitlements_of(agent).filter(pk=entitlement_id).first()
    if row is None:
        raise NotFound("There is no entitlement with this id.")
    return row


def own_mandate(agent: Agent, mandate_id: str) -> Mandate:
    row = queries.mandates_of(agent).filter(pk=mandate_id).first()
    if row is None:
        raise NotFound("There is no mandate with this id.")
    return row


def own_subscription(agent: Agent, subscription_id: str) -> Subscription:
    row = queries.subscriptions_of(agent).filter(pk=subscription_id).first()
    if row is None:
        raise NotFound("There is no subscription with this id.")
    return row


def own_authorization(agent: Agent, authorization_id: str) -> Authorization:
    row = authorizations.of_agent(agent).filter(pk=authorization_id).first()
    if row is None:
        raise NotFound("There is no authorization with this id.")
    return row
