"""PayPal refuses, fails, or answers what nobody asked: the error, what was sent, and what is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonpickle
import pytest

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused, Unclear
from elicit_flows.kinds.payment.values import Account, Snapshot, State
from tests.doubles.server import Response, json_response, redirect
from tests.kinds.payment.answers import ask
from tests.kinds.payment.paypal_answers import SECRET, PayPalAnswers, account, capture, error, money, order

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
PAYPAL = providers.get("paypal")
MADE, APPROVED = json_response(order(), 201), json_response(order("APPROVED"))
PAID = json_response(order("COMPLETED", capture()))
HTML = Response(502, b"<html>\xff bad gateway", {"Content-Type": "text/html"})
NO_DISPUTES = json_response({"items": []})


def start(to: Account) -> object:
    return PAYPAL.start(to, ask(), "ef:co_1:start:1")


def fetch(to: Account) -> Snapshot:
    return PAYPAL.fetch(to, "ORDER1")


def complete(to: Account) -> Snapshot:
    return PAYPAL.complete(to, "ORDER1", "ef:co_1:complete")


def give_back(to: Account) -> object:
    return PAYPAL.refund(to, "CAPTURE1", 500, "row_1", "ef:row_1:refund:1")


def trouble(verb: Callable[[Account], object], *script: Response) -> tuple[str, int]:
    """What comes of it, as "Busy", "Unclear" or a refusal's code, and how often was asked."""
    told: PaymentError | None = None
    with PayPalAnswers(*script) as far:
        try:
            verb(far.account())
        except PaymentError as problem:
            told = problem
            assert "canary" not in f"{told!r} {told.__context__!r}"
    return (told.code if isinstance(told, Refused) else type(told).__name__ if told else ""), len(far.asked)


@pytest.mark.parametrize(
    ("script", "told", "tries"),
    [
        ([error(429)], "Busy", 1),
        ([error(500)], "Unclear", 3),
        ([HTML], "Unclear", 3),
        ([error(500), MADE], "", 2),
        ([error(409), MADE], "", 2),
        ([json_response({})], "Unclear", 1),
        ([Response(200, b"<html>")], "Unclear", 1),
        ([redirect("https://elsewhere.example.com/")], "Unclear", 1),
        ([error(422, "CURRENCY_NOT_SUPPORTED")], "currency_not_supported", 1),
        ([error(422, "<b>no issue</b>")], "unprocessable_entity", 1),
        ([error(400)], "bad_request", 1),
        ([error(401)], "unauthorized", 2),
        ([error(403)], "not_authorized", 1),
        ([Response(422, b"[]")], "unprocessable_entity", 1),
    ],
)
def test_f17_of_a_checkout_that_did_not_start_it_is_known_what_may_have_happened(
    script: list[Response], told: str, tries: int
) -> None:
    assert trouble(start, *script) == (told, tries)


@pytest.mark.parametrize(
    ("script", "state", "asked"),
    [
        ([PAID], State.PAID, 1),
        ([error(422, "INSTRUMENT_DECLINED"), APPROVED], State.OPEN, 2),
        ([error(422, "ORDER_ALREADY_CAPTURED"), PAID], State.PAID, 2),
        ([error(422, "ORDER_NOT_APPROVED"), MADE], State.OPEN, 2),
        ([json_response(order("COMPLETED", capture("PENDING")))], State.PROCESSING, 1),
        ([json_response(order("COMPLETED", capture("DECLINED")))], State.FAILED, 1),
    ],
)
def test_what_comes_of_a_charge_is_read_or_looked_up(script: list[Response], state: State, asked: int) -> None:
    with PayPalAnswers(*script) as far:
        assert complete(far.account()).state is state
    assert len(far.asked) == asked
    assert far.asked[0].headers["paypal-request-id"] == "ef:co_1:complete"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([error(500)], "Unclear"),
        ([error(422, "TRANSACTION_REFUSED"), APPROVED], "transaction_refused"),
        ([error(422, "TRANSACTION_REFUSED"), error(404)], "not_found"),
        ([json_response({"id": "ORDER1"})], "Busy"),
    ],
)
def test_a_charge_of_which_nothing_is_known_is_not_judged(script: list[Response], told: str) -> None:
    assert trouble(complete, *script)[0] in {told, "Unclear"}


def test_every_try_is_the_same_request_with_the_same_key_and_nobody_is_named() -> None:
    with PayPalAnswers(error(500), error(503), MADE) as far:
        start(far.account())
    assert {request.headers["paypal-request-id"] for request in far.asked} == {"ef:co_1:start:1"}
    assert {request.headers["user-agent"] for request in far.asked} == {"elicit-flows"}
    [body] = {request.body for request in far.asked}
    said = json.loads(body)
    [unit] = said["purchase_units"]
    assert unit == {"amount": money("19.99"), "description": "The report", "custom_id": "co_1"}
    assert said["payment_source"]["paypal"]["experience_context"]["return_url"] == ask().return_url


