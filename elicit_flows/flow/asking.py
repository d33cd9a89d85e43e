"""create: an agent asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, connection, transaction

from elicit_flows import kinds, queue, vault
from elicit_flows.errors import IdempotencyMismatch, Invalid, OverLimit, TooMany
from elicit_flows.flow import paying, permits, stepping
from elicit_flows.flow.moving import STEPS
from elicit_flows.flow.permits import Permits
from elicit_flows.kinds.base import Kind
from elicit_flows.kinds.payment import providers
from elicit_flows.ledger import checkouts, limits
from elicit_flows.lib import clock, tracing
from elicit_flows.models import Agent, Elicitation, PaymentAccount, Provider
from elicit_flows.states import Status
from elicit_flows.values import Claim, Json, Question

OPEN_PER_PERSON = 1000  # open elicitations of one agent for one person
OPEN_OF_ALL = 5000  # of all agents together for one person: more than one agent alone can use up

PlugIn = Provider | PaymentAccount | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its parameters checked and what it goes through; its steps, where it has some."""

    question: Question
    params: Json
    plug_in: PlugIn
    steps: tuple[Asked, ...] = ()


# Asked at every create, and most of what the ORM would cost here is making this text anew.
_OPEN = """
    SELECT count(*), count(CASE WHEN agent_id = %s THEN 1 END) FROM (
        SELECT agent_id FROM elicit_flows_elicitation
        WHERE iss = %s AND sub = %s AND finished_at IS NULL AND expires_at > %s
        LIMIT %s
    ) AS waiting
"""


def create(agent: Agent, question: Question) -> tuple[Elicitation, bool]:
    """The elicitation, and whether it is the replay of an earlier request with the same Idempotency-Key.

    Raises Invalid, IdempotencyMismatch, TooMany.
    """
    earlier = _earlier(agent, question)
    if earlier:
        return earlier, True
    asked = _checked(agent, question)
    try:
        return _made(agent, asked)
    except OverLimit as refused:
        _tell_refusal(agent, question, refused)
        raise


def _made(agent: Agent, asked: Asked) -> tuple[Elicitation, bool]:
    try:
        with transaction.atomic():
            return _insert(agent, asked), False
    except IntegrityError:
        earlier = _earlier(agent, asked.question)
    if earlier:
        return earlier, True
    with transaction.atomic():  # what had the key was consumed just now
        return _insert(agent, asked), False


def _tell_refusal(agent: Agent, question: Question, refused: OverLimit) -> None:
    """For those who look after the agent: a model that asks for more than it may is worth a look."""
    subject = {"iss": question.claim.iss, "sub": question.claim.sub}
    with transaction.atomic():
        queue.publish(agent, "payment.over_limit", {"subject": subject, **refused.asked, "problem": refused.detail})


def _earlier(agent: Agent, question: Question) -> Elicitation | None:
    if question.idempotency_key is None:
        return None
    row = Elicitation.objects.filter(agent=agent, idempotency_key=question.idempotency_key).first()
    if row and row.fingerprint != question.fingerprint:
        raise IdempotencyMismatch(detail="This Idempotency-Key was used with another body; use a new key.")
    return row


def _already(agent: Agent, asked: Asked) -> Json | None:
    """The result that an existing connection or entitlement answers with."""
    if asked.question.reuse != "if_valid":
        return None
    if isinstance(asked.plug_in, PaymentAccount):
        return paying.already(agent, asked.question.claim, asked.params)
    return vault.already(agent, asked.question.claim, asked.plug_in, asked.params)


def _checked(agent: Agent, question: Question) -> Asked:
    allowed = permits.of(agent)
    if question.claim.iss not in allowed.issuers:
        raise Invalid.at("subject.iss", "This is not the issuer of an identity provider that this agent may use.")
    if question.return_url is not None and question.return_url not in agent.return_urls:
        raise Invalid.at("return_url", "This is not one of the agent's registered return URLs, letter for letter.")
    asked = (_steps if question.kind == STEPS else _one)(agent, question, allowed)
    _check_open(agent, question.claim)
    return asked


def _steps(agent: Agent, question: Question, allowed: Permits) -> Asked:
    steps = []
    for place, one in enumerate(stepping.read(question)):
        with stepping.at(place):
            steps.append(_one(agent, one, allowed))
    said = [{"kind": one.question.kind, "params": one.params, "message": one.question.message} for one in steps]
    return Asked(question, {"steps": said}, None, tuple(steps))


def _one(agent: Agent, question: Question, allowed: Permits) -> Asked:
    if question.kind not in kinds.REGISTRY:
        known = ", ".join([*kinds.REGISTRY, STEPS])
        raise Invalid.at("kind", f"There is no kind {question.kind!r} here; use one of {known}.")
    kind = kinds.get(question.kind)
    params = kind.clean(question.params)
    plug_in = _plug_in(question.kind, kind, params, allowed)
    if isinstance(plug_in, Provider) and params.get("connection"):
        _check_reconnectable(agent, question.claim, plug_in, params["connection"])
    return Asked(question, params, plug_in)


