"""Payments, refunds and entitlements as agents see them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx2
import pytest

from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock
from elicit_flows.models import Entitlement, EntitlementUse, Payment, PaymentAccount, Refund
from tests.api.described import Described
from tests.support import money, rows
from tests.support.rows import Known
from tests.support.serving import Served


@pytest.fixture
def account(served: Served) -> PaymentAccount:
    return money.account()


@pytest.fixture
def paid(known: Known, account: PaymentAccount) -> Payment:
    """19.99 EUR."""
    return money.payment(known, account)


def keyed(key: str) -> dict[str, str]:
    return {"idempotency-key": key}


def ask(api: httpx2.Client, payment: Payment, body: object = None, **headers: str) -> httpx2.Response:
    return api.post(f"/v1/payments/{payment.pk}/refunds", json=body, headers=headers)


def test_a_payment_says_how_it_stands_and_names_nothing_of_the_provider(
    api: httpx2.Client, paid: Payment, described: Described
) -> None:
    answer = api.get(f"/v1/payments/{paid.pk}")
    described.check(answer)
    body = answer.json()
    assert (body["amount"], body["currency"], body["status"], body["amount_refunded"]) == (1999, "eur", "paid", 0)
    assert body["subject"] == {"iss": rows.ISSUER, "sub": "alice"}
    assert body["receipt_url"] == "https://pay.example.com/receipt"
    assert paid.payment_ref not in answer.text
    assert money.KEY not in answer.text


@pytest.mark.parametrize(
    ("status", "refunded", "said"),
    [("open", 0, "open"), ("processing", 0, "processing"), ("mismatch", 0, "mismatch"), ("closed", 0, "closed"),
     ("paid", 1998, "paid"), ("paid", 1999, "refunded")],
)  # fmt: skip
def test_a_payment_is_refunded_once_everything_went_back(
    api: httpx2.Client,
    known: Known,
    account: PaymentAccount,
    described: Described,
    status: str,
    refunded: int,
    said: str,
) -> None:
    row = money.payment(known, account, status=status, refunded=refunded)
    answer = api.get(f"/v1/payments/{row.pk}")
    described.check(answer)
    assert (answer.json()["status"], answer.json()["amount_refunded"]) == (said, refunded)


@pytest.mark.parametrize("body", [None, {}, {"amount": None, "reason": None}, {"reason": "Sorry."}])
def test_a_refund_without_an_amount_gives_back_what_is_left(
    api: httpx2.Client, paid: Payment, described: Described, body: object
) -> None:
    assert ask(api, paid, {"amount": 500}).json()["amount"] == 500
    answer = ask(api, paid, body)
    described.check(answer)
    assert (answer.status_code, answer.json()["amount"], answer.json()["status"]) == (201, 1499, "pending")
    row = Refund.objects.get(pk=answer.json()["id"])
    assert (row.by, row.payment_ref, row.try_at is not None) == ("agent", paid.payment_ref, True)
    nothing = ask(api, paid, body)
    assert (nothing.status_code, nothing.json()["code"]) == (409, "conflict")


@pytest.mark.parametrize(
    "body",
    [{"amount": 0}, {"amount": -1}, {"amount": 2000}, {"amount": 19.99}, {"amount": 1999.0}, {"amount": "1999"},
     {"amount": True}, {"reason": "x" * 501}, {"currency": "eur"}, {"amount": 10**19}],
)  # fmt: skip
def test_a_refund_of_another_shape_or_of_more_than_was_paid_is_refused(
    api: httpx2.Client, paid: Payment, body: object
) -> None:
    answer = ask(api, paid, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert answer.json()["errors"][0]["loc"] in (["amount"], ["reason"], ["currency"])
    assert not Refund.objects.exists()


@pytest.mark.parametrize("status", ["open", "processing", "saved"])
def test_what_did_not_come_cannot_go_back(
    api: httpx2.Client, known: Known, account: PaymentAccount, status: str
) -> None:
    row = money.payment(known, account, status=status)
    assert ask(api, row).status_code == 409
    assert not Refund.objects.exists()


def test_t67_a_refund_that_is_asked_for_again_with_its_key_is_the_same(api: httpx2.Client, paid: Payment) -> None:
    first = ask(api, paid, {"amount": 500}, **keyed("k"))
    again = ask(api, paid, {"amount": 500}, **keyed("k"))
    assert (first.status_code, again.status_code) == (201, 200)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json() == first.json()
    for body in ({"amount": 501}, {"amount": 500, "reason": "The second ticket"}, None):
        other = ask(api, paid, body, **keyed("k"))
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert ask(api, paid, {"amount": 500}, **keyed("l")).status_code == 201
    assert Refund.objects.count() == 2


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb"])
def test_t67_the_key_of_a_refund_is_visible_ascii(api: httpx2.Client, paid: Payment, key: str) -> None:
    assert ask(api, paid, None, **keyed(key)).json()["code"] == "bad_request"


def at_once(url: str, known: Known, path: str, bodies: list[object], headers: dict[str, str]) -> list[httpx2.Response]:
    start = threading.Barrier(len(bodies))

    def one(body: object) -> httpx2.Response:
        with known.client(url) as api:
            start.wait(20)
            return api.post(path, json=body, headers=headers)

    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(one, bodies))


def given_back_once(url: str, known: Known) -> None:
    paid = money.payment(known, money.account())
    path = f"/v1/payments/{paid.pk}/refunds"
    same = at_once(url, known, path, [{"amount": 1000}] * 10, keyed("k"))
    assert sorted(answer.status_code for answer in same) == [200] * 9 + [201]
    assert len({answer.json()["id"] for answer in same}) == 1
    rest = at_once(url, known, path, [{"amount": 600}] * 10, {})
    assert sorted(answer.status_code for answer in rest) == [201] + [422] * 9
    assert sum(Refund.objects.values_list("amount", flat=True)) == 1600


def test_refunds_asked_for_at_once_never_exceed_the_payment(served: Served, known: Known) -> None:
    given_back_once(served.url, known)


def test_refunds_asked_for_at_once_never_exceed_the_payment_on_postgres(
    on_postgres: str, serve: Callable[..., Served]
) -> None:
    given_back_once(serve().url, rows.agent())


def test_refunds_are_listed_newest_first_in_pages(
    api: httpx2.Client, known: Known, paid: Payment, stranger: httpx2.Client
) -> None:
    ask(api, money.payment(known, paid.account), {"amount": 1})
    made = [ask(api, paid, {"amount": 1}).json()["id"] for _ in range(5)]
    path, seen, cursor = f"/v1/payments/{paid.pk}/refunds", [], ""
    while cursor is not None:
        page = api.get(path, params={"limit": 2, "cursor": cursor}).json()
        seen += [one["id"] for one in page["data"]]
        cursor = page["next_cursor"]
    assert seen == made[::-1]
    assert api.get(path, params={"limit": 101}).status_code == 422
    assert stranger.get(path).status_code == 404


@pytest.mark.parametrize(
    ("query", "expected"),
    [({}, "abc"), ({"sub": "alice"}, "ab"), ({"sub": "Alice"}, ""), ({"iss": rows.ISSUER + "/"}, ""),
     ({"item": "report"}, "ac"), ({"item": "report", "sub": "bob"}, "c"), ({"item": "REPORT"}, "")],
)  # fmt: skip
def test_entitlements_are_found_letter_by_letter(
    api: httpx2.Client, known: Known, account: PaymentAccount, query: dict[str, str], expected: str
) -> None:
    names = {}
    for name, sub, item in (("a", "alice", "report"), ("b", "alice", "film"), ("c", "bob", "report")):
        paid = money.payment(known, account, Claim(rows.ISSUER, sub))
        names[money.entitlement(paid, item=item).pk] = name
    found = api.get("/v1/entitlements", params=query).json()["data"]
    assert sorted(names[one["id"]] for one in found) == list(expected)


def test_entitlements_come_in_pages_under_the_agents_own_cursor(
    api: httpx2.Client, known: Known, account: PaymentAccount, stranger: httpx2.Client
) -> None:
    made = [money.entitlement(money.payment(known, account)).pk for _ in range(3)]
    first = api.get("/v1/entitlements", params={"limit": 2}).json()
    rest = api.get("/v1/entitlements", params={"cursor": first["next_cursor"]}).json()
    assert [one["id"] for one in first["data"] + rest["data"]] == made[::-1]
    assert rest["next_cursor"] is None
    lent = stranger.get("/v1/entitlements", params={"cursor": first["next_cursor"]})
    assert (lent.status_code, lent.json()["code"]) == (400, "bad_cursor")


def test_a_use_counts_once_under_its_key_until_none_is_left(api: httpx2.Client, paid: Payment) -> None:
    granted = money.entitlement(paid, uses_left=2)
    path = f"/v1/entitlements/{granted.pk}/consume"
    left = [api.post(path, json={"key": key}).json()["uses_left"] for key in ("a", "a", "b", "a")]
    assert left == [1, 1, 0, 0]
    over = api.post(path, json={"key": "c"})
    assert (over.status_code, over.json()["code"]) == (409, "conflict")
    assert api.post(path, json={"key": "b"}).status_code == 200, "it was used under this key before"
    assert EntitlementUse.objects.count() == 2


@pytest.mark.parametrize(
    "change",
    [{"status": "suspended"}, {"status": "revoked"}, {"status": "ended"}, {"uses_left": 0}, {"valid_until": -1}],
)
def test_what_is_over_says_so_and_cannot_be_used(
    api: httpx2.Client, paid: Payment, described: Described, change: dict[str, object]
) -> None:
    granted = money.entitlement(paid)
    if "valid_until" in change:
        change = {"valid_until": clock.now() - timedelta(seconds=1)}
    Entitlement.objects.update(**change)
    answer = api.get("/v1/entitlements")
    described.check(answer)
    assert [one["usable"] for one in answer.json()["data"]] == [False]
    assert api.post(f"/v1/entitlements/{granted.pk}/consume", json={"key": "k"}).status_code == 409
    assert not EntitlementUse.objects.exists()


@pytest.mark.parametrize("body", [None, {}, {"key": ""}, {"key": "k" * 256}, {"key": 1}, {"key": "k", "uses": 2}])
def test_a_use_needs_a_key(api: httpx2.Client, paid: Payment, body: object) -> None:
    granted = money.entitlement(paid)
    answer = api.post(f"/v1/entitlements/{granted.pk}/consume", json=body)
    assert answer.status_code in {400, 415, 422}
    assert not EntitlementUse.objects.exists()


def used_exactly(url: str, known: Known) -> None:
    granted = money.entitlement(money.payment(known, money.account()), uses_left=3)
    path = f"/v1/entitlements/{granted.pk}/consume"
    answers = at_once(url, known, path, [{"key": f"key-{number % 5}"} for number in range(20)], {})
    assert {answer.status_code for answer in answers} == {200, 409}
    assert (Entitlement.objects.get().uses_left, EntitlementUse.objects.count()) == (0, 3)


def test_of_many_uses_at_once_as_many_count_as_were_paid_for(served: Served, known: Known) -> None:
    used_exactly(served.url, known)


def test_of_many_uses_at_once_as_many_count_as_were_paid_for_on_postgres(
    on_postgres: str, serve: Callable[..., Served]
) -> None:
    used_exactly(serve().url, rows.agent())
