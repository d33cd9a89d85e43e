"""Mollie refuses, fails, hangs or is not reachable: the error, the time it takes, and what was sent."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers import attempts
from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused, Unclear
from elicit_flows.kinds.payment.values import Account, State
from tests.doubles.raw import Listener, dripping, listening
from tests.doubles.server import Request, Response, json_response, redirect
from tests.kinds.payment.answers import ask
from tests.kinds.payment.mollie_answers import KEY, MollieAnswers, account, embedded, error, payment, refund
from tests.support.machine import within

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
MOLLIE = providers.get("mollie")
MADE = json_response(payment(), 201)
HTML = Response(502, b"<html>\xff bad gateway", {"Content-Type": "text/html"})
ELSEWHERE = redirect("https://elsewhere.example.com/")


def start(to: Account) -> object:
    return MOLLIE.start(to, ask(), "ef:co_1:start:1")


def fetch(to: Account) -> object:
    return MOLLIE.fetch(to, "tr_1")


def close(to: Account) -> object:
    return MOLLIE.close(to, "tr_1", "ef:co_1:close")


def give_back(to: Account) -> object:
    return MOLLIE.refund(to, "tr_1", 500, "row_1", "ef:row_1:refund:1")


def trouble(verb: Callable[[Account], object], *script: Response) -> tuple[str, int]:
    """What comes of it, as "Busy", "Unclear", "Unclear, stored" or a refusal's code, and how often was asked."""
    told: PaymentError | None = None
    with MollieAnswers(*script) as far:
        try:
            verb(far.account())
        except PaymentError as problem:
            told = problem
    return name_of(told), len(far.asked)


def name_of(told: PaymentError | None) -> str:
    if told is None:
        return ""
    assert str(told).endswith(".")
    assert KEY not in repr(told)
    if isinstance(told, Refused):
        return told.code
    return f"{type(told).__name__}{', stored' if isinstance(told, Unclear) and told.stored else ''}"


@pytest.mark.parametrize(
    ("script", "told", "tries"),
    [
        ([error(429)], "Busy", 1),
        ([error(500)], "Unclear", 3),
        ([error(503)], "Unclear", 3),
        ([error(500, Idempotent_Replayed="true")], "Unclear, stored", 3),
        ([HTML], "Unclear", 3),
        ([error(409)], "Unclear", 3),
        ([error(500), error(429)], "Unclear", 2),
        ([error(500), error(503), MADE], "", 3),
        ([error(409), MADE], "", 2),
        ([Response(200, b"<html>")], "Unclear", 1),
        ([json_response({})], "Unclear", 1),
        ([json_response([])], "Unclear", 1),
        ([Response(201, b'{"id": "tr_1", "id": "tr_2", "status": "open"}')], "Unclear", 1),
        ([ELSEWHERE], "Unclear", 1),
        ([error(422, "amount")], "invalid_amount", 1),
        ([error(422, "amount.value")], "invalid_amount_value", 1),
        ([error(422, "<b>no field</b>")], "unprocessable_entity", 1),
        ([error(400)], "bad_request", 1),
        ([error(404)], "not_found", 1),
        ([error(415)], "invalid_request", 1),
        ([Response(404, b"<html>")], "not_found", 1),
        ([Response(422, b"[]")], "unprocessable_entity", 1),
        ([error(401)], "authentication_failed", 1),
        ([error(403)], "authentication_failed", 1),
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
        ([json_response({"resource": "payment"})], "Busy", 1),
        ([ELSEWHERE], "Busy", 1),
        ([error(404)], "not_found", 1),
        ([error(401)], "authentication_failed", 1),
    ],
)
def test_f17_a_look_that_failed_changed_nothing(script: list[Response], told: str, tries: int) -> None:
    """The error says what went wrong and does not change the payment. Only reading requests were sent."""
    with MollieAnswers(*script) as far:
        with pytest.raises(PaymentError) as failed:
            fetch(far.account())
        asked = far.asked
    assert (name_of(failed.value), len(asked)) == (told, tries)
    assert {request.method for request in asked} == {"GET"}


