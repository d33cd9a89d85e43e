"""create: an agent asks."""

from __future__ import annotations

from datetime import timedelta

from django.db import IntegrityError, connection, transaction

from elicit_flows import kinds, queue, vault
from elicit_flows.errors import IdempotencyMismatch, Invalid, TooMany
from elicit_flows.flow import permits
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Elicitation, Provider
from elicit_flows.states import Status
from elicit_flows.values import Claim, Json, Question

OPEN_PER_PERSON = 1000  # open elicitations of one agent for one person

# Asked at every create, and most of what the ORM would cost here is making this text anew.
_OPEN = """
    SELECT 1 FROM elicit_flows_elicitation
    WHERE agent_id = %s AND iss = %s AND sub = %s AND status IN ('pending', 'started', 'settling') AND expires_at > %s
    LIMIT 1 OFFSET %s
"""


def create(agent: Agent, question: Question) -> tuple[Elicitation, bool]:
    """The elicitation, and whether it is the replay of an earlier request with the same Idempotency-Key.

    Raises Invalid, IdempotencyMismatch, TooMany.
    """
    earlier = _earlier(agent, question)
    if earlier:
        return earlier, True
    params, provider = _checked(agent, question)
    try:
        with transaction.atomic():
            known = vault.already(agent, question.claim, provider, params) if question.reuse == "if_valid" else None
            return _insert(agent, question, params, known), False
    except IntegrityError:
        earlier = _earlier(agent, question)
        if earlier is None:
            raise
        return earlier, True


def _earlier(agent: Agent, question: Question) -> Elicitation | None:
    if question.idempotency_key is None:
        return None
    row = Elicitation.objects.filter(agent=agent, idempotency_key=question.idempotency_key).first()
    if row and row.fingerprint != question.fingerprint:
        raise IdempotencyMismatch(detail="This Idempotency-Key was used with another body; use a new key.")
    return row


def _checked(agent: Agent, question: Question) -> tuple[Json, Provider | None]:
    if question.kind not in kinds.REGISTRY:
        raise Invalid.at("kind", f"There is no kind {question.kind!r} here; use one of {', '.join(kinds.REGISTRY)}.")
    allowed = permits.of(agent)
    if question.claim.iss not in allowed.issuers:
        raise Invalid.at("subject.iss", "This is not the issuer of an identity provider that this agent may use.")
    if question.return_url is not None and question.return_url not in agent.return_urls:
        raise Invalid.at("return_url", "This is not one of the agent's registered return URLs, letter for letter.")
    kind = kinds.get(question.kind)
    params = kind.clean(question.params)
    provider = None
    if kind.context:
        provider = allowed.providers.get(params[kind.context])
        if provider is None:
            what = f"There is no {kind.context} {params[kind.context]!r} that this agent may use."
            raise Invalid.at(f"params.{kind.context}", what)
    if _too_many_open(agent, question.claim):
        raise TooMany("This person has too many open elicitations of this agent.", retry_after=60)
    return params, provider


def _too_many_open(agent: Agent, claim: Claim) -> bool:
    now = connection.ops.adapt_datetimefield_value(clock.now())
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [agent.pk, claim.iss, claim.sub, now, OPEN_PER_PERSON - 1])
        return cursor.fetchone() is not None


def _insert(agent: Agent, question: Question, params: Json, result: Json | None) -> Elicitation:
    now = clock.now()
    row = Elicitation(
        agent=agent,
        kind=question.kind,
        iss=question.claim.iss,
        sub=question.claim.sub,
        message=question.message,
        params=params,
        metadata=question.metadata,
        return_url=question.return_url,
        idempotency_key=question.idempotency_key,
        fingerprint=question.fingerprint,
        created_at=now,
        expires_at=now + timedelta(seconds=question.expires_in),
    )
    if result is not None:
        row.status, row.result, row.reused, row.finished_at = Status.COMPLETED, result, True, now
    row.save(force_insert=True)
    queue.publish(agent, "elicitation.completed" if row.reused else "elicitation.created", row.snapshot(), row)
    return row
