"""Mandates: created with the request, active once the person has agreed at the provider, lowered and ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, Sum

from elicit_flows import events
from elicit_flows.domain.errors import Conflict, Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment.mandate import DAY, MONTH
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.lib import clock
from elicit_flows.models import Mandate, MandateCharge, Payment
from elicit_flows.models.mandate import LIMITS

Status, By = Mandate.Status, Mandate.By


def expect(payment: Payment, asked: Json) -> Mandate:
    """The mandate that an elicitation with the params ``asked`` asks for, in the transaction that creates it."""
    limits = asked["mandate"]
    return Mandate.objects.create(
        agent=payment.agent,
        account=payment.account,
        payment=payment,
        iss=payment.iss,
        sub=payment.sub,
        currency=payment.currency,
        description=payment.description,
        until=datetime.fromisoformat(limits["until"]),
        notice=limits["notice"] == "before",
        **{name: limits[name] for name in LIMITS},
    )


def given(payment: Payment, said: Snapshot) -> None:
    """The person agreed and the method is saved. Call it in the transaction that completes the elicitation."""
    mandate = payment.mandate
    mandate.status, mandate.given_at = Status.ACTIVE, clock.now()
    mandate.customer_ref, mandate.method_ref = said.customer or "", said.method or ""
    mandate.method = said.method_name or ""
    mandate.save()
    tell(mandate, "created")


def replaced(mandate: Mandate, said: Snapshot) -> None:
    """The person has saved another method, which is charged from now on. Call it with the mandate locked."""
    mandate.customer_ref, mandate.method_ref = said.customer or "", said.method or ""
    mandate.method = said.method_name or ""
    mandate.save(update_fields=["customer_ref", "method_ref", "method"])
    tell(mandate, "changed")


def ended(payment: Payment, by: Mandate.By) -> None:
    """Nothing more is charged. Call it when the saved method is removed, with the payment locked."""
    mandate = Mandate.objects.select_for_update().filter(payment=payment).exclude(status=Status.ENDED).first()
    if mandate is None:
        return
    told = mandate.status == Status.ACTIVE
    mandate.status, mandate.ended_by, mandate.ended_at = Status.ENDED, by, clock.now()
    mandate.save(update_fields=["status", "ended_by", "ended_at"])
    if told:
        tell(mandate, "ended")


def lower(mandate: Mandate, wanted: Mapping[str, int]) -> Mandate:
    """Lower limits, by name, in minor units. Raises Conflict, and Invalid for a limit that would rise."""
    with transaction.atomic():
        row = Mandate.objects.select_for_update().get(pk=mandate.pk)
        if row.status != Status.ACTIVE:
            raise Conflict("This mandate has ended.")
        before = row.limits
        for name, amount in wanted.items():
            now = getattr(row, name)
            if amount < 0 or (now is not None and amount > now):
                raise Invalid.at(name, "Give less than before: only a new request can raise a limit.")
            setattr(row, name, amount)
        if row.limits != before:
            row.save(update_fields=list(LIMITS))
            tell(row, "changed")
        return row


def due(account: int, limit: int) -> Iterable[Mandate]:
    """The mandates of this account whose time is over, oldest first."""
    rows = Mandate.objects.filter(account=account, status=Status.ACTIVE, until__lte=clock.now())
    return rows.select_related("payment__account").order_by("until")[:limit]


def used(mandate: Mandate, at: datetime | None = None, without: MandateCharge | None = None) -> dict[str, int]:
    """Minor units that count at that time, for the limits ``per_day``, ``per_month`` and ``total``.

    A charge counts from the moment that it is reserved, unless it failed. A refund gives no room back: a refund can
    fail, and then the limit would have been exceeded.
    """
    now = at or clock.now()
    rows = MandateCharge.objects.filter(mandate=mandate).exclude(payment__status=Payment.Status.CLOSED)
    if without is not None:
        rows = rows.exclude(pk=without.pk)
    spans: dict[str, timedelta] = {"per_day": DAY, "per_month": MONTH}
    sums = {name: Sum("payment__amount", filter=Q(at__gt=now - span)) for name, span in spans.items()}
    found = rows.aggregate(total=Sum("payment__amount"), **sums)
    return {name: int(found[name] or 0) for name in ("per_day", "per_month", "total")}


def tell(mandate: Mandate, what: str, more: Json | None = None) -> None:
    """Publish ``mandate.{what}`` in the caller's transaction."""
    data = {"mandate": mandate.summary(), **(more or {})}
    events.publish(mandate.agent, f"mandate.{what}", data, mandate.payment.elicitation)
