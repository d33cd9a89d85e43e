"""Stripe refuses, fails, hangs or is not reachable: the error, the time it takes, and what was sent."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import stripe

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused, Unclear
from elicit_flows.kinds.payment.providers.stripe import client
from elicit_flows.kinds.payment.values import Account
from tests.doubles.raw import Listener, dripping, listening
from tests.doubles.server import Request, Response, json_response, redirect
from tests.kinds.payment.answers import KEY, Answers, account, ask, error, listed, session
from tests.support.machine import within

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
STRIPE = providers.get("stripe")
MADE = json_response(session())


def start(to: Account) -> object:
    return STRIPE.start(to, ask(), "ef:co_1:start:1")


def fetch(to: Account) -> object:
    return STRIPE.fetch(to, "cs_test_1")


def close(to: Account) -> object:
    return STRIPE.close(to, "cs_test_1", "ef:co_1:close")


def trouble(verb: Callable[[Account], object], *script: Response) -> tuple[str, int]:
    """What comes of it, as "Busy", "Unclear", "Unclear, stored" or a refusal's code, and how often it was tried."""
    told: PaymentError | None = None
    with Answers(*script) as far:
        try:
            verb(far.account())
        except PaymentError as error:
            told = error
    return name_of(told), len(far.asked)


def name_of(told: PaymentError | None) -> str:
    if told is None:
        return ""
    assert str(told).endswith(".")
    assert KEY[:12] not in repr(told)
    if isinstance(told, Refused):
        return told.code
    return f"{type(told).__name__}{', stored' if isinstance(told, Unclear) and told.stored else ''}"


PAID = session(status="complete", payment_status="paid", payment_intent="pi_1")
HTML = Response(502, b"<html>\xff bad gateway", {"Content-Type": "text/html"})


@pytest.mark.parametrize(
    ("script", "told", "tries"),
    [
        ([error(429)], "Busy", 1),
        ([error(400, "rate_limit")], "Busy", 1),
        ([error(500)], "Unclear, stored", 3),
        ([error(500, stripe_should_retry="false")], "Unclear, stored", 1),
        ([error(503)], "Unclear", 3),
        ([error(503, idempotent_replayed="true")], "Unclear, stored", 3),
        ([HTML], "Unclear", 3),
        ([error(409)], "Unclear", 3),
        ([error(500), error(429)], "Unclear", 2),
        ([error(409), error(429)], "Unclear", 2),
        ([error(429, stripe_should_retry="true"), error(429)], "Busy", 2),
        ([error(500), error(503), MADE], "", 3),
        ([error(409), MADE], "", 2),
        ([Response(200, b"<html>")], "Unclear", 1),
        ([json_response({})], "Unclear", 1),
        ([json_response([])], "Unclear", 1),
        ([redirect("https://elsewhere.example.com/")], "Unclear", 1),
        ([error(400, "parameter_unknown")], "parameter_unknown", 1),
        ([error(400, "amount_too_small")], "amount_too_small", 1),
        ([error(400)], "invalid_request", 1),
        ([error(400, "<b>Not a code</b>")], "invalid_request", 1),
        ([error(402, "card_declined", "card_error")], "card_declined", 1),
        ([error(404, "resource_missing")], "resource_missing", 1),
        ([Response(404, b"<html>")], "invalid_request", 1),
        ([error(401)], "authentication_failed", 1),
        ([error(403)], "authentication_failed", 1),
        ([error(400, None, "idempotency_error")], "Unclear, stored", 1),
    ],
)
def test_f17_of_a_checkout_that_did_not_start_it_is_known_what_may_have_happened(
    script: list[Response], told: str, tries: int
) -> None:
    assert trouble(start, *script) == (told, tries)


@pytest.mark.parametrize(
    ("script", "told", "tries"),
    [
        ([error(429)], "Busy", 1),
        ([error(500)], "Busy", 3),
        ([HTML], "Busy", 3),
        ([Response(200, b"")], "Busy", 1),
        ([json_response({"object": "checkout.session"})], "Busy", 1),
        ([json_response(PAID), json_response({})], "Busy", 2),
        ([redirect("https://elsewhere.example.com/")], "Busy", 1),
        ([error(404, "resource_missing")], "resource_missing", 1),
        ([error(401)], "authentication_failed", 1),
    ],
)
def test_f17_a_look_that_failed_changed_nothing(script: list[Response], told: str, tries: int) -> None:
    """The error says what went wrong and does not change the payment. Only reading requests were sent."""
    with Answers(*script) as far:
        with pytest.raises(PaymentError) as failed:
            fetch(far.account())
        asked = far.asked
    assert (name_of(failed.value), len(asked)) == (told, tries)
    assert {request.method for request in asked} == {"GET"}


def test_every_try_is_the_same_request_with_the_same_key() -> None:
    with Answers(error(500), error(503), MADE) as far:
        start(far.account())
    assert {request.headers["idempotency-key"] for request in far.asked} == {"ef:co_1:start:1"}
    assert len({request.body for request in far.asked}) == 1
    assert {request.headers["authorization"] for request in far.asked} == {f"Bearer {KEY}"}


def test_closing_what_will_not_close_tells_why_unless_looking_tells_what_it_is() -> None:
    refusal = error(400)
    assert trouble(close, refusal, json_response(session(status="expired"))) == ("", 2)
    assert trouble(close, refusal, json_response(session())) == ("invalid_request", 2)
    assert trouble(close, error(500), error(500), error(500), json_response(session())) == ("Unclear, stored", 4)
    assert trouble(close, error(429), json_response(session(status="expired"))) == ("", 2)


