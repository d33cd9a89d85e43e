"""A long past, written by the database itself, and what one step costs beside it."""

from __future__ import annotations

import time

from django.db import connection, transaction

from bench.inside.delivering import MESSAGE, pending
from elicit_flows import elicitations
from elicit_flows.domain.values import Claim, Question
from elicit_flows.events import webhooks
from elicit_flows.jobs import worker
from elicit_flows.models import Agent, Delivery, IdentityProvider

# Each finished question with its three events and two delivered webhooks, spread over 10,000 people and 100 days.
_PAST = """
    INSERT INTO elicit_flows_elicitation (id, agent_id, kind, status, iss, sub, message, params, result, metadata,
        reused, seq, fingerprint, created_at, expires_at, finished_at)
    SELECT 'el_past' || n, %(agent)s, 'oauth', 'completed', %(iss)s, 'user-' || n %% 10000, %(message)s,
        '{"provider": "drive", "scopes": ["files.read"]}', '{"connection": "cn_past", "provider": "drive"}', '{}',
        false, 3, '', at, at + interval '15 min', at + interval '1 min'
    FROM (SELECT n, now() - interval '100 days' * (1 - n::float / %(count)s) AS at
          FROM generate_series(1, %(count)s) AS n) AS past;
    INSERT INTO elicit_flows_event (id, agent_id, position, type, elicitation_id, seq, created_at, data)
    SELECT 'ev_past' || n, %(agent)s, n, 'elicitation.completed', 'el_past' || n, 3, now() - interval '1 hour',
        '{"object": "elicitation", "kind": "oauth", "status": "completed"}'
    FROM generate_series(1, %(count)s) AS n;
    INSERT INTO elicit_flows_delivery (id, agent_id, event_id, status, tries, log, created_at, next_at, fence,
        delivered_at)
    SELECT 'dl_past' || n, %(agent)s, 'ev_past' || n, 'delivered', 1, '[]', now() - interval '1 hour',
        now() - interval '1 hour', 1, now() - interval '1 hour'
    FROM generate_series(1, %(count)s) AS n;
    INSERT INTO elicit_flows_feed (agent_id, position) VALUES (%(agent)s, %(count)s)
    ON CONFLICT (agent_id) DO UPDATE SET position = %(count)s
"""

# Webhooks of one agent that fell due an hour ago.
_IN_FRONT = """
    INSERT INTO elicit_flows_event (id, agent_id, position, type, seq, created_at, data)
    SELECT 'ev_front' || n, %(agent)s, n, 'elicitation.completed', 3, now() - interval '1 hour', '{}'
    FROM generate_series(1, %(count)s) AS n;
    INSERT INTO elicit_flows_delivery (id, agent_id, event_id, status, tries, log, created_at, next_at, fence)
    SELECT 'dl_front' || n, %(agent)s, 'ev_front' || n, 'pending', 0, '[]', now() - interval '1 hour',
        now() - interval '1 hour', 0
    FROM generate_series(1, %(count)s) AS n
"""

OF_LISTS = ("elicitation_status", "elicitation_kind", "elicitation_kind_in", "elicitation_issuer")


def past(slug: str, count: int) -> float:
    """Seconds that it took to write ``count`` finished elicitations of this agent, events and deliveries with them."""
    began, agent = time.perf_counter(), Agent.objects.get(slug=slug)
    values: dict[str, str | int] = {
        "agent": agent.pk,
        "iss": IdentityProvider.objects.get().issuer,
        "message": MESSAGE,
        "count": count,
    }
    with connection.cursor() as cursor:
        if count:
            cursor.execute(_PAST, values)
        cursor.execute("VACUUM ANALYZE")
    return time.perf_counter() - began


def in_front(agent: int, count: int) -> None:
    """Let ``count`` webhooks of this agent be due, and older than those of the others."""
    with connection.cursor() as cursor:
        cursor.execute(_IN_FRONT, {"agent": agent, "count": count})
        cursor.execute("VACUUM ANALYZE")


def without_lists() -> None:
    """Drop the indexes that only the agents' lists by a filter need."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {', '.join(OF_LISTS)}")


def wal() -> int:
    """Bytes that the server has written to its log so far."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'")
        return int(cursor.fetchone()[0])


def creates(slug: str, count: int) -> float:
    """Milliseconds that one create takes, of ``count``."""
    agent, issuer = Agent.objects.get(slug=slug), IdentityProvider.objects.get().issuer
    params = {"provider": "drive", "scopes": ["files.read"]}
    began = time.perf_counter()
    for number in range(count):
        claim = Claim(issuer, f"user-{time.monotonic_ns()}-{number}")
        elicitations.create(agent, Question(kind="oauth", claim=claim, message=MESSAGE, params=params))
    return (time.perf_counter() - began) / count * 1000


def claims(slug: str, count: int) -> float:
    """Milliseconds that the claim of one delivery of this agent takes, of ``count``, sixteen at a time.

    Each other agent has as many under way as an endpoint may have.
    """
    agent = Agent.objects.get(slug=slug)
    Delivery.objects.filter(status="pending", agent=agent).delete()
    pending([agent.pk], count)
    busy = dict.fromkeys(Agent.objects.exclude(pk=agent.pk).values_list("pk", flat=True), worker.PER_ENDPOINT)
    claimed, began = 0, time.perf_counter()
    while claimed < count:
        with transaction.atomic():
            claimed += len(webhooks.claim(16, busy, worker.PER_ENDPOINT, failing=True))
    return (time.perf_counter() - began) / count * 1000
