"""Every list of the API comes in pages, with each row exactly once, while rows are added."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Payment, Provider, Refund
from tests.api.described import Described
from tests.support import money, rows
from tests.support.rows import Known, question

Maker = Callable[[], str]
LIMIT = 3
FEED = "/v1/events"  # has no end, so its cursor is always there


@pytest.fixture
def makers(api: httpx2.Client, known: Known, drive_row: Provider) -> dict[str, tuple[str, Maker]]:
    """For each list, by its path as it is described: where it is, and how one more row comes to be."""
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks")
    account = money.account()
    one = money.payment(known, account)
    numbers = iter(range(10_000))

    def asked() -> str:
        return str(api.post("/v1/elicitations", json=question(reuse="never")).json()["id"])

    def sent() -> str:
        asked()
        return str(api.get("/v1/webhooks/deliveries", params={"limit": 1}).json()["data"][0]["id"])

    def connected() -> str:
        return rows.connection(known, drive_row, rows.grant(account=f"a-{next(numbers)}")).pk

    def refunded() -> str:
        return str(api.post(f"/v1/payments/{one.pk}/refunds", json={"amount": 1}).json()["id"])

    allowed = money.mandate(known, money.account(slug="later", allow_mandates=True))

    going, wallet = money.subscription(known, allowed.account), money.wallet()

    def charged() -> str:
        return money.charge(allowed, str(next(numbers))).pk

    def granted() -> str:
        return money.entitlement(money.payment(known, account)).pk

    return {
        "/v1/elicitations": ("/v1/elicitations", asked),
        "/v1/connections": ("/v1/connections", connected),
        "/v1/payments": ("/v1/payments", lambda: money.payment(known, account).pk),
        "/v1/payments/{payment_id}/refunds": (f"/v1/payments/{one.pk}/refunds", refunded),
        "/v1/mandates": ("/v1/mandates", lambda: money.mandate(known, allowed.account).pk),
        "/v1/mandates/{mandate_id}/charges": (f"/v1/mandates/{allowed.pk}/charges", charged),
        "/v1/subscriptions": ("/v1/subscriptions", lambda: money.subscription(known, account).pk),
        "/v1/subscriptions/{subscription_id}/renewals": (
            f"/v1/subscriptions/{going.pk}/renewals",
            lambda: money.renewal(going).pk,
        ),
        "/v1/authorizations": ("/v1/authorizations", lambda: money.authorization(known, wallet).pk),
        "/v1/entitlements": ("/v1/entitlements", granted),
        "/v1/webhooks/deliveries": ("/v1/webhooks/deliveries", sent),
    }


def lists(described: Described) -> set[str]:
    """The paths of all calls that answer with ``data``."""
    found = set()
    for path, item in described.root["paths"].items():
        content = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        named = content.get("application/json", {}).get("schema", {}).get("$ref", "").rpartition("/")[2]
        if "data" in described.root["components"]["schemas"].get(named, {}).get("properties", {}):
            found.add(path)
    return found


def test_every_list_takes_a_limit_and_says_how_it_goes_on(
    makers: dict[str, tuple[str, Maker]], described: Described
) -> None:
    assert lists(described) == makers.keys() | {FEED}
    for path in lists(described):
        names = {one["name"] for one in described.root["paths"][path]["get"]["parameters"]}
        assert names >= ({"limit", "after"} if path == FEED else {"limit", "cursor"}), path


@pytest.mark.slow
def test_a_walk_through_any_list_finds_each_row_once_while_others_are_added(
    api: httpx2.Client, makers: dict[str, tuple[str, Maker]], described: Described
) -> None:
    for path, make in makers.values():
        made = [make() for _ in range(3 * LIMIT + 1)]
        there = [one["id"] for one in api.get(path, params={"limit": 100}).json()["data"]]
        assert there[: len(made)] == made[::-1], f"{path}: newest first"
        seen, added, cursor = [], [], ""
        while cursor is not None:
            page = api.get(path, params={"limit": LIMIT, "cursor": cursor})
            described.check(page)
            assert len(page.json()["data"]) == LIMIT or page.json()["next_cursor"] is None
            seen += [one["id"] for one in page.json()["data"]]
            cursor = page.json()["next_cursor"]
            added.append(make())
        assert seen == there, path
        assert len(added) > 3


def test_nor_is_one_skipped_where_many_were_made_at_the_same_moment(
    api: httpx2.Client, makers: dict[str, tuple[str, Maker]]
) -> None:
    moment = clock.now() - timedelta(hours=1)
    for path, model in (("/v1/connections", Connection), ("/v1/payments", Payment)):
        for _ in range(10):
            makers[path][1]()
        model._default_manager.update(created_at=moment)
        whole = [one["id"] for one in api.get(path, params={"limit": 100}).json()["data"]]
        assert walked(api, path, LIMIT) == whole
        assert len({*whole}) >= 10


def test_a_list_of_more_than_a_thousand_has_no_silent_end(
    api: httpx2.Client, known: Known, drive_row: Provider
) -> None:
    """A list of 1,006 connections once had only 1,000."""
    many = [
        Connection(agent=known.row, provider=drive_row, iss=rows.ISSUER, sub=f"user-{n}", access_token="x")
        for n in range(1006)
    ]
    Connection.objects.bulk_create(many)
    assert sorted(walked(api, "/v1/connections", 100)) == sorted(row.pk for row in many)


def test_rows_that_leave_a_filter_meanwhile_take_no_other_with_them(
    api: httpx2.Client, makers: dict[str, tuple[str, Maker]]
) -> None:
    made = [makers["/v1/elicitations"][1]() for _ in range(9)][::-1]
    query: dict[str, Any] = {"status": "pending", "limit": 3}
    first = api.get("/v1/elicitations", params=query).json()
    for gone in (made[0], made[2], made[4]):
        api.post(f"/v1/elicitations/{gone}/cancel")
    second = api.get("/v1/elicitations", params=query | {"cursor": first["next_cursor"]}).json()
    assert [one["id"] for one in second["data"]] == [made[3], made[5], made[6]]


def test_t63_a_cursor_is_good_for_the_filters_of_its_page_alone(
    api: httpx2.Client, makers: dict[str, tuple[str, Maker]], known: Known
) -> None:
    other, refunds = money.payment(known, money.account("other")), makers["/v1/payments/{payment_id}/refunds"][0]
    for _ in range(3):
        for _, make in makers.values():
            make()
    cursors = {}
    for path, _ in makers.values():
        cursors[path] = api.get(path, params={"limit": 1}).json()["next_cursor"]
        assert "~" not in cursors[path]
        assert "2026" not in cursors[path], "it is opaque"
        assert api.get(path, params={"limit": 7, "cursor": cursors[path]}).status_code == 200, "the limit may change"
    for path in cursors:
        for whose, cursor in cursors.items():
            answer = api.get(path, params={"cursor": cursor})
            assert answer.status_code == (200 if path == whose else 400), (path, whose)
    answer = api.get(f"/v1/payments/{other.pk}/refunds", params={"cursor": cursors[refunds]})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor")
    for path, narrower in (
        ("/v1/elicitations", {"sub": "alice"}), ("/v1/connections", {"status": "active"}),
        ("/v1/payments", {"mode": "pay"}), ("/v1/entitlements", {"item": "report"}),
        ("/v1/webhooks/deliveries", {"status": "pending"}),
    ):  # fmt: skip
        answer = api.get(path, params={"cursor": cursors[path], **narrower})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), path
        assert "other filters" in answer.json()["detail"]
        narrow = api.get(path, params={"limit": 1, **narrower}).json()["next_cursor"]
        assert api.get(path, params={"cursor": narrow, **narrower}).status_code == 200
        assert api.get(path, params={"cursor": narrow}).status_code == 400, "nor without them"


def test_the_feed_is_walked_in_order_while_events_come(
    api: httpx2.Client, makers: dict[str, tuple[str, Maker]]
) -> None:
    ask = makers["/v1/elicitations"][1]
    made, seen, cursor = [ask() for _ in range(7)], [], ""
    for _ in range(10):
        page = api.get(FEED, params={"after": cursor, "limit": LIMIT}).json()
        seen += [one["elicitation"] for one in page["data"]]
        cursor = page["cursor"]
        if len(made) < 12:
            made.append(ask())
    assert seen == made


def test_one_connection_is_looked_at_without_a_list(
    api: httpx2.Client, known: Known, drive_row: Provider, described: Described
) -> None:
    held = rows.connection(known, drive_row)
    answer = api.get(f"/v1/connections/{held.pk}")
    described.check(answer)
    assert answer.json() == api.get("/v1/connections").json()["data"][0]
    api.delete(f"/v1/connections/{held.pk}")
    assert api.get(f"/v1/connections/{held.pk}").json()["status"] == "revoked"
    held.refresh_from_db()
    assert held.last_used_at is None, "looking is no use of it"


def test_refunds_are_walked_too(api: httpx2.Client, makers: dict[str, tuple[str, Maker]]) -> None:
    path, make = makers["/v1/payments/{payment_id}/refunds"]
    made = [make() for _ in range(5)]
    assert walked(api, path, 2) == made[::-1]
    assert Refund.objects.count() == 5


def walked(api: httpx2.Client, path: str, limit: int) -> list[str]:
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = api.get(path, params={"limit": limit, "cursor": cursor}).json()
        found += [one["id"] for one in page["data"]]
        cursor = page["next_cursor"]
    return found
