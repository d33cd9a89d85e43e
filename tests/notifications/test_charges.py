"""Who allowed an agent to charge them is told of each charge: a day before it is made, or once it was made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import IntegrityError

from elicit_flows import elicitations
from elicit_flows.elicitations import payment as payments_flow
from elicit_flows.jobs import purge
from elicit_flows.kinds.payment.values import Snapshot, State
from elicit_flows.lib import clock
from elicit_flows.models import (
    Agent,
    Checkout,
    Elicitation,
    Mandate,
    MandateCharge,
    Notification,
    NotificationSettings,
    PaymentAccount,
)
from elicit_flows.notifications import push
from elicit_flows.notifications.messages import compose
from elicit_flows.payments import charges
from elicit_flows.people import contacts
from tests.notifications.telling import ask, signs_in
from tests.support import jobs, money
from tests.support.mail import MailServer, part
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, Known
from tests.web.samples import Page
from tests.web.test_room import browser

ASKED = {"amount": 1290, "description": "Ticket to Bern", "item": None, "uses": None, "metadata": {}}


@pytest.fixture
def at() -> PaymentAccount:
    return money.account(allow_mandates=True)


@pytest.fixture
def allowed(known: Known, at: PaymentAccount) -> Callable[..., Mandate]:
    """A mandate of alice's, and no leave of its agent's to have people told of requests, which it does not need."""
    Agent.objects.filter(pk=known.row.pk).update(notify=False)

    def make(**more: Any) -> Mandate:
        signs_in(language=more.pop("language", "en"))
        return money.mandate(known, at, **more)

    return make


def announce(mandate: Mandate, key: str = "one") -> MandateCharge:
    made, _ = elicitations.charge_mandate(mandate.agent, mandate, ASKED, key, key)
    return made


def is_made(mandate: Mandate, state: State = State.PAID, failure: str = "card_declined") -> MandateCharge:
    """One that is not announced, as the provider says it ended."""
    charge, _ = charges.reserve(mandate, ASKED, "one", "one")
    ends(charge, state, failure)
    return charge


def ends(charge: MandateCharge, state: State = State.PAID, failure: str = "") -> None:
    checkout, ref = Checkout.objects.get(payment=charge.payment), f"pi_{charge.pk}"
    said = Snapshot(
        ref=ref, state=state, amount=1290, currency="eur", livemode=False, our_id=checkout.pk, payment_ref=ref,
        failure=failure,
    )  # fmt: skip
    payments_flow.record_settlement(checkout, said)


def outcomes(charge: MandateCharge) -> list[str]:
    return list(charge.notifications.values_list("outcome", flat=True))


def test_a_charge_is_announced_with_where_to_refuse_it(mail: MailServer, allowed: Callable[..., Mandate]) -> None:
    mandate = allowed()
    charge = announce(mandate)
    announce(mandate)  # the same, asked again
    jobs.notify()
    [got] = mail.received()
    assert (got["X-To"], got["Subject"]) == ("alice@example.com", "Bot announced a charge")
    for kind in ("plain", "html"):
        said = re.sub("[\u2068\u2069]", "", part(got, kind))
        assert f"{django_settings.ELICIT_PUBLIC_URL}/account/payments/mandates/{mandate.pk}" in said
        assert "Bot announced a charge at Elicit Flows. You can refuse it until it is made." in said
        assert "because you allowed Bot to charge you." in said
    assert outcomes(charge) == ["sent"]


def test_a_charge_is_told_once_it_was_made(mail: MailServer, allowed: Callable[..., Mandate]) -> None:
    mandate = allowed(notice=False, language="de")
    charge = is_made(mandate)
    jobs.notify()
    [got] = mail.received()
    assert got["Subject"] == "Bot hat etwas abgebucht"
    assert "Bei Elicit Flows hat Bot eine Abbuchung vorgenommen, die Sie erlaubt hatten." in part(got, "plain")
    assert outcomes(charge) == ["sent"]


def test_what_was_announced_is_not_told_again_and_what_failed_not_at_all(
    mail: MailServer, allowed: Callable[..., Mandate], moving_clock: MovingClock
) -> None:
    announced, other = allowed(), allowed(notice=False)
    charge = announce(announced)
    jobs.notify()
    moving_clock.forward(hours=25)
    ends(charge)
    is_made(other, state=State.EXPIRED)
    jobs.notify()
    assert [got["Subject"] for got in mail.received()] == ["Bot announced a charge"]


def test_t160_no_amount_and_nothing_of_what_is_paid_for_is_in_a_message(
    mail: MailServer, allowed: Callable[..., Mandate]
) -> None:
    announce(allowed())
    is_made(allowed(notice=False))
    jobs.notify()
    assert len(mail.received()) == 2
    for raw, got in zip(mail.raw(), mail.received(), strict=True):
        said = raw.decode() + part(got, "plain") + part(got, "html")
        for word in ("12.90", "1290", "12,90", "Bern", "Train", "4242", "EUR", "€"):
            assert word not in said, word


def test_one_that_was_refused_meanwhile_is_not_announced(mail: MailServer, allowed: Callable[..., Mandate]) -> None:
    charge = announce(allowed())
    elicitations.refuse_charge(charge.mandate, charge.pk)
    jobs.notify()
    assert mail.received() == []
    assert outcomes(charge) == ["over"]


def test_who_wants_no_messages_gets_none_and_a_charge_is_made_all_the_same(
    mail: MailServer, allowed: Callable[..., Mandate], known: Known
) -> None:
    mandate = allowed()
    contacts.unsubscribe(contacts.person_of(ALICE_CLAIM), known.row)
    charge = announce(mandate)
    jobs.notify()
    assert mail.received() == []
    assert (outcomes(charge), charge.status) == (["opted_out"], "announced")


def test_a_person_chooses_in_their_account_whether_to_hear_of_an_agents_charges(
    mail: MailServer, allowed: Callable[..., Mandate], known: Known
) -> None:
    mandate = allowed()
    boxes = [one for one in Page(browser().get("/account/security").text).all("input") if one["name"] == "agent"]
    assert [(one["value"], "checked" in one) for one in boxes] == [(known.row.slug, True)]
    browser().post("/account/notifications", {"told": "yes", "shown": [known.row.slug]})
    charge = announce(mandate)
    jobs.notify()
    assert outcomes(charge) == ["opted_out"]


def test_t161_charges_count_toward_the_limits_of_requests(
    mail: MailServer, allowed: Callable[..., Mandate], known: Known
) -> None:
    """Six an hour for one person, and half of them by one agent."""
    mandate = allowed(total=20_000)
    Agent.objects.filter(pk=known.row.pk).update(notify=True)
    known.row.refresh_from_db()
    for number in range(3):
        announce(mandate, f"key {number}")
    ask(known)
    announce(mandate, "one more")
    jobs.notify()
    told = Notification.objects.values_list("outcome", flat=True)
    assert sorted(told) == ["limited", "limited", "sent", "sent", "sent"]
    assert len(mail.received()) == 3


def test_a_charge_that_the_bank_wants_its_person_for_is_a_request(
    mail: MailServer, allowed: Callable[..., Mandate], known: Known
) -> None:
    mandate = allowed(notice=False)
    Agent.objects.filter(pk=known.row.pk).update(notify=True)
    is_made(mandate, State.CANCELLED, failure="authentication_required")
    jobs.notify()
    [got] = mail.received()
    assert got["Subject"] == "Bot has a request for you"
    assert f"/c/{Elicitation.objects.get().pk}" in part(got, "plain")


def test_every_channel_says_what_it_is_about(allowed: Callable[..., Mandate], offered: NotificationSettings) -> None:
    """The operator's webhook tells its receiver apart what happened; a browser opens the page of the mandate."""
    mandate = allowed()
    announced = compose(announce(mandate).notifications.get())
    made = compose(is_made(allowed(notice=False)).notifications.get())
    assert (announced.about, made.about) == ("charge_announced", "charged")
    shown = json.loads(push.body(announced))
    assert (shown["body"], shown["path"]) == ("Bot announced a charge", f"/account/payments/mandates/{mandate.pk}")


def test_a_message_is_about_one_thing(allowed: Callable[..., Mandate], known: Known) -> None:
    with pytest.raises(IntegrityError):
        Notification.objects.create(agent=known.row, channel="email")


def test_its_record_goes_when_those_of_requests_do(allowed: Callable[..., Mandate], mail: MailServer) -> None:
    charge = announce(allowed())
    jobs.notify()
    days = timedelta(days=django_settings.ELICIT_KEEP_ELICITATIONS)
    assert purge.purge()["notifications"] == 0
    charge.notifications.update(created_at=clock.now() - days - timedelta(hours=1))
    assert purge.purge()["notifications"] == 1
    assert not charge.notifications.exists()
