"""Web push: encrypted for the browser that asked for it, through push services that are known, and signed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.db import connections

from elicit_flows import http, people, vault
from elicit_flows.config_file import notifications as rules
from elicit_flows.domain.values import Claim
from elicit_flows.elicitations import notify
from elicit_flows.lib import clock, web_push
from elicit_flows.models import Elicitation, NotificationSettings, PushSubscription
from elicit_flows.people import contacts, push
from tests.doubles.policy import dialing
from tests.notifications.telling import MESSAGE, outcomes, signs_in
from tests.support import jobs
from tests.support.moving import MovingClock
from tests.support.ports import free_port
from tests.support.process import Process
from tests.support.rows import ALICE_CLAIM, ISSUER, Known
from tests.web.samples import Page
from tests.web.test_room import browser

Ask = Callable[..., Elicitation]
BOB = Claim(ISSUER, "bob")


class PushService:
    """The double, in a process of its own."""

    def __init__(self, home: Path) -> None:
        self._port, self._file = free_port(), home / "pushed"
        command = [sys.executable, "-m", "tests.doubles.push_service", str(self._port), str(self._file)]
        self.process = Process(command, home / "push.log")
        self.process.start()
        self.process.wait_for_output("listening")
        self.origin = f"http://127.0.0.1:{self._port}"

    def subscription(self, status: int = 201) -> dict[str, str]:
        """What a new browser gives, whose messages are answered so."""
        given = httpx2.post(f"{self.origin}/browsers", content=str(status)).json()
        return {"endpoint": given["endpoint"], **given["keys"]}

    def received(self) -> list[dict[str, Any]]:
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        return [json.loads(line) for line in lines]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[PushService]:
    service = PushService(tmp_path)
    yield service
    service.process.stop()


@pytest.fixture(autouse=True)
def offers_push(offered: NotificationSettings, known: Known) -> NotificationSettings:
    offered.email, offered.push = False, True
    rules.make_push_key(offered)
    offered.save()
    notify.forget()
    return offered


def subscribe(given: dict[str, str], who: str = "alice") -> None:
    answer = browser(who).post("/account/notifications/push", given)
    assert answer["Location"] == "/account/security?saved=push", answer.content


def told(ask: Ask) -> dict[str, str]:
    row = ask()
    jobs.notify()
    return outcomes(row)


def test_the_example_of_the_rfc() -> None:
    """RFC 8291, section 5 and appendix A."""
    number = int.from_bytes(web_push.decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), "big")
    got = web_push.encrypt(
        b"When I grow up, I want to be a watermelon",
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
        salt=web_push.decoded("DGv6ra1nlYgDCS1FRnbzlw"),
        private=ec.derive_private_key(number, ec.SECP256R1()),
    )
    assert web_push.encoded(got) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3"
        "jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_t219_a_browser_that_asked_for_it_shows_who_asks_and_nothing_of_the_request(
    ask: Ask, service: PushService, offers_push: NotificationSettings
) -> None:
    signs_in(language="ar")
    subscribe(service.subscription())
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"push": "sent"}
    [got] = service.received()
    assert MESSAGE not in json.dumps(got)
    message = got["message"]
    assert "Bot" in message.pop("body")
    assert message.pop("id") == row.notifications.get().pk
    assert message == {"title": "Elicit Flows", "language": "ar", "direction": "rtl", "path": f"/c/{row.pk}"}
    assert got["vapid"]["key"] == vault.contacts.push_public_key(offers_push)
    assert got["vapid"]["sub"].startswith("http")
    assert got["headers"] == {"ttl": "86400", "urgency": "normal"}


def test_once_one_browser_shows_it_the_others_are_not_tried_again_and_an_ended_one_is_forgotten(
    ask: Ask, service: PushService, moving_clock: MovingClock
) -> None:
    assert told(ask) == {"push": "no_address"}
    for status in (410, 503, 201):
        subscribe(service.subscription(status))
    assert told(ask) == {"push": "sent"}
    assert len(service.received()) == 3
    assert push.of(ALICE_CLAIM).count() == 2
    PushSubscription.objects.all().delete()
    subscribe(service.subscription(503))
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"push": ""}
    PushSubscription.objects.all().delete()
    subscribe(service.subscription(403))
    moving_clock.forward(seconds=30)
    jobs.notify()
    assert outcomes(row) == {"push": "refused"}


def test_a_push_service_that_is_busy_is_asked_again_though_another_browser_has_ended(
    ask: Ask, service: PushService, moving_clock: MovingClock
) -> None:
    for status in (503, 410):
        subscribe(service.subscription(status))
    row = ask()
    jobs.notify()
    assert outcomes(row) == {"push": ""}
    moving_clock.forward(seconds=30)
    jobs.notify()
    assert len(service.received()) == 3


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://push.example.com/x", "https://fcm.googleapis.com.example.com/x", "https://evilnotify.windows.com/x",
        "https://fcm.googleapis.com:8443/x", "https://fcm.googleapis.com@10.0.0.1/x", "https://10.0.0.1/x",
        "http://fcm.googleapis.com/x", "https://db.intranet/x", "https://fcm.googleapis.com/" + "x" * 1000, "x", "",
    ],
)  # fmt: skip
def test_t218_messages_go_to_known_push_services_alone(service: PushService, endpoint: str) -> None:
    given = service.subscription()
    with dialing(http.Policy(networks=())):
        answer = browser().post("/account/notifications/push", {**given, "endpoint": endpoint})
    assert answer.status_code == 400
    assert not PushSubscription.objects.exists()


def test_t218_an_operator_adds_a_push_service_and_what_is_taken_away_gets_nothing(
    ask: Ask, service: PushService, offers_push: NotificationSettings
) -> None:
    takes = push.takes
    with dialing(http.Policy()):
        assert takes(offers_push, "https://updates.push.services.mozilla.com/wpush/v2/x")
        assert takes(offers_push, "https://web.push.apple.com/x")
        assert takes(offers_push, "https://wns2-by3p.notify.windows.com/w/?token=x")
        assert not takes(offers_push, "https://push.example.com/x")
        offers_push.push_hosts = ["push.example.com"]
        assert takes(offers_push, "https://push.example.com/x")
    subscribe(service.subscription())
    with dialing(http.Policy()):
        assert told(ask) == {"push": "refused"}
    assert service.received() == []


@pytest.mark.parametrize(
    ("name", "value"), [("p256dh", "AAAA"), ("p256dh", "B" + "A" * 86), ("auth", "AA"), ("auth", "é")]
)
def test_what_is_no_key_is_refused(service: PushService, name: str, value: str) -> None:
    answer = browser().post("/account/notifications/push", {**service.subscription(), name: value})
    assert answer.status_code == 400


def test_t220_a_browser_shows_messages_of_whoever_asked_last_and_stops_when_asked(
    ask: Ask, service: PushService
) -> None:
    given = service.subscription()
    subscribe(given)
    subscribe(given, "bob")
    assert told(ask) == {"push": "no_address"}, "it is bob's now"
    [row] = push.of(BOB)
    browser().post(f"/account/notifications/push/{row.pk}/end")
    assert push.of(BOB).exists(), "alice cannot end what is bob's"
    page = Page(browser("bob").get("/account/security").text)
    [form] = [one for one in page.all("form") if one.get("data-action") == "end-push"]
    assert browser("bob").post(form["action"])["Location"] == "/account/security?saved=push-ended"
    assert not push.of(BOB).exists()


def test_two_presses_of_the_button_at_once_are_one_browser(service: PushService, on_postgres: str) -> None:
    NotificationSettings.objects.create(push=True)
    given = service.subscription()

    def press(_: int) -> None:
        try:
            push.subscribe(ALICE_CLAIM, given, "Firefox", "Linux")
        finally:
            connections.close_all()

    for _ in range(3):
        PushSubscription.objects.all().delete()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(press, range(8)))
        assert push.of(ALICE_CLAIM).count() == 1


def test_t220_who_signs_out_everywhere_or_unsubscribes_is_told_in_no_browser(ask: Ask, service: PushService) -> None:
    subscribe(service.subscription())
    contacts.unsubscribe(contacts.person_of(ALICE_CLAIM), None)
    assert told(ask) == {"push": "opted_out"}
    contacts.choose(ALICE_CLAIM, everything=True, shown={"bot"}, agents={"bot"})
    people.end_sessions(ALICE_CLAIM)
    assert told(ask) == {"push": "no_address"}
    assert service.received() == []


def test_t219_the_address_is_sealed_exported_without_it_and_erased(service: PushService) -> None:
    given = service.subscription()
    subscribe(given)
    row = PushSubscription.objects.get()
    assert given["endpoint"] not in row.address
    assert vault.contacts.open_push(row) == given
    about = contacts.about(ALICE_CLAIM)
    assert about
    assert len(about["browsers"]) == 1
    assert given["endpoint"] not in json.dumps(about)
    contacts.forget(ALICE_CLAIM, clock.now())
    assert not PushSubscription.objects.exists()


def test_a_person_has_so_many_browsers_and_a_page_that_lists_them(service: PushService) -> None:
    for _ in range(push.MAX_BROWSERS + 1):
        subscribe(service.subscription())
    assert push.of(ALICE_CLAIM).count() == push.MAX_BROWSERS


def test_where_it_is_not_offered_nothing_is_shown_or_kept(
    service: PushService, offers_push: NotificationSettings
) -> None:
    assert "data-push-key" in browser().get("/account/security").text
    offers_push.push, offers_push.email = False, True
    offers_push.save()
    notify.forget()
    assert "push" not in browser().get("/account/security").text
    answer = browser().post("/account/notifications/push", service.subscription())
    assert answer.status_code == 409
    assert not PushSubscription.objects.exists()