def _check_reconnectable(agent: Agent, claim: Claim, provider: Provider, connection_id: str) -> None:
    if vault.reconnectable(agent, claim, provider, connection_id) is None:
        what = "This person has no such connection there for this agent, or it was revoked; leave it out for a new one."
        raise Invalid.at("params.connection", what)


def _plug_in(name: str, kind: Kind, params: Json, allowed: Permits) -> PlugIn:
    """What the elicitation goes through. An agent with one payment account need not name it."""
    if kind.context is None or (params[kind.context] is None and not kind.takes_money):
        return None
    if kind.takes_money and params[kind.context] is None and len(allowed.accounts) == 1:
        params[kind.context] = next(iter(allowed.accounts))
    known: dict[str, Provider] | dict[str, PaymentAccount] = allowed.accounts if kind.takes_money else allowed.providers
    plug_in = known.get(params[kind.context] or "")
    if plug_in is None:
        what = f"There is no {kind.context} {params[kind.context]!r} that this agent may use."
        raise Invalid.at(f"params.{kind.context}", what)
    if isinstance(plug_in, PaymentAccount):
        _check_mode(plug_in, params["mode"])
    elif plug_in.sort != name:
        raise Invalid.at("params.provider", f"Provider {plug_in.slug!r} is one for kind {plug_in.sort}.")
    elif params.get("seal_to") and plug_in.settings()["token_url"]:
        what = (
            f"Provider {plug_in.slug!r} gives tokens for what is typed, so this service has to read it; leave it out."
        )
        raise Invalid.at("params.seal_to", what)
    return plug_in


def _check_mode(account: PaymentAccount, mode: str) -> None:
    offered = providers.get(account.provider).modes
    if mode not in offered:
        raise Invalid.at("params.mode", f"Payment account {account.slug!r} offers {', '.join(sorted(offered))} only.")


def _check_open(agent: Agent, claim: Claim) -> None:
    now = connection.ops.adapt_datetimefield_value(clock.now())
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [agent.pk, claim.iss, claim.sub, now, OPEN_OF_ALL])
        of_all, of_agent = cursor.fetchone()
    if of_agent >= OPEN_PER_PERSON:
        raise TooMany("This person has too many open elicitations of this agent.", retry_after=60)
    if of_all >= OPEN_OF_ALL:
        raise TooMany("This person has too many open elicitations.", retry_after=60)


def _insert(agent: Agent, asked: Asked) -> Elicitation:
    row = _row(agent, asked)
    row.save(force_insert=True)
    if asked.steps:
        _insert_steps(agent, row, asked.steps)
    else:
        _expect(row, asked)
    queue.publish(agent, "elicitation.completed" if row.reused else "elicitation.created", row.snapshot(), row)
    return row


def _insert_steps(agent: Agent, whole: Elicitation, steps: tuple[Asked, ...]) -> None:
    """What is answered already is done. When that is all of it, so is the whole."""
    rows = [_row(agent, asked, whole, place) for place, asked in enumerate(steps)]
    for row, asked in zip(rows, steps, strict=True):
        row.save(force_insert=True)
        _expect(row, asked)
    done = [{"kind": row.kind, "result": row.result} for row in rows if row.reused]
    if done:
        whole.result = {"steps": done}
    if len(done) == len(rows):
        whole.status, whole.reused, whole.finished_at = Status.COMPLETED, True, whole.created_at
    whole.save()


def _row(agent: Agent, asked: Asked, parent: Elicitation | None = None, place: int = 0) -> Elicitation:
    question, now = asked.question, clock.now()
    row = Elicitation(
        agent=agent,
        parent=parent,
        place=place,
        kind=question.kind,
        iss=question.claim.iss,
        sub=question.claim.sub,
        message=question.message,
        params=asked.params,
        metadata=question.metadata,
        return_url=question.return_url,
        idempotency_key=question.idempotency_key,
        fingerprint=question.fingerprint,
        created_at=now,
        trace=tracing.current(),
        expires_at=now + timedelta(seconds=question.expires_in),
    )
    result = None if asked.steps else _already(agent, asked)
    if result is None and isinstance(asked.plug_in, Provider) and asked.plug_in.sort == Provider.Sort.OAUTH:
        row.params = vault.with_held_scopes(agent, question.claim, asked.plug_in, asked.params)
    if result is not None:
        row.status, row.result, row.reused, row.finished_at = Status.COMPLETED, result, True, now
    return row


def _expect(row: Elicitation, asked: Asked) -> None:
    if isinstance(asked.plug_in, PaymentAccount) and not row.reused:
        limits.hold(row.agent, row.claim, asked.params["amount"], asked.params["currency"])
        checkouts.expect(row, asked.plug_in)
