"""The operator's own webhook: signed, with who and the link, and nothing of the request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.elicitations import notify
from elicit_flows.models import Elicitation, NotificationSettings
from elicit_flows.people import contacts
from tests.notifications.telling import MESSAGE, outcomes, signs_in
from tests.support import jobs
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM
from tests.support.sink import Sink

Ask = Callable[..., Elicitation]
SECRET = "whsec_" + "C" * 43 + "="


@pytest.fixture(autouse=True)
def offers_webhook(offered: NotificationSettings, receiver: Sink) -> None:
    offered.email, offered.webhook_url = False, receiver.url("/tell")
    vault.contacts.seal_signing_secret(offered, Secret(SECRET))
    offered.save()
    notify.forget()


def test_the_operators_program_hears_who_in_which_language_who_asks_and_the_link(ask: Ask, receiver: Sink) -> None:
    signs_in("", language="ja")
    row = ask()
    jobs.notify()
    [got] = receiver.received("/tell")
    said = got.verify(SECRET)
    unsubscribe = said["data"].pop("unsubscribe_url")
    assert "/unsubscribe/" in unsubscribe
    assert said == {
        "id": got.id,
        "type": "notification.requested",
        "data": {
            "subject": {"iss": row.iss, "sub": row.sub},
            "language": "ja",
            "agent": {"slug": "bot", "name": "Bot"},
            "service": "Elicit Flows",
            "url": row.url,
        },
    }
    assert MESSAGE not in got.body.decode()
    assert outcomes(row) == {"webhook": "sent"}


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500, 503])
def test_it_is_tried_again_under_the_same_id(ask: Ask, receiver: Sink, moving_clock: MovingClock, status: int) -> None:
    receiver.status("/tell", status, times=1)
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"webhook": ""}
    moving_clock.forward(seconds=30)
    jobs.notify()
    assert outcomes(row) == {"webhook": "sent"}
    assert len({one.id for one in receiver.received("/tell")}) == 1


def test_410_ends_it(ask: Ask, receiver: Sink) -> None:
    receiver.status("/tell", 410)
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"webhook": "refused"}


def test_nothing_unsigned_is_sent(ask: Ask, receiver: Sink) -> None:
    NotificationSettings.objects.update(webhook_secret="")
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"webhook": "refused"}
    assert receiver.received() == []


def test_who_has_unsubscribed_is_not_told_this_way_either(ask: Ask, receiver: Sink) -> None:
    contacts.unsubscribe(contacts.person_of(ALICE_CLAIM), None)
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"webhook": "opted_out"}
    assert receiver.received() == []
