"""Which agent is asking: ``Authorization: Bearer <api key>``, and nothing else."""

from __future__ import annotations

import time

from django.http import HttpRequest

from elicit_flows.errors import TooMany, Unauthenticated
from elicit_flows.lib import ids, logfields
from elicit_flows.lib.limits import hit
from elicit_flows.models import Agent

REMEMBER = 1.0  # seconds: a key that was taken back is refused everywhere within this time
_MAX_REMEMBERED = 1000
BAD_KEYS = 60  # a minute, from one address

_remembered: dict[str, tuple[float, Agent]] = {}


def authenticate(authorization: str, address: str) -> Agent:
    """The agent whose key this is. Raises Unauthenticated; TooMany after too many wrong keys from one address."""
    wanted = key_hash(authorization)
    agent = _remembered_agent(wanted) or _look_up(wanted)
    if agent is None:
        if not hit(f"bad-key:{address}", BAD_KEYS, 60):
            raise TooMany("Too many wrong API keys from this address.", retry_after=60)
        raise Unauthenticated("This API key is not valid.")
    return agent


def key_hash(authorization: str) -> str:
    """What the key is looked up by. Raises Unauthenticated when there is none."""
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise Unauthenticated("Send the API key as Authorization: Bearer <key>.")
    return ids.digest(key.strip())


def _remembered_agent(wanted: str) -> Agent | None:
    """The agent, if this very key was good a moment ago: needs no database."""
    until, agent = _remembered.get(wanted, (0.0, None))
    return agent if until > time.monotonic() else None


def _look_up(wanted: str) -> Agent | None:
    try:
        agent = Agent.objects.get(key_hash=wanted, enabled=True)
    except Agent.DoesNotExist:
        return None
    if len(_remembered) > _MAX_REMEMBERED:
        _remembered.clear()
    _remembered[wanted] = (time.monotonic() + REMEMBER, agent)
    return agent


def by_request(request: HttpRequest) -> Agent:
    """For the Django plane."""
    agent = authenticate(request.headers.get("Authorization", ""), request.META.get("REMOTE_ADDR", ""))
    logfields.add(agent=agent.slug)
    return agent