def test_every_try_is_the_same_request_with_the_same_key() -> None:
    with MollieAnswers(error(500), error(503), MADE) as far:
        start(far.account())
    assert {request.headers["idempotency-key"] for request in far.asked} == {"ef:co_1:start:1"}
    assert len({request.body for request in far.asked}) == 1
    assert {request.headers["authorization"] for request in far.asked} == {f"Bearer {KEY}"}


def test_an_amount_is_written_with_the_digits_of_its_currency_and_nobody_is_named() -> None:
    with MollieAnswers(MADE) as far:
        MOLLIE.start(far.account(), ask(amount=435), "1")
        MOLLIE.start(far.account(), ask(amount=500, currency="jpy"), "2")
    said = [json.loads(request.body) for request in far.asked]
    assert [one["amount"] for one in said] == [
        {"currency": "EUR", "value": "4.35"},
        {"currency": "JPY", "value": "500"},
    ]
    assert said[0] | {"amount": None} == {
        "amount": None,
        "description": "The report",
        "redirectUrl": ask().return_url,
        "cancelUrl": ask().cancel_url,
        "webhookUrl": ask().notify_url,
        "metadata": {"our_id": "co_1"},
    }


PAID, OPEN, CLOSED = (json_response(payment(status=status)) for status in ("paid", "open", "canceled"))


@pytest.mark.parametrize(
    ("script", "told", "asked"),
    [
        ([OPEN, CLOSED, CLOSED], "", 3),
        ([json_response(payment(isCancelable=False))], "", 1),
        ([PAID], "", 1),
        ([json_response(payment(status="pending", isCancelable=True))], "", 1),
        ([json_response(payment(method="banktransfer"))], "", 1),
        ([OPEN, error(422), CLOSED], "", 3),
        ([OPEN, error(422), OPEN], "unprocessable_entity", 3),
        ([OPEN, error(500), error(500), error(500), OPEN], "Unclear", 5),
        ([OPEN, error(500), error(500), error(500), PAID], "", 5),
        ([OPEN, error(500), error(500), error(500), error(429)], "Unclear", 5),
        ([OPEN, CLOSED, error(429)], "Busy", 3),
        ([error(500)], "Busy", 3),
        ([OPEN, error(429), OPEN], "Busy", 3),
    ],
)
def test_closing_what_will_not_close_tells_why_unless_looking_tells_what_it_is(
    script: list[Response], told: str, asked: int
) -> None:
    assert trouble(close, *script) == (told, asked)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([error(429)], "Busy"),
        ([error(500)], "Busy"),
        ([json_response(embedded()), error(429)], "Busy"),
        ([json_response(embedded()), error(500)], "Unclear"),
        ([json_response(embedded()), error(500, Idempotent_Replayed="true")], "Unclear, stored"),
        ([json_response(embedded()), error(422, "amount")], "invalid_amount"),
        ([json_response(embedded()), json_response({})], "Unclear"),
        ([json_response(embedded() | {"amount": {"currency": "ISK", "value": "5"}})], "invalid_currency"),
    ],
)
def test_of_a_refund_it_is_known_whether_it_may_have_been_made(script: list[Response], told: str) -> None:
    assert trouble(give_back, *script)[0] == told


def test_a_refund_that_was_made_is_found_whatever_its_key_was() -> None:
    ours, theirs = refund(id="re_2", metadata={"our_id": "row_1"}), refund(metadata=None)
    with MollieAnswers(json_response(embedded(theirs, ours))) as far:
        seen = MOLLIE.refund(far.account(), "tr_1", 500, "row_1", "another key")
    assert (seen.ref, seen.state, [request.method for request in far.asked]) == ("re_2", "done", ["GET"])


