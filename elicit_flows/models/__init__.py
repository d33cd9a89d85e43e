"""One file a noun."""

from elicit_flows.models.agent import Agent
from elicit_flows.models.attempt import Attempt
from elicit_flows.models.connection import Connection
from elicit_flows.models.delivery import Delivery
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.event import Event, Feed
from elicit_flows.models.provider import IdentityProvider, Provider
from elicit_flows.models.vault_key import VaultKey

__all__ = [
    "Agent",
    "Attempt",
    "Connection",
    "Delivery",
    "Elicitation",
    "Event",
    "Feed",
    "IdentityProvider",
    "Provider",
    "VaultKey",
]
