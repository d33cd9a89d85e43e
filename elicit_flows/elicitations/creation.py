"""create: an agent asks a person something."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from django.db import DatabaseError, IntegrityError, connection, transaction

from elicit_flows import events, kinds, vault
from elicit_flows.domain.errors import FlowError, IdempotencyMismatch, Invalid, OverLimit, TooMany, Unavailable
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Json, Question
from elicit_flows.elicitations import agent_access, mcp_servers, multi_step, notify, payment, variables
from elicit_flows.elicitations.agent_access import Permits
from elicit_flows.elicitations.transitions import STEPS
from elicit_flows.kinds.base import Kind
from elicit_flows.kinds.form import params as forms
from elicit_flows.kinds.form import secret_detection
from elicit_flows.kinds.payment import order, providers
from elicit_flows.lib import clock, telemetry
from elicit_flows.lib.compiled_query import prepared_cursor
from elicit_flows.models import Agent, Elicitation, PaymentAccount, Provider
from elicit_flows.payments import authorizations, checkouts, mandates, price_changes, spend_limits

OPEN_PER_PERSON = 1000  # open elicitations of one agent for one person
OPEN_OF_ALL = 5000  # open elicitations of all agents for one person: one agent alone cannot use them up

PlugIn = Provider | PaymentAccount | None


class Standing(NamedTuple):
    """How many questions are open for a question's person, in all and of its agent; whether the person has a connection
    for the agent; whether an elicitation has the question's Idempotency-Key already.
    """

    of_all: int
    of_agent: int
    connected: bool
    known_key: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with checked parameters, its provider or payment account, and its steps, if it has any."""

    question: Question
    params: Json
    plug_in: PlugIn
    steps: tuple[Asked, ...] = ()


# The kinds that need neither a payment account nor an answer from outside.
PLAIN = frozenset({"oauth", "credentials", "form", "confirm", "link"})

# Every create runs this query. It is plain SQL because the ORM would spend most of its time on writing the same text.
_OPEN = f"""
    SELECT %s AS place, count(*), count(CASE WHEN agent_id = %s THEN 1 END), {vault.CONNECTED}, EXISTS (
        SELECT 1 FROM elicit_flows_elicitation WHERE agent_id = %s AND idempotency_key = %s
    ) FROM (
        SELECT agent_id FROM elicit_flows_elicitation
        WHERE iss = %s AND sub = %s AND finished_at IS NULL AND expires_at > %s
        LIMIT %s
    ) AS waiting
"""  # noqa: S608  a text of ours


def create(agent: Agent, question: Question) -> tuple[Elicitation, bool]:
    """Create an elicitation. Returns it, and whether an earlier request with the same Idempotency-Key created it.

    Raises Invalid, IdempotencyMismatch, TooMany, OverLimit.
    """
    earlier = _earlier(agent, question) if question.idempotency_key else None
    if earlier:
        return earlier, True
    try:
        asked = _checked(agent, question)
        [standing] = _standing(agent, [question])
        if standing.of_agent >= OPEN_PER_PERSON:
            raise TooMany("This person has too many open elicitations of this agent.", retry_after=60)
        if standing.of_all >= OPEN_OF_ALL:
            raise TooMany("This person has too many open elicitations.", retry_after=60)
        try:
            return _insert(agent, asked, standing.connected), False
        except IntegrityError:
            if question.idempotency_key is None:
                raise
            earlier = _earlier(agent, question)
        if earlier:
            return earlier, True
        return _insert(agent, asked, standing.connected), False  # the elicitation with this key was consumed just now
    except OverLimit as refused:
        # Tells the agent's owner: somebody should look at a model that asks for more than it may.
        subject = {"iss": question.claim.iss, "sub": question.claim.sub}
        with transaction.atomic():
            events.publish(
                agent, "payment.over_limit", {"subject": subject, **refused.asked, "problem": refused.detail}
            )
        raise


def _earlier(agent: Agent, question: Question) -> Elicitation | None:
    """The elicitation that an earlier request with the same Idempotency-Key created. Raises IdempotencyMismatch."""
    row = Elicitation.objects.filter(agent=agent, idempotency_key=question.idempotency_key).first()
    if row and row.fingerprint != question.fingerprint:
        raise IdempotencyMismatch(detail="This Idempotency-Key was used with another body; use a new key.")
    return row


