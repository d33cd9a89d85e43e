"""Finding what belongs to the asking agent. What belongs to another answers as what does not exist."""

from __future__ import annotations

from elicit_flows.errors import NotFound
from elicit_flows.ledger import reading
from elicit_flows.models import Agent, Delivery, Elicitation, Entitlement, Payment


def own_elicitation(agent_id: int, elicitation_id: str) -> Elicitation:
    try:
        return Elicitation.objects.get(agent_id=agent_id, parent=None, pk=elicitation_id)
    except Elicitation.DoesNotExist:
        raise NotFound("There is no elicitation with this id.") from None


def own_delivery(agent: Agent, delivery_id: str) -> Delivery:
    row = Delivery.objects.select_related("event").filter(agent=agent, pk=delivery_id).first()
    if row is None:
        raise NotFound("There is no delivery with this id.")
    return row


def own_payment(agent: Agent, payment_id: str) -> Payment:
    row = reading.payments_of(agent).filter(pk=payment_id).select_related("agent", "account", "elicitation").first()
    if row is None:
        raise NotFound("There is no payment with this id.")
    return row


def own_entitlement(agent: Agent, entitlement_id: str) -> Entitlement:
    row = reading.entitlements_of(agent).filter(pk=entitlement_id).first()
    if row is None:
        raise NotFound("There is no entitlement with this id.")
    return row
