"""Authentication of agents: ``Authorization: Bearer <api key>`` only."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest

from elicit_flows.domain.errors import TooMany, Unauthenticated
from elicit_flows.lib import ids, rate_limits, telemetry
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.lib.ttl_cache import TtlCache
from elicit_flows.models import Agent

REMEMBER = 1.0  # seconds after which a revoked key is refused everywhere

_OF_KEYS = CompiledQuery(lambda hashes: Agent.objects.filter(enabled=True, key_hash__among=hashes), ["hash"])
# The agents that were looked up within REMEMBER, by the key's hash.
remembered: TtlCache[str, Agent] = TtlCache(REMEMBER, most=1000)


class Known(NamedTuple):
    """The agent that a key belonged to when it was last looked up, its requests per minute, and whether it has managed
    access.

    It proves nothing, because the key may have been revoked. It only says whose requests to count before a thread is
    free.
    """

    agent_id: int
    per_minute: int
    managed: bool
    at: float


KNOWN_FOR = 60.0  # seconds after which a waiting request is looked up again, to notice a changed limit
known: TtlCache[str, Known] = TtlCache(float("inf"), most=10_000)  # by the key's hash


def authenticate(authorization: str, address: str) -> Agent:
    """The agent whose key this is. Raises Unauthenticated; TooMany after too many wrong keys from one address."""
    wanted = key_hash(authorization)
    agent = remembered.get(wanted) or look_up([wanted]).get(wanted)
    if agent is None:
        if not rate_limits.BAD_KEYS.hit_from(address):
            raise TooMany("Too many wrong API keys from this address.", retry_after=60)
        raise Unauthenticated("This API key is not valid.")
    return agent


def key_hash(authorization: str) -> str:
    """The hash under which the key is stored. Raises Unauthenticated if there is no key."""
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise Unauthenticated("Send the API key as Authorization: Bearer <key>.")
    return sys.intern(ids.digest(key.strip()))  # a request that waits has it in several places


def look_up(wanted: list[str]) -> dict[str, Agent]:
    """The agents with these keys, by the key's hash. Keys that are not valid are left out."""
    found = {agent.key_hash: agent for agent in _OF_KEYS.all(wanted)}
    for each in wanted:
        if each not in found:
            known.drop(each)
    for each, agent in found.items():
        remembered.put(each, agent)
        per_minute = agent.requests_per_minute or settings.ELICIT_AGENT_REQUESTS_PER_MINUTE
        known.put(each, Known(agent.pk, per_minute, agent.managed_access, time.monotonic()))
    return found


def is_managed(wanted: str) -> bool:
    """Whether the agent with this key, given as its hash, has managed access. An unknown one is looked up.

    False if there is no such agent, and if the database does not answer.
    """
    if known.get(wanted) is None:
        with suppress(DatabaseError):
            look_up([wanted])
    found = known.get(wanted)
    return found is not None and found.managed


def presented(authorization: bytes) -> str:
    """The hash of the key in a request; "" if there is none."""
    try:
        return key_hash(authorization.decode("latin-1"))
    except Unauthenticated:
        return ""


def by_request(request: HttpRequest) -> Agent:
    """The agent of a Django request. Raises Unauthenticated and TooMany."""
    agent = authenticate(request.headers.get("Authorization", ""), request.META.get("REMOTE_ADDR", ""))
    telemetry.add_log_fields(agent=agent.slug)
    return agent
