"""Rows that a measurement needs to be there before it begins."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection, transaction

from bench.bare.models import Row
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Claim, Grant, Secret
from elicit_flows.lib import clock, ids
from elicit_flows.models import Agent, Connection, Elicitation, IdentityProvider, Provider
from elicit_flows.vault import keep

LATER = timedelta(days=7)


def bare_rows(count: int) -> list[str]:
    """The bare side's table, and rows in it; their keys."""
    with connection.schema_editor() as editor:
        editor.create_model(Row)
    now = clock.now()
    rows = [
        Row(id=ids.name("ro"), owner=f"user-{n}", message="hello", data={"n": n}, created_at=now, expires_at=now)
        for n in range(count)
    ]
    Row.objects.bulk_create(rows)
    return [row.pk for row in rows]


def grants(agent: str, provider: str, tokens: list[list[str]], seconds: int) -> list[str]:
    """A connection for each (access token, refresh token), living ``seconds`` from now; their ids."""
    who, where = Agent.objects.get(slug=agent), Provider.objects.get(slug=provider)
    issuer = IdentityProvider.objects.values_list("issuer", flat=True)[0]
    made = []
    for number, (access, refresh) in enumerate(tokens):
        grant = Grant(
            access_token=Secret(access),
            refresh_token=Secret(refresh),
            token_type="Bearer",
            expires_at=clock.now() + timedelta(seconds=seconds),
            scopes=("files.read",),
            account_id=f"account-{number}",
        )
        with transaction.atomic():
            made.append(keep(who, Claim(issuer, f"user-{number}"), where, grant).pk)
    return made


def expire_tokens() -> None:
    """Every access token is past its time; the refresh tokens stay good."""
    now = clock.now()
    Connection.objects.update(issued_at=now - timedelta(hours=1), expires_at=now - timedelta(seconds=1))


def agents(count: int, key: str) -> None:
    """Many agents; ``key`` has a %d for the agent's number. None has a webhook."""
    rows = [
        Agent(slug=f"many-{n}", name=f"Agent {n}", key_hash=ids.digest(key % n), key_hint="many") for n in range(count)
    ]
    Agent.objects.bulk_create(rows, batch_size=1000)
    first = IdentityProvider.objects.get()
    through: Any = Agent.identity_providers.through
    links = [through(agent_id=row.pk, identityprovider_id=first.pk) for row in rows]
    through.objects.bulk_create(links, batch_size=1000)


def started() -> list[str]:
    """A question under way for each of the many agents; their ids in the agents' order."""
    now, issuer = clock.now(), IdentityProvider.objects.get().issuer
    rows = [
        Elicitation(
            agent=agent,
            kind="oauth",
            status=Status.STARTED,
            iss=issuer,
            sub=f"user-{agent.slug}",
            message="Connect Drive so that I can list your files.",
            params={"provider": "drive", "scopes": ["files.read"]},
            created_at=now,
            expires_at=now + LATER,
        )
        for agent in Agent.objects.filter(slug__startswith="many-").order_by("pk")
    ]
    Elicitation.objects.bulk_create(rows, batch_size=1000)
    return [row.pk for row in rows]
