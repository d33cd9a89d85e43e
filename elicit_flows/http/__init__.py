"""Requests to other people's servers: guarded; ``send`` from many threads, ``AsyncClient`` from an event loop.

Both refuse every destination that is neither on the public internet nor in a network that the operator allows. A
request ends at its deadline whatever the other side does. No redirect is followed, no cookie is kept and no proxy is
read from the environment: the one there may be stands in the policy.
"""

from elicit_flows.http.async_client import AsyncClient
from elicit_flows.http.client import Reply, send, trust
from elicit_flows.http.destinations import (
    Policy,
    Refused,
    Target,
    Unreachable,
    check_url,
    configure,
    is_loopback_name,
    policy,
    same_site,
)

__all__ = [
    "AsyncClient",
    "Policy",
    "Refused",
    "Reply",
    "Target",
    "Unreachable",
    "check_url",
    "configure",
    "is_loopback_name",
    "policy",
    "same_site",
    "send",
    "trust",
]
