"""The events that no call of the API brings about: their examples in the description are what the service has said.

As in test_examples.py, ``EXAMPLES=write`` writes them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import transaction

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import OverLimit, ReauthorizationRequired
from elicit_flows.domain.values import Question
from elicit_flows.elicitations import outcomes, transitions
from elicit_flows.events import webhooks
from elicit_flows.kinds.payment.values import DisputeSeen, InvoiceSeen, RefundSeen, State
from elicit_flows.lib import clock
from elicit_flows.models import Delivery, Elicitation, Payment, SpendLimit, Subscription
from elicit_flows.payments import authorizations, cancellations, mandates, price_changes
from tests.api.described import Described
from tests.api.examples import Recorder, kept
from tests.api.test_examples import DRIVE_BOT, FLOWS, IDP, WRITE
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import json_response
from tests.settlement.conftest import Till
from tests.settlement.test_mandates import give, hear, reserve
from tests.support import money, rows
from tests.support.serving import Served


def payments(till: Till) -> None:
    """What may become of money, each once."""
    paid = till.open(till.ask())
    till.hear(paid, State.PAID)
    till.hear(paid, State.PAID, refunds=(RefundSeen("re_1", 100, "done"), RefundSeen("re_2", 50, "failed")))
    till.hear(paid, State.PAID, disputes=(DisputeSeen("dp_1", 500, "open"),))
    till.hear(till.open(till.ask()), State.PAID, amount=400)

    month = clock.now().replace(microsecond=0) + timedelta(days=30)
    going = till.open(till.ask(mode="subscribe", interval="month"))
    again = InvoiceSeen("in_2", 500, "eur", "failed", month, month + timedelta(days=30), tries=1)
    renewed = {"invoices": (replace(again, state="paid", tries=2),)}
    for more in ({"period_end": month}, {"period_end": month, "invoices": (again,)}, renewed, {"ends_at": month}, {}):
        till.hear(going, State.ACTIVE, payment_ref="sub_1", asked_at=clock.now(), **more)
    costlier = {"mode": "subscribe", "changes": Subscription.objects.get().pk, "amount": 700, "currency": "eur"}
    asked, _ = elicitations.create(till.known.row, Question("payment", rows.ALICE_CLAIM, "Ten seats.", costlier))
    with transaction.atomic():
        assert price_changes.made(price_changes.agree(asked), till.says(going, State.ACTIVE, price=700))
    till.hear(going, State.CANCELLED, payment_ref="sub_1", period_end=month)

    saved = till.ask(mode="save", amount=0)
    till.hear(till.open(saved), State.SAVED, amount=0)
    cancellations.ask(Payment.objects.get(elicitation=saved))

    allowed = give(till)
    hear(till, reserve(allowed, 500, "one"), State.PAID)
    hear(till, reserve(allowed, 500, "two"), State.FAILED, failure="insufficient_funds")
    mandates.lower(allowed, {"total": 1000})
    cancellations.ask(allowed.payment)

    authorizations.sign(money.authorization(till.known, money.wallet()), "report-17", vault.signed_transfer)

    SpendLimit.objects.create(agent=till.known.row, currency="gbp", per_payment=400)
    with pytest.raises(OverLimit):
        till.ask(currency="gbp")


def elicitations_that_end(till: Till) -> None:
    """The wrong person comes, and nobody answers in time."""
    row, _ = elicitations.create(till.known.row, Question("confirm", rows.ALICE_CLAIM, "Delete 12 files?", {}))
    transitions.refuse(row, "connect page")
    Elicitation.objects.filter(pk=row.pk).update(expires_at=clock.now() - timedelta(seconds=1))
    assert outcomes.expire(Elicitation.objects.get(pk=row.pk))


def connections(till: Till, double: Provider) -> None:
    """A token is refreshed, and a grant ends at its provider."""
    held = rows.connection(till.known, rows.provider(double), rows.grant(double))
    rows.expire(held)
    vault.token(till.known.row, held.pk)
    rows.expire(held)
    double.scripted["token"] = json_response({"error": "invalid_grant"}, 400)
    with pytest.raises(ReauthorizationRequired):
        vault.token(till.known.row, held.pk)


def test_each_event_is_as_the_description_shows(served: Served, described: Described) -> None:
    known = rows.agent(webhook_url="http://127.0.0.1:9/hooks")
    known.row.payment_accounts.add(account := money.account(allow_save=True, allow_mandates=True))
    till = Till(known, account)
    payments(till)
    elicitations_that_end(till)
    with Provider(client_secret="the-double's-client-secret") as double, loopback_allowed():
        connections(till, double)
    [delivery] = webhooks.claim(1, {}, 1, failing=False)
    assert webhooks.record(delivery, webhooks.Outcome(ok=False, status=410, note="Gone", milliseconds=41))
    assert not Delivery.objects.filter(agent=known.row, status="pending").exists()

    hosts = {rows.ISSUER: IDP, served.url: FLOWS, settings.ELICIT_PUBLIC_URL: FLOWS, "http://127.0.0.1:9": DRIVE_BOT}
    hosts |= {known.row.slug: "drive-bot", known.row.name: "Drive Bot"}
    with known.client(served.url) as client:
        call = Recorder(described, client, hosts)
        call.events()
    assert kept(call.found, "events", write=WRITE) == call.found