def create_together(agent: Agent, questions: Sequence[Question]) -> list[Elicitation | None]:
    """Create an elicitation for each question of an agent without managed access, all by one statement.

    None for a question that needs more than a row and an event, is answered already, or is refused: ``create`` says
    what comes of it. Raises Unavailable if it is not known whether they were created, and DatabaseError if they were
    not.
    """
    asked: dict[int, Asked] = {}
    keys: set[str] = set()
    for place, question in enumerate(questions):
        plain = question.kind in PLAIN and not question.notify and not {"mcp", "connection"} & question.params.keys()
        if plain and question.idempotency_key not in keys:
            with suppress(FlowError):
                asked[place] = _checked(agent, question)
                keys |= {question.idempotency_key} if question.idempotency_key else set()
    standing = _standing(agent, [each.question for each in asked.values()])
    made: list[Elicitation | None] = [None] * len(questions)
    for (place, each), stands in zip(asked.items(), standing, strict=True):
        crowded = max(stands.of_agent - OPEN_PER_PERSON, stands.of_all - OPEN_OF_ALL) + len(questions) > 0
        if not (crowded or stands.known_key or (stands.connected and each.plug_in)):
            made[place] = _row(agent, each, connected=False)
    rows = [row for row in made if row]
    try:
        if rows:
            events.publish_created(agent, rows)
    except IntegrityError:  # another process has just used one of the keys, and nothing is stored
        return [None] * len(questions)
    except DatabaseError as error:
        raise Unavailable(retry_after=2) from error
    return made


def _checked(agent: Agent, question: Question) -> Asked:
    allowed = agent_access.of(agent)
    if question.claim.iss not in allowed.issuers:
        raise Invalid.at("subject.iss", agent_access.OTHER_ISSUER)
    if question.return_url is not None and question.return_url not in agent.return_urls:
        raise Invalid.at("return_url", "This is not one of the agent's registered return URLs, letter for letter.")
    if question.notify:
        notify.check(agent)
    return (_steps if question.kind == STEPS else _one)(agent, question, allowed)


def _standing(agent: Agent, questions: Sequence[Question]) -> list[Standing]:
    now = connection.ops.adapt_datetimefield_value(clock.now())
    values: list[str | int | None] = []
    for place, question in enumerate(questions):
        person = [question.claim.iss, question.claim.sub]
        values += [place, agent.pk, agent.pk, *person, agent.pk, question.idempotency_key, *person, now, OPEN_OF_ALL]
    if not questions:
        return []
    with prepared_cursor() as cursor:
        cursor.execute(" UNION ALL ".join([_OPEN] * len(questions)), values)
        return [Standing(*found) for _, *found in sorted(cursor.fetchall())]


def _steps(agent: Agent, question: Question, allowed: Permits) -> Asked:
    steps = []
    for place, one in enumerate(multi_step.read_steps(question)):
        with multi_step.errors_of_step(place):
            steps.append(_one(agent, one, allowed))
    said = [{"kind": one.question.kind, "params": one.params, "message": one.question.message} for one in steps]
    return Asked(question, {"steps": said}, None, tuple(steps))


def _one(agent: Agent, question: Question, allowed: Permits) -> Asked:
    if question.kind not in kinds.REGISTRY:
        known = ", ".join([*kinds.REGISTRY, STEPS])
        raise Invalid.at("kind", f"There is no kind {question.kind!r} here; use one of {known}.")
    kind = kinds.get(question.kind)
    params = kind.clean(question.params)
    if question.kind == "form":
        secret_detection.check_message(forms.known(params), question.message)
    for name in ("seal_to", "fields"):
        if agent.tokens_never_leave and question.kind == "credentials" and params[name]:
            what = "This agent gets nothing that a user typed; name a provider, and call its API through this service."
            raise Invalid.at(f"params.{name}", what)
    if "changes" in params:
        price_changes.fill(agent, question.claim, params)
    if question.kind == "x402":
        authorizations.choose(allowed.wallets, params)
    server, again = params.get("mcp"), params.get("connection")
    plug_in = mcp_servers.check_asked(agent, server) if server else _plug_in(question.kind, kind, params, allowed)
    provider = plug_in if isinstance(plug_in, Provider) else None
    held = provider and again and vault.reconnectable(agent, question.claim, provider, again)
    if again and (provider or server) and not held:
        what = "This person has no such connection there for this agent, or it was revoked; leave it out for a new one."
        raise Invalid.at("params.connection", what)
    if isinstance(plug_in, Provider) and params.get("variables"):
        variables.check_proposed(plug_in, params["variables"])
    return Asked(question, params, plug_in)


def _plug_in(name: str, kind: Kind, params: Json, allowed: Permits) -> PlugIn:
    """The provider or payment account, if any. An agent with only one payment account need not name it."""
    if kind.context is None or (params[kind.context] is None and not kind.takes_money):
        return None
    if kind.takes_money and params[kind.context] is None and len(allowed.accounts) == 1:
        params[kind.context] = next(iter(allowed.accounts))
    known: dict[str, Provider] | dict[str, PaymentAccount] = allowed.accounts if kind.takes_money else allowed.providers
    plug_in = known.get(params[kind.context] or "")
    if plug_in is None:
        named = params[kind.context]
        if named is None and known:
            what = f"Name one of this agent's accounts: {', '.join(sorted(known))}."
        else:
            whether = "no account" if named is None else f"no {kind.context} {named!r}"
            what = f"There is {whether} that this agent may use; GET /v1/agent lists those that it may."
        raise Invalid.at(f"params.{kind.context}", what)
    if isinstance(plug_in, PaymentAccount):
        _check_mode(plug_in, params["mode"])
        _check_order(plug_in, params.get("order") or {})
    elif plug_in.sort != name:
        raise Invalid.at("params.provider", f"Provider {plug_in.slug!r} is one for kind {plug_in.sort}.")
    elif params.get("seal_to") and plug_in.settings()["token_url"]:
        what = (
            f"Provider {plug_in.slug!r} gives tokens for what is typed, so this service has to read it; leave it out."
        )
        raise Invalid.at("params.seal_to", what)
    return plug_in