def test_nobody_there_means_that_nothing_happened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    for verb in (start, fetch, close, give_back):
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
@pytest.mark.parametrize("verb", [start, close, give_back])
@pytest.mark.parametrize("drop", [b"", b"x"])
def test_f17_a_provider_that_hangs_is_left_in_time(
    verb: Callable[[Account], object], drop: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "SECONDS", 0.6)
    with listening(dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n", drop, 0.02)) as peer:
        began = time.monotonic()
        with pytest.raises(PaymentError):
            verb(account(peer.url.rstrip("/")))
        assert time.monotonic() - began < within(1.2)


def test_the_time_for_one_verb_is_less_than_twenty_seconds() -> None:
    assert attempts.SECONDS + 1 < 20


class Slow(MollieAnswers):
    def respond(self, request: Request) -> Response:
        answer = super().respond(request)
        threading.Event().wait(0.4)
        return answer


def test_all_requests_of_one_verb_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "SECONDS", 0.6)
    with Slow(json_response(embedded()), json_response(refund(), 201)) as far, pytest.raises(Unclear):
        give_back(far.account())
    with Slow(OPEN) as far, pytest.raises(Unclear):
        close(far.account())
    assert [request.method for request in far.asked] == ["GET", "DELETE"]


def test_one_try_that_hangs_leaves_time_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "TRY_SECONDS", 0.2)
    with listening(dripping(b"", b"", 0.02)) as peer, pytest.raises(Unclear):
        start(account(peer.url.rstrip("/")))
    assert len(peer.heard) == 3


@pytest.mark.parametrize("url", ["https://169.254.169.254", "http://mollie.example.com", "https://10.0.0.1:8443"])
def test_an_address_that_leads_inside_is_refused(url: str) -> None:
    with pytest.raises(Refused) as told:
        start(account(url))
    assert told.value.code == "not_allowed"


def test_the_environments_proxies_and_netrc_are_not_obeyed(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    with MollieAnswers(MADE) as far:
        start(far.account())
    assert far.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"_links": {"checkout": {"href": "javascript:alert(1)"}}}, "bad_answer"),
        ({"_links": {"checkout": {"href": "http://www.mollie.com/checkout/1"}}}, "bad_answer"),
        ({"_links": {}}, "bad_answer"),
        ({"id": "tr_1/../refunds"}, "bad_answer"),
        ({"id": None}, "bad_answer"),
        ({"mode": "live"}, "wrong_mode"),
    ],
)
def test_a_page_that_nobody_may_be_sent_to_is_refused(changes: dict[str, Any], code: str) -> None:
    assert trouble(start, json_response(payment(**changes), 201)) == (code, 1)


@pytest.mark.parametrize("ref", ["tr_1/refunds", "tr_1?embed=all", "", "re_1", "tr_", "tr_1 "])
def test_a_ref_that_is_no_payments_id_gets_into_no_address(ref: str) -> None:
    with MollieAnswers(MADE) as far:
        with pytest.raises(Refused):
            MOLLIE.fetch(far.account(), ref)
        with pytest.raises(Refused):
            MOLLIE.refund(far.account(), ref, 1, "row", "key")
    assert far.asked == []


@pytest.mark.parametrize("key", ["canary of nobody", "sk_test_canary", "test_canary\r\nX: 1", "", "access_canary"])
def test_t112_a_key_of_another_form_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(Refused) as told:
        start(account(None, secret_key=Secret(key)))
    assert told.value.code == "authentication_failed"
    assert "canary" not in f"{told.value!r} {told.value.__context__!r}"


def test_an_unknown_status_is_neither_success_nor_end() -> None:
    with MollieAnswers(json_response(payment(status="shipping"))) as far:
        assert MOLLIE.fetch(far.account(), "tr_1").state is State.OPEN


def test_the_library_tells_nobody_of_this_machine_and_writes_no_key_into_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    replayed = Response(201, MADE.body, {"Idempotent-Replayed": "true"})
    with MollieAnswers(replayed) as far:
        start(far.account())
    assert far.asked[0].headers["x-mollie-client-info"] == "elicit-flows"
    for secret in (KEY, "ef:co_1", "The report"):
        assert secret not in caplog.text
