"""A payment that was asked for, and what the provider might say of it. No provider is asked here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from elicit_flows import elicitations, vault
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Question, Secret
from elicit_flows.elicitations import payment, transitions
from elicit_flows.kinds.payment.providers.base import Unclear
from elicit_flows.kinds.payment.values import Snapshot, Started, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Elicitation, Event, Payment, PaymentAccount
from elicit_flows.payments import checkouts
from tests.support import rows
from tests.support.rows import ALICE_CLAIM, Known


@dataclass
class Till:
    """One agent with one payment account."""

    known: Known
    account: PaymentAccount

    def ask(self, **params: Any) -> Elicitation:
        wanted = {"amount": 500, "currency": "eur", "description": "A report"} | params
        row, _ = elicitations.create(self.known.row, Question("payment", ALICE_CLAIM, "Pay, please.", wanted))
        return row

    def open(self, row: Elicitation) -> Checkout:
        """A page that the right user has been sent to."""
        payment = Payment.objects.get(elicitation=row)
        checkout = checkouts.reserve(payment, row.expires_at)
        number = Checkout.objects.count()
        started = Started(f"cs_{number}", f"https://pay.example/{number}", clock.now() + timedelta(hours=1))
        assert checkouts.opened(checkout, started, vault.seal_url(checkout, started.url))
        if row.status == Status.PENDING:
            with transaction.atomic():
                transitions.move(row, Status.STARTED)
        return checkout

    def says(self, checkout: Checkout, state: State, **more: Any) -> Snapshot:
        """What the provider says when all is as it was asked for."""
        paid = {"payment_ref": f"pi_{checkout.ref}"} if state is State.PAID else {}
        given: dict[str, Any] = {
            "ref": checkout.ref, "state": state, "amount": 500, "currency": "eur", "livemode": False,
            "our_id": checkout.pk, **paid, **more,
        }  # fmt: skip
        return Snapshot(**given)

    def hear(self, checkout: Checkout, state: State, **more: Any) -> None:
        payment.record_settlement(checkout, self.says(checkout, state, **more))

    def told(self, row: Elicitation) -> list[str]:
        """The events of this elicitation, in order."""
        return list(Event.objects.filter(elicitation=row).order_by("position").values_list("type", flat=True))

    def stands(self, row: Elicitation) -> tuple[str, str]:
        """The elicitation's status and the payment's."""
        row.refresh_from_db()
        return str(row.status), str(Payment.objects.get(elicitation=row).status)


def _till() -> Till:
    known = rows.agent()
    account = PaymentAccount(
        slug="main", provider="stripe", allow_save=True, allow_mandates=True, computes_tax=True, makes_invoices=True
    )
    vault.seal_account(account, Secret("sk_test_of_the_tests"), [Secret("whsec_of_the_tests")])
    account.save()
    known.row.payment_accounts.add(account)
    return Till(known, account)


@pytest.fixture
def till(committed: None) -> Till:
    return _till()


@pytest.fixture
def postgres_till(on_postgres: str) -> Till:
    """The same on PostgreSQL: for what SQLite, which has one writer at a time, cannot show."""
    return _till()


@dataclass
class Charges:
    """A provider that charges when it is told to: ``said`` by ref; ``asked`` is what it was asked, in order."""

    said: dict[str, Snapshot] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    loses: bool = False

    def fetch(self, account: object, ref: str) -> Snapshot:
        self.asked.append(("fetch", ref))
        return self.said[ref]

    def close(self, account: object, ref: str, key: str) -> Snapshot:
        self.asked.append(("close", ref))
        said = self.said[ref]
        return replace(said, state=State.CANCELLED) if said.state is State.OPEN else said

    def complete(self, account: object, ref: str, key: str) -> Snapshot:
        self.asked.append(("complete", ref))
        self.said[ref] = replace(self.said[ref], state=State.PAID, payment_ref=f"pi_{ref}")
        if self.loses:
            raise Unclear("The answer is lost.")
        return self.said[ref]

    def release(self, account: object, ref: str, key: str) -> Snapshot:
        self.asked.append(("release", ref))
        if self.said[ref].state is State.APPROVED:
            self.said[ref] = replace(self.said[ref], state=State.CANCELLED, unpaid=True)
        return self.said[ref]

    @property
    def charged(self) -> list[str]:
        return [ref for verb, ref in self.asked if verb == "complete"]


@pytest.fixture
def charges(monkeypatch: pytest.MonkeyPatch) -> Charges:
    found = Charges()
    monkeypatch.setattr(payment, "plug_in", lambda _: found)
    return found