def modes_of(account: PaymentAccount) -> list[str]:
    """The modes that agents may use. The operator has to allow mode mandate, and mode save, because nothing here
    charges a method that was saved without a mandate.
    """
    may = {"save": account.allow_save, "mandate": account.allow_mandates}
    return sorted(mode for mode in providers.get(account.provider).modes if may.get(mode, True))


def _check_mode(account: PaymentAccount, mode: str) -> None:
    offered = modes_of(account)
    if mode in offered:
        return
    what = f"Payment account {account.slug!r} offers {' and '.join(offered)} only."
    if mode == "mandate" and mode in providers.get(account.provider).modes:
        what += " Operators can allow mandates with allow_mandates."
    elif mode in providers.get(account.provider).modes:
        what += (
            " Nothing in this service can charge what is saved this way. Operators who charge it by their own means at "
            "the provider can allow it with allow_save."
        )
    raise Invalid.at("params.mode", what)


def _check_order(account: PaymentAccount, asked: Json) -> None:
    """What the provider does for an order has to be switched on by the operator, who has to set it up there first."""
    provider = providers.get(account.provider)
    if asked.get("tax") == order.BY_PROVIDER and not account.computes_tax:
        what = f"Payment account {account.slug!r} computes no tax; give the tax in minor units, or leave it out."
        if provider.computes_tax:
            what += " Operators who have set up the provider's tax can switch it on with computes_tax."
        raise Invalid.at("params.order.tax", what)
    if asked.get("invoice") and not account.makes_invoices:
        what = f"Payment account {account.slug!r} makes no invoices; leave it out."
        if provider.makes_invoices:
            what += " Operators can switch them on with makes_invoices."
        raise Invalid.at("params.order.invoice", what)


def _insert(agent: Agent, asked: Asked, connected: bool) -> Elicitation:
    row = _row(agent, asked, connected)
    if not (asked.steps or asked.question.notify or isinstance(asked.plug_in, PaymentAccount)):
        events.publish_created(agent, [row])
        return row
    with transaction.atomic():
        row.save(force_insert=True)
        if asked.steps:
            _insert_steps(agent, row, asked.steps, connected)
        else:
            _expect(row, asked)
        if asked.question.notify:
            notify.schedule(row)
        # Only now: whether the steps are answered already says whether the whole is.
        events.publish(agent, "elicitation.completed" if row.reused else "elicitation.created", row.snapshot(), row)
    return row


def _insert_steps(agent: Agent, whole: Elicitation, steps: tuple[Asked, ...], connected: bool) -> None:
    """Store the steps. Those that are answered already are completed; if all of them are, so is the whole."""
    rows = [_row(agent, asked, connected, whole, place) for place, asked in enumerate(steps)]
    for row, asked in zip(rows, steps, strict=True):
        row.save(force_insert=True)
        _expect(row, asked)
    done = [{"kind": row.kind, "result": row.result} for row in rows if row.reused]
    if done:
        whole.result = {"steps": done}
    if len(done) == len(rows):
        whole.status, whole.reused, whole.finished_at = Status.COMPLETED, True, whole.created_at
    whole.save()


def _row(agent: Agent, asked: Asked, connected: bool, parent: Elicitation | None = None, place: int = 0) -> Elicitation:
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
        return_mode=question.return_mode,
        locale=question.locale,
        idempotency_key=question.idempotency_key,
        fingerprint=question.fingerprint,
        created_at=now,
        trace=telemetry.current(),
        expires_at=now + timedelta(seconds=question.expires_in),
    )
    result = None
    if question.reuse == "if_valid" and not asked.steps:  # an existing connection or entitlement may be the answer
        if isinstance(asked.plug_in, PaymentAccount):
            result = payment.paid_already(agent, question.claim, asked.plug_in, asked.params)
        elif connected:
            result = vault.existing_connection(agent, question.claim, asked.plug_in, asked.params)
    known = connected or asked.params.get("connection")
    if result is None and known and isinstance(asked.plug_in, Provider) and asked.plug_in.sort == Provider.Sort.OAUTH:
        row.params = vault.with_held_scopes(agent, question.claim, asked.plug_in, asked.params)
    if result is not None:
        row.status, row.result, row.reused, row.finished_at = Status.COMPLETED, result, True, now
    return row


def _expect(row: Elicitation, asked: Asked) -> None:
    if isinstance(asked.plug_in, PaymentAccount) and not row.reused:
        spend_limits.check_limits(row.agent, row.claim, asked.params["amount"], asked.params["currency"])
        if "changes" in asked.params:
            price_changes.expect(row)
            return
        expected = checkouts.expect_payment(row, asked.plug_in)
        if expected.mode == "mandate":
            mandates.expect(expected, asked.params)
