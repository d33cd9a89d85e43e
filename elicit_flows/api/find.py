"""Finding what belongs to the asking agent. What belongs to another answers as what does not exist."""

from __future__ import annotations

from elicit_flows.errors import NotFound
from elicit_flows.models import Agent, Delivery, Elicitation


def own_elicitation(agent: Agent, elicitation_id: str) -> Elicitation:
    row = Elicitation.objects.select_related("agent").filter(agent=agent, pk=elicitation_id).first()
    if row is None:
        raise NotFound("There is no elicitation with this id.")
    return row


def own_delivery(agent: Agent, delivery_id: str) -> Delivery:
    row = Delivery.objects.select_related("event").filter(agent=agent, pk=delivery_id).first()
    if row is None:
        raise NotFound("There is no delivery with this id.")
    return row