def refund(to: Account) -> object:
    return STRIPE.refund(to, "pi_1", 500, "re_row_1", "ef:re_row_1:refund:1")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([error(429)], "Busy"),
        ([error(500)], "Busy"),
        ([listed(), error(429)], "Busy"),
        ([listed(), error(500)], "Unclear, stored"),
        ([listed(), error(503)], "Unclear"),
        ([listed(), error(400, "charge_already_refunded")], "charge_already_refunded"),
        ([listed(), error(400, None, "idempotency_error")], "idempotency_error"),
    ],
)
def test_of_a_refund_it_is_known_whether_it_may_have_been_made(script: list[Response], told: str) -> None:
    assert trouble(refund, *script)[0] == told


def test_a_refund_that_was_made_is_found_whatever_its_key_was() -> None:
    ours = {"id": "re_2", "amount": 500, "status": "succeeded", "metadata": {"our_id": "re_row_1"}}
    theirs = {"id": "re_1", "amount": 500, "status": "succeeded", "metadata": {}}
    with Answers(listed(theirs, ours)) as far:
        seen = STRIPE.refund(far.account(), "pi_1", 500, "re_row_1", "another key")
    assert (seen.ref, seen.state, [request.method for request in far.asked]) == ("re_2", "done", ["GET"])


def test_nobody_there_means_that_nothing_happened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    for verb in (start, fetch, close, refund):
        with pytest.raises(Busy):
            verb(account(url))


def hanging_up(listener: Listener, connection: socket.socket) -> None:
    listener.request(connection)


def test_an_answer_that_is_lost_on_the_way_leaves_it_unclear() -> None:
    with listening(hanging_up) as peer:
        with pytest.raises(Unclear) as told:
            start(account(peer.url.rstrip("/")))
        assert told.value.stored is False
        assert len(peer.heard) == 3
        with pytest.raises(Busy):
            fetch(account(peer.url.rstrip("/")))


@pytest.mark.slow
@pytest.mark.parametrize("verb", [start, close, refund])
@pytest.mark.parametrize("drop", [b"", b"x"])
def test_f17_a_provider_that_hangs_is_left_in_time(
    verb: Callable[[Account], object], drop: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SECONDS", 0.6)
    with listening(dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n", drop, 0.02)) as peer:
        began = time.monotonic()
        with pytest.raises(PaymentError):
            verb(account(peer.url.rstrip("/")))
        assert time.monotonic() - began < within(1.2)


def test_when_the_time_is_over_nobody_waits_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SECONDS", 0.2)
    monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0.4)
    monkeypatch.setattr(stripe.HTTPClient, "MAX_DELAY", 0.4)
    with listening(dripping(b"", b"", 0.02)) as peer:
        began = time.monotonic()
        with pytest.raises(Unclear):
            start(account(peer.url.rstrip("/")))
        assert time.monotonic() - began < within(0.9)
    assert len(peer.heard) == 1


class Slow(Answers):
    def respond(self, request: Request) -> Response:
        threading.Event().wait(0.4)
        return super().respond(request)


def test_all_requests_of_one_verb_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SECONDS", 0.6)
    made = {"id": "re_1", "object": "refund", "amount": 500, "status": "succeeded"}
    with Slow(listed(), json_response(made)) as far, pytest.raises(Unclear):
        refund(far.account())


def test_the_time_for_one_verb_is_less_than_twenty_seconds() -> None:
    assert client.SECONDS + 1 < 20  # between the last try and giving up the SDK may wait almost a second


@pytest.mark.slow
def test_one_try_that_hangs_leaves_time_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TRY_SECONDS", 0.6)
    with listening(dripping(b"", b"", 0.02)) as peer, pytest.raises(Unclear):
        start(account(peer.url.rstrip("/")))
    assert len(peer.heard) == 3


@pytest.mark.parametrize("url", ["https://169.254.169.254", "http://stripe.example.com", "https://10.0.0.1:8443"])
def test_an_address_that_leads_inside_is_refused(url: str) -> None:
    with pytest.raises(Refused) as told:
        start(account(url))
    assert told.value.code == "not_allowed"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"url": "javascript:alert(1)"}, "bad_answer"),
        ({"url": "http://checkout.stripe.com/c/pay/1"}, "bad_answer"),
        ({"url": None}, "bad_answer"),
        ({"livemode": True}, "wrong_mode"),
        ({"livemode": None}, "wrong_mode"),
    ],
)
def test_a_page_that_nobody_may_be_sent_to_is_refused(changes: Any, code: str) -> None:
    assert trouble(start, json_response(session(**changes))) == (code, 1)


def test_the_sdk_tells_nobody_about_our_calls(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("stripe").setLevel(logging.WARNING)
    with Answers(Response(200, MADE.body, {"Request-Id": "req_1", "Stripe-Notice": "Look here"}), MADE) as far:
        start(far.account())
        start(far.account())
    assert not [name for request in far.asked for name in request.headers if "telemetry" in name]
    assert "telemetry" not in far.asked[-1].headers["x-stripe-client-user-agent"]
    assert KEY not in caplog.text
    assert "The report" not in caplog.text
