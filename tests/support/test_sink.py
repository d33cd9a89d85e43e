"""The receiver of webhooks keeps what it gets and misbehaves as told."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx2
import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.cast import DRIVE_BOT, PHOTO_BOT
from tests.support.sink import Sink

BODY = b'{"type": "elicitation.completed",  "elicitation": "el_1"}'


@pytest.fixture
def sink() -> Iterator[Sink]:
    receiver = Sink()
    yield receiver
    receiver.close()


def send(sink: Sink, path: str = "/hooks", secret: str = DRIVE_BOT.webhook_secret) -> httpx2.Response:
    now = datetime.now(UTC)
    signature = Webhook(secret).sign("ev_1", now, BODY.decode())
    headers = {"webhook-id": "ev_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
    return httpx2.post(sink.url(path), content=BODY, headers=headers, trust_env=False, timeout=0.7)


def test_it_keeps_the_request_byte_for_byte_and_checks_its_signature(sink: Sink) -> None:
    assert send(sink).status_code == 200
    (delivery,) = sink.wait_for("/hooks")
    assert (delivery.method, delivery.id, delivery.body) == ("POST", "ev_1", BODY)
    assert delivery.verify(DRIVE_BOT.webhook_secret)["elicitation"] == "el_1"
    with pytest.raises(WebhookVerificationError):
        delivery.verify(PHOTO_BOT.webhook_secret)


def test_a_status_lasts_as_often_as_asked(sink: Sink) -> None:
    sink.status("/hooks", 503, times=2)
    assert [send(sink).status_code for _ in range(3)] == [503, 503, 200]


def test_it_sends_elsewhere_and_asks_for_patience(sink: Sink) -> None:
    sink.redirect("/a", "http://127.0.0.1:9/")
    sink.retry_after("/b", "120")
    assert (send(sink, "/a").status_code, send(sink, "/a").headers["location"]) == (307, "http://127.0.0.1:9/")
    assert (send(sink, "/b").status_code, send(sink, "/b").headers["retry-after"]) == (429, "120")


@pytest.mark.parametrize(("mode", "error"), [("hang", httpx2.ReadTimeout), ("cut", httpx2.RemoteProtocolError)])
def test_it_takes_the_request_and_gives_no_answer(sink: Sink, mode: str, error: type[Exception]) -> None:
    getattr(sink, mode)("/hooks")
    with pytest.raises(error):
        send(sink)
    assert len(sink.received("/hooks")) == 1


def test_it_drips_without_end(sink: Sink) -> None:
    sink.drip("/hooks")
    got = b""
    with httpx2.stream("POST", sink.url("/hooks"), trust_env=False, timeout=2) as answer:
        for chunk in answer.iter_raw():
            got += chunk
            if len(got) == 3:
                break
    assert got == b"..."


def test_one_path_that_hangs_does_not_hold_up_another(sink: Sink) -> None:
    sink.hang("/slow")
    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(send, sink, "/slow") for _ in range(7)]
        sink.wait_for("/slow", 7)
        assert send(sink, "/quick").status_code == 200
        assert all(isinstance(one.exception(), httpx2.ReadTimeout) for one in slow)


def test_it_says_how_many_came_when_too_few_did(sink: Sink) -> None:
    send(sink)
    with pytest.raises(AssertionError, match="received 1 of 2"):
        sink.wait_for("/hooks", 2, timeout=0.1)


def test_it_finds_the_delivery_of_an_event(sink: Sink) -> None:
    send(sink)
    assert sink.wait_for_event("/hooks", "elicitation.completed", "el_1").id == "ev_1"
    with pytest.raises(AssertionError, match=r"received no elicitation\.failed"):
        sink.wait_for_event("/hooks", "elicitation.failed", timeout=0.1)
    sink.forget()
    assert sink.received() == []