def test_t200_what_was_captured_counts_and_not_what_was_ordered() -> None:
    for taken, amount, currency in [
        ([capture(value="0.01")], 1, "eur"),
        ([capture(amount=money("19.99", "USD"))], 1999, "usd"),
        ([capture(), capture(id="CAPTURE2", amount=money("5.00"))], 2499, "eur"),
        ([capture(), capture(id="CAPTURE2", amount=money("5.00", "USD"))], 0, ""),
        ([capture("DECLINED", "5.00"), capture()], 1999, "eur"),
        ([capture(value="19.999")], 0, "eur"),
    ]:
        with PayPalAnswers(json_response(order("COMPLETED", *taken)), NO_DISPUTES) as far:
            said = fetch(far.account())
        assert (said.state, said.amount, said.currency) == (State.PAID, amount, currency)


def test_t201_an_order_says_whose_it_is_by_the_id_that_we_gave_it() -> None:
    for unit, named in (({"custom_id": "co_2"}, "co_2"), ({}, None), ({"custom_id": 7}, None)):
        wrong = order("COMPLETED")
        wrong["purchase_units"] = [{"amount": money("19.99"), "payments": {"captures": [capture()]}, **unit}]
        with PayPalAnswers(json_response(wrong), NO_DISPUTES) as far:
            assert fetch(far.account()).our_id == named


def test_t202_an_answer_that_names_code_runs_none(tmp_path: Path) -> None:
    """What the library's decoder would do with the same bytes shows that there is something to defend."""

    def bomb(name: str) -> dict[str, Any]:
        made = str(tmp_path / name)
        return {"py/reduce": [{"py/function": "os.mkdir"}, {"py/tuple": [made]}]}

    jsonpickle.decode(json.dumps(bomb("by-the-decoder")))
    assert (tmp_path / "by-the-decoder").exists()
    with PayPalAnswers(json_response(order(payer=bomb("by-an-answer"))), NO_DISPUTES) as far:
        assert fetch(far.account()).state is State.OPEN
    with PayPalAnswers(Response(422, json.dumps(bomb("by-an-error")).encode())) as far, pytest.raises(Refused):
        fetch(far.account())

    class Tokens(PayPalAnswers):
        def respond(self, request: Any) -> Response:
            if request.path == "/v1/oauth2/token":
                said = {"access_token": "t", "expires_in": 60, "scope": bomb("by-a-token")}
                return json_response(said)
            return super().respond(request)

    with Tokens(json_response(order()), NO_DISPUTES) as far:
        fetch(far.account())
    assert [one.name for one in tmp_path.iterdir()] == ["by-the-decoder"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"links": [{"rel": "payer-action", "href": "javascript:alert(1)"}]}, "bad_answer"),
        ({"links": []}, "bad_answer"),
        ({"id": "ORDER1/../x"}, "bad_answer"),
        ({"id": None}, "bad_answer"),
    ],
)
def test_a_page_that_nobody_may_be_sent_to_is_refused(changes: dict[str, Any], code: str) -> None:
    assert trouble(start, json_response(order(**changes), 201)) == (code, 1)


@pytest.mark.parametrize("ref", ["ORDER1/capture", "", "order1", "ORDER1 ", "ORDER1?x=1"])
def test_a_ref_that_is_no_id_gets_into_no_address(ref: str) -> None:
    with PayPalAnswers(MADE) as far:
        for verb in (PAYPAL.fetch, lambda to, name: PAYPAL.complete(to, name, "key")):
            with pytest.raises(Refused):
                verb(far.account(), ref)
        with pytest.raises(Refused):
            PAYPAL.refund(far.account(), ref, 1, "row", "key")
    assert far.asked == []


def test_t112_a_client_id_of_another_form_is_refused_and_nothing_is_shown() -> None:
    for client_id in ("", "canary of nobody", "a:b", "x\r\ny"):
        with pytest.raises(Refused) as told:
            start(account(None, client_id=client_id))
        assert told.value.code == "authentication_failed"
        assert "canary" not in f"{told.value!r}"
    with pytest.raises(Refused):
        start(account(None, secret_key=Secret("")))


def test_a_token_that_is_none_and_a_secret_that_is_wrong_are_told_apart() -> None:
    class Tokens(PayPalAnswers):
        def respond(self, request: Any) -> Response:
            return self.script[0]

    with Tokens(json_response({"access_token": 1})) as far, pytest.raises((Busy, Unclear)):
        fetch(far.account())
    with Tokens(error(401)) as far, pytest.raises(Refused) as told:
        fetch(far.account())
    assert told.value.code == "authentication_failed"
    assert SECRET not in repr(told.value)


def test_a_refund_that_was_made_is_found_whatever_its_key_was() -> None:
    made = {"id": "REF1", "status": "COMPLETED", "amount": money("5.00"), "custom_id": "row_1"}
    known = capture(supplementary_data={"related_ids": {"order_id": "ORDER1"}})
    paid = order("COMPLETED", capture(), refunds=[made])
    with PayPalAnswers(json_response(known), json_response(paid)) as far:
        seen = PAYPAL.refund(far.account(), "CAPTURE1", 500, "row_1", "another key")
    assert (seen.ref, seen.state, [one.method for one in far.asked]) == ("REF1", "done", ["GET", "GET"])


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([error(500)], "Busy"),
        ([json_response(capture()), error(500)], "Unclear"),
        ([json_response(capture()), error(422, "REFUND_AMOUNT_EXCEEDED")], "refund_amount_exceeded"),
        ([json_response(capture(amount=money("5", "ISK")))], "currency_not_supported"),
    ],
)
def test_of_a_refund_it_is_known_whether_it_may_have_been_made(script: list[Response], told: str) -> None:
    assert trouble(give_back, *script)[0] == told
