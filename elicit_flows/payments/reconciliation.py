"""Compares an account's payments, refunds and disputes with the provider's balance transactions. It changes nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from elicit_flows.kinds.payment.values import BalanceLine, Movement
from elicit_flows.lib.paging import in_pages
from elicit_flows.models import Checkout, Payment, PaymentAccount, Refund, Renewal
from elicit_flows.payments.bookkeeping import MONEY_CAME, Period

# We may hear of a payment late, and a delayed one moves money late: so far beyond the period, lines are looked for.
SLACK = timedelta(days=7)


class Fault(StrEnum):
    """In what way the two sides differ."""

    CHARGE_UNKNOWN = "charge_unknown"  # charged for a payment of ours, which is not recorded as paid
    CHARGE_MISSING = "charge_missing"  # recorded as paid, and nothing was charged
    AMOUNT = "amount"  # charged, but another amount or currency
    REFUND_UNKNOWN = "refund_unknown"
    REFUND_MISSING = "refund_missing"
    REFUND_AMOUNT = "refund_amount"
    DISPUTE_UNKNOWN = "dispute_unknown"
    FOREIGN = "foreign"  # money of something else that the account is used for


@dataclass(frozen=True, slots=True)
class Difference:
    """``here`` and ``there`` are amounts in minor units with their currency, "1999 eur"; "" for nothing."""

    fault: Fault
    at: datetime
    payment: str
    ref: str
    here: str
    there: str


@dataclass
class Reconciliation:
    """Compares from ``since`` to before ``until``. Give it every line from ``first`` to ``last`` by ``add``, in any
    order, then ask for ``differences``.
    """

    account: PaymentAccount
    since: datetime
    until: datetime
    sums: Counter[tuple[Movement, str]] = field(default_factory=Counter)  # of the period, by currency
    _found: list[Difference] = field(default_factory=list)
    _charged: set[str] = field(default_factory=set)  # the ids of payments and renewals
    _refunds: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # by the provider's id
    _refund_lines: dict[str, BalanceLine] = field(default_factory=dict)

    @property
    def first(self) -> datetime:
        return self.since - SLACK

    @property
    def last(self) -> datetime:
        return self.until + SLACK

    def add(self, lines: Iterable[BalanceLine]) -> None:
        lines = list(lines)
        known = self._payments(lines)
        refs = [line.renewal_ref for line in lines if line.renewal_ref]
        made = Renewal.objects.filter(subscription__account=self.account, ref__in=refs)
        renewals = {row.ref: row for row in made.select_related("subscription")}
        for line in lines:
            renewal = renewals.get(line.renewal_ref or "")
            payment = known.get(line.our_id or "") or known.get(line.payment_ref or "")
            inside = self.since <= line.at < self.until
            if inside:
                self.sums[line.movement, line.currency] += line.amount
            if line.movement is Movement.REFUND:
                self._refunds[line.refund_ref or line.ref] -= line.amount
                self._refund_lines.setdefault(line.refund_ref or line.ref, line)
            if line.movement is Movement.CHARGE and line.amount > 0:
                self._charged.update(row.pk for row in (renewal, payment) if row)
            if not inside or line.movement in (Movement.REFUND, Movement.OTHER):
                continue
            if payment is None:
                self._differs(Fault.FOREIGN, line, "")
            elif line.movement is Movement.DISPUTE:
                if not payment.disputed:
                    self._differs(Fault.DISPUTE_UNKNOWN, line, payment.pk)
            elif line.amount > 0:
                self._compare_charge(line, payment, renewal)

    def _payments(self, lines: list[BalanceLine]) -> dict[str, Payment]:
        """By the id of a checkout or of a refund of ours, and by the provider's id of the payment."""
        ours = [line.our_id for line in lines if line.our_id]
        refs = [line.payment_ref for line in lines if line.payment_ref]
        found = {row.payment_ref: row for row in Payment.objects.filter(account=self.account, payment_ref__in=refs)}
        checkouts = Checkout.objects.filter(account=self.account, pk__in=ours).select_related("payment")
        found |= {row.pk: row.payment for row in checkouts}
        refunds = Refund.objects.filter(payment__account=self.account, pk__in=ours).select_related("payment")
        return found | {row.pk: row.payment for row in refunds}

    def _compare_charge(self, line: BalanceLine, payment: Payment, renewal: Renewal | None) -> None:
        if line.renewal_ref:
            recorded = renewal is not None and renewal.status == Renewal.Status.PAID
        else:
            recorded = payment.status in MONEY_CAME and payment.payment_ref == line.payment_ref
        row = renewal or payment
        if not recorded:
            # Late, paid twice or not as requested: nothing is open once all of it is given back.
            back = Refund.objects.filter(payment=payment, payment_ref=line.payment_ref or "").exclude(
                status=Refund.Status.FAILED
            )
            if sum(back.values_list("amount", flat=True)) != line.amount:
                self._differs(Fault.CHARGE_UNKNOWN, line, payment.pk)
        elif (row.amount, row.currency) != (line.amount, line.currency):
            self._differs(Fault.AMOUNT, line, payment.pk, f"{row.amount} {row.currency}")

    def _differs(self, fault: Fault, line: BalanceLine, payment: str, here: str = "") -> None:
        there = f"{abs(line.amount)} {line.currency}"
        self._found.append(Difference(fault, line.at, payment, line.payment_ref or line.ref, here, there))

    def differences(self) -> list[Difference]:
        """Every difference of the period, oldest first. FOREIGN ones are among them."""
        found = [*self._found, *self._refunds_compared()]
        period = Period(self.since, self.until, account=self.account)
        for row in in_pages(period.charges(), "paid_at"):
            if row.pk not in self._charged:
                when, here = row.paid_at or row.created_at, f"{row.amount} {row.currency}"
                found.append(Difference(Fault.CHARGE_MISSING, when, row.pk, row.payment_ref, here, ""))
        for one in in_pages(period.renewals().select_related("subscription"), "paid_at"):
            if one.pk not in self._charged:
                when, here = one.paid_at or one.created_at, f"{one.amount} {one.currency}"
                found.append(Difference(Fault.CHARGE_MISSING, when, one.subscription.payment_id, one.ref, here, ""))
        return sorted(found, key=lambda one: (one.at, one.ref))

    def _refunds_compared(self) -> Iterable[Difference]:
        made = Refund.objects.filter(payment__account=self.account).select_related("payment")
        refs = [ref for ref, line in self._refund_lines.items() if self.since <= line.at < self.until]
        known = {row.ref: row for row in made.filter(ref__in=refs)}
        for ref in refs:
            line, there, row = self._refund_lines[ref], self._refunds[ref], known.get(ref)
            if row is None and there:
                payment = self._payments([line]).get(line.payment_ref or "")
                fault = Fault.REFUND_UNKNOWN if payment else Fault.FOREIGN
                yield Difference(fault, line.at, payment.pk if payment else "", ref, "", f"{there} {line.currency}")
            elif row is not None:
                recorded = 0 if row.status == Refund.Status.FAILED else row.amount
                if recorded != there:
                    said = f"{recorded} {row.payment.currency}", f"{there} {line.currency}"
                    yield Difference(Fault.REFUND_AMOUNT, line.at, row.payment_id, ref, *said)
        given_back = Period(self.since, self.until, account=self.account).refunds()
        for row in in_pages(given_back.select_related("payment"), "done_at"):
            if row.ref not in self._refunds:
                here = f"{row.amount} {row.payment.currency}"
                when = row.done_at or row.created_at
                yield Difference(Fault.REFUND_MISSING, when, row.payment_id, row.ref or "", here, "")
