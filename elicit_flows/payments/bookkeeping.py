"""What moved money in a period, for operators: line by line, and summed by account, agent and currency."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from typing import Any

from django.db.models import Count, F, QuerySet, Sum

from elicit_flows.lib.paging import in_pages
from elicit_flows.models import Agent, Mandate, Payment, PaymentAccount, Refund, Renewal

MONEY_CAME = (Payment.Status.PAID, Payment.Status.ACTIVE, Payment.Status.ENDED)


@dataclass(frozen=True, slots=True)
class Entry:
    """``sort`` is charge, renewal or refund. ``amount`` is in minor units, negative for a refund. ``tax`` is that of an
    order, of the amount of its charge; None if it is not known. ``ref`` is the provider's id. Nothing in it names a
    person.
    """

    at: datetime
    sort: str
    amount: int
    currency: str
    account: str
    livemode: bool
    agent: str
    payment: str
    ref: str
    description: str
    tax: int | None = None


@dataclass(slots=True)
class Total:
    """Numbers of rows, and sums in minor units. ``disputed`` and ``mismatches`` are of payments that were made in the
    period; ``mandates`` are those in force now.
    """

    account: PaymentAccount
    agent: Agent
    currency: str
    charges: int = 0
    charged: int = 0
    refunds: int = 0
    refunded: int = 0
    disputes: int = 0
    disputed: int = 0
    mismatches: int = 0
    mandates: int = 0

    @property
    def net(self) -> int:
        return self.charged - self.refunded


@dataclass(frozen=True, slots=True)
class Period:
    """From ``since`` to before ``until``."""

    since: datetime
    until: datetime
    agent: Agent | None = None
    account: PaymentAccount | None = None

    def charges(self) -> QuerySet[Payment]:
        paid = Payment.objects.filter(status__in=MONEY_CAME, amount__gt=0, trial_days=None).exclude(mode="save")
        return self._within(paid, "paid_at")

    def renewals(self) -> QuerySet[Renewal]:
        paid = Renewal.objects.filter(status=Renewal.Status.PAID, amount__gt=0)  # a credit may cover all of one
        return self._within(paid, "paid_at", "subscription__")

    def refunds(self) -> QuerySet[Refund]:
        """Also of money that is not among the charges: it differed from its request, or came twice."""
        return self._within(Refund.objects.filter(status=Refund.Status.DONE), "done_at", "payment__")

    def refunds_of_charges(self) -> QuerySet[Refund]:
        return self.refunds().filter(payment__status__in=MONEY_CAME, payment_ref=F("payment__payment_ref"))

    def mismatches(self) -> QuerySet[Payment]:
        return self._within(Payment.objects.filter(status=Payment.Status.MISMATCH), "created_at")

    def mandates(self) -> QuerySet[Mandate]:
        return self._of(Mandate.objects.filter(status=Mandate.Status.ACTIVE), "")

    def _within(self, rows: QuerySet[Any], moment: str, path: str = "") -> QuerySet[Any]:
        return self._of(rows.filter(**{f"{moment}__gte": self.since, f"{moment}__lt": self.until}), path)

    def _of(self, rows: QuerySet[Any], path: str) -> QuerySet[Any]:
        wanted = {"agent": self.agent, "account": self.account}
        return rows.filter(**{f"{path}{name}": row for name, row in wanted.items() if row})


def entries(period: Period) -> Iterator[Entry]:
    """Oldest first."""
    return merge(
        (
            _entry(row, "charge", row.paid_at, row.amount, row.payment_ref)
            for row in _ordered(period.charges(), "paid_at")
        ),
        (
            _entry(row.subscription.payment, "renewal", row.paid_at, row.amount, row.ref, row.currency)
            for row in _ordered(period.renewals(), "paid_at", "subscription__payment__")
        ),
        (
            _entry(row.payment, "refund", row.done_at, -row.amount, row.ref or "")
            for row in _ordered(period.refunds_of_charges(), "done_at", "payment__")
        ),
        key=lambda one: (one.at, one.payment),
    )


def _ordered(rows: QuerySet[Any], moment: str, path: str = "") -> Iterator[Any]:
    return in_pages(rows.select_related(f"{path}agent", f"{path}account"), moment)


def _entry(payment: Payment, sort: str, at: datetime, amount: int, ref: str, currency: str = "") -> Entry:
    account = payment.account
    return Entry(
        at, sort, amount, currency or payment.currency, account.slug, account.livemode, payment.agent.slug, payment.pk,
        ref, payment.description, payment.known_tax if sort == "charge" else None,
    )  # fmt: skip


def totals(period: Period) -> list[Total]:
    """By account, agent and currency; live accounts first."""
    charges, money = period.charges(), Sum("amount")
    found: dict[tuple[int, int, str], Counter[str]] = defaultdict(Counter)
    for number, amount, rows, path, measured in (
        ("charges", "charged", charges, "", money),
        ("charges", "charged", period.renewals(), "subscription__", money),
        ("refunds", "refunded", period.refunds_of_charges(), "payment__", money),
        ("disputes", "disputed", charges.exclude(disputed=""), "", money),
        ("mismatches", "", period.mismatches(), "", Count("pk")),
        ("mandates", "", period.mandates(), "", Count("pk")),
    ):
        currency = "payment__currency" if number == "refunds" else "currency"
        of = (F(f"{path}account"), F(f"{path}agent"), F(currency))
        for account, agent, code, count, sum_ in rows.order_by().values_list(*of, Count("pk"), measured):
            found[account, agent, code].update({number: count, **({amount: sum_} if amount else {})})
    accounts = PaymentAccount.objects.in_bulk({account for account, _, _ in found})
    agents = Agent.objects.in_bulk({agent for _, agent, _ in found})
    made = [Total(accounts[account], agents[agent], code, **sums) for (account, agent, code), sums in found.items()]
    return sorted(made, key=lambda one: (not one.account.livemode, one.account.slug, one.agent.slug, one.currency))
