"""Idempotency keys, and requests that go wrong, by the unmodified SDK with its own retries."""

from __future__ import annotations

import threading
from typing import Any

import httpx2
import pytest
import stripe

from tests.sandbox.stripe.conftest import Create, asked
from tests.support.process import until
from tests.support.stripe_control import KEY, StripeControl, StripeSandbox

CREATE = "POST /v1/checkout/sessions"
KEYED = {"idempotency_key": "ef:1:start:1"}
DAY = 86_400


def raw(double: StripeSandbox, key: str) -> httpx2.Response:
    """A session asked for without the SDK."""
    form = {"mode": "setup", "currency": "eur", "success_url": "http://127.0.0.1:9/"}
    headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": key}
    return httpx2.post(f"{double.url}/v1/checkout/sessions", data=form, headers=headers)


def retrying(double: StripeSandbox, tries: int = 2) -> Any:
    return double.client(max_network_retries=tries).v1.checkout.sessions


def count(control: StripeControl) -> int:
    return len(control.state()["sessions"])


def test_the_same_key_and_parameters_give_the_same_answer(double: StripeSandbox, control: StripeControl) -> None:
    first, second = raw(double, "k"), raw(double, "k")
    assert (second.status_code, second.text) == (200, first.text)
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert count(control) == 1
    assert [one["replayed"] for one in control.requests(CREATE)] == [False, True]


def test_the_same_key_with_other_parameters_is_refused(create: Create, control: StripeControl) -> None:
    create(KEYED)
    with pytest.raises(stripe.IdempotencyError) as refusal:
        create(KEYED, client_reference_id="pay_2")
    assert refusal.value.http_status == 400
    assert count(control) == 1


def test_a_key_is_forgotten_after_a_day(create: Create, control: StripeControl) -> None:
    first = create(KEYED, success_url="http://127.0.0.1:9/a")
    control.forward(DAY + 1)
    assert create(KEYED, success_url="http://127.0.0.1:9/a").id != first.id


def test_a_refused_request_leaves_its_key_free(create: Create) -> None:
    with pytest.raises(stripe.InvalidRequestError):
        create(KEYED, bogus=1)
    assert create(KEYED).status == "open"


def test_a_key_in_use_is_a_conflict(double: StripeSandbox, control: StripeControl) -> None:
    control.fault("hang", on=CREATE, hang=30)
    answers: list[int] = []
    slow = threading.Thread(target=lambda: answers.append(raw(double, "busy").status_code))
    slow.start()
    until(lambda: count(control), "the slow request has made its session")
    quick = raw(double, "busy")
    assert (quick.status_code, quick.json()["error"]["code"]) == (409, "idempotency_key_in_use")
    control.calm()
    slow.join(10)
    assert answers == [200]
    assert raw(double, "busy").headers["Idempotent-Replayed"] == "true"
    assert count(control) == 1


def test_of_many_at_once_with_one_key_one_session_comes(double: StripeSandbox, control: StripeControl) -> None:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(raw(double, "many").status_code)) for _ in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(20)
    assert set(answers) <= {200, 409}
    assert 200 in answers
    assert count(control) == 1


def test_a_lost_reply_is_fetched_by_the_retry_and_made_once(double: StripeSandbox, control: StripeControl) -> None:
    control.fault("lose_reply", on=CREATE)
    session = retrying(double).create(asked())
    assert count(control) == 1
    assert control.state()["sessions"][0]["id"] == session.id
    assert [one["fault"] for one in control.requests(CREATE)] == ["lose_reply", None]


def test_without_a_retry_a_lost_reply_is_a_connection_error(create: Create, control: StripeControl) -> None:
    control.fault("lose_reply", on=CREATE)
    with pytest.raises(stripe.APIConnectionError):
        create()
    assert count(control) == 1


def test_a_lost_request_makes_nothing(create: Create, control: StripeControl) -> None:
    control.fault("lose_request", on=CREATE)
    with pytest.raises(stripe.APIConnectionError):
        create(KEYED)
    assert count(control) == 0
    assert create(KEYED).status == "open"


@pytest.mark.parametrize("fault", ["hang", "late_reply"])
def test_a_slow_answer_runs_into_the_callers_patience(
    double: StripeSandbox, control: StripeControl, fault: str
) -> None:
    control.fault(fault, on=CREATE, hang=30)
    client = double.client(http_client=stripe.RequestsClient(timeout=(1, 0.3)))
    with pytest.raises(stripe.APIConnectionError):
        client.v1.checkout.sessions.create(asked(), KEYED)
    if fault == "late_reply":
        assert client.v1.checkout.sessions.create(asked(), KEYED).status == "open"
    control.calm()
    assert count(control) == 1


def test_a_stored_500_comes_again_until_the_key_is_another(create: Create, control: StripeControl) -> None:
    control.fault("500", on=CREATE)
    for _ in range(3):
        with pytest.raises(stripe.APIError) as failure:
            create(KEYED)
        assert failure.value.http_status == 500
    assert failure.value.headers["Idempotent-Replayed"] == "true"
    assert count(control) == 0
    assert create({"idempotency_key": "ef:1:start:2"}).status == "open"


def test_a_500_may_hide_that_it_was_done(create: Create, control: StripeControl) -> None:
    control.fault("500_executed", on=CREATE)
    for _ in range(2):
        with pytest.raises(stripe.APIError):
            create(KEYED)
    assert count(control) == 1


def test_a_503_is_not_kept_and_the_retry_succeeds(double: StripeSandbox, control: StripeControl) -> None:
    control.fault("503", on=CREATE)
    assert retrying(double).create(asked()).status == "open"
    assert [one["status"] for one in control.requests(CREATE)] == [503, 200]


def test_a_429_is_retried_only_when_the_header_says_so(double: StripeSandbox, control: StripeControl) -> None:
    control.fault("429", on=CREATE)
    with pytest.raises(stripe.RateLimitError):
        retrying(double).create(asked())
    control.fault("should_retry", on=CREATE)
    assert retrying(double).create(asked()).status == "open"
    control.fault("should_not_retry", on=CREATE)
    with pytest.raises(stripe.APIError):
        retrying(double).create(asked())
    assert [one["status"] for one in control.requests(CREATE)] == [429, 429, 200, 500]


def test_a_fault_is_for_its_own_call_and_as_often_as_said(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    control.fault("503", on="GET /v1/checkout/sessions/*", times=2)
    session = create()
    for _ in range(2):
        with pytest.raises(stripe.APIError):
            client.v1.checkout.sessions.retrieve(session.id)
    assert client.v1.checkout.sessions.retrieve(session.id).status == "open"
