"""T62, T63: an object of another agent is answered byte for byte like one that does not exist."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
import pytest
from django.urls import get_resolver

from elicit_flows.api.openapi_proxied import PATH
from elicit_flows.lib import ids
from elicit_flows.models import (
    Agent,
    Authorization,
    Connection,
    Delivery,
    Elicitation,
    Entitlement,
    EntitlementUse,
    Event,
    Mandate,
    Payment,
    Provider,
    Refund,
    Renewal,
    Subscription,
)
from tests.api.described import Described
from tests.support import money, rows
from tests.support.rows import Known, question

PREFIX = {
    "elicitation_id": "el", "connection_id": "cn", "delivery_id": "dl", "payment_id": "pa", "entitlement_id": "en",
    "mandate_id": "ma", "subscription_id": "su", "authorization_id": "xa",
}  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE")
BODIES: tuple[object, ...] = (None, {"min_ttl": 0}, {"amount": 1}, {"key": "k"}, {"unknown": 1})
# What the contract offers but is not there yet belongs to the same rule, so it is asked for as well.
FURTHER = ("/v1/elicitations/{elicitation_id}/draft", "/v1/connections/{connection_id}/secret")


@pytest.fixture
def owned(api: httpx2.Client, known: Known, drive_row: Provider) -> dict[str, str]:
    """One thing of each sort, of the first agent."""
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks")
    asked = api.post("/v1/elicitations", json=question()).json()["id"]
    held = rows.connection(known, drive_row)
    sent = Delivery.objects.get(event__elicitation=asked)
    paid, allowed = money.payment(known, money.account()), money.mandate(known, money.account(slug="later"))
    return {
        "elicitation_id": asked, "connection_id": held.pk, "delivery_id": sent.pk, "payment_id": paid.pk,
        "entitlement_id": money.entitlement(paid).pk, "mandate_id": allowed.pk,
        "subscription_id": money.subscription(known, paid.account).pk,
        "authorization_id": money.authorization(known, money.wallet()).pk,
    }  # fmt: skip


def everything() -> list[object]:
    """All that the agents own, as it stands in the database."""
    models = (
        *(Elicitation, Connection, Delivery, Event, Payment, Refund, Entitlement, EntitlementUse, Mandate),
        *(Subscription, Renewal, Authorization),
    )
    return [list(model._default_manager.order_by("pk").values()) for model in models]


OF_EACH = {"date", "server", "x-request-id", "ratelimit-remaining", "ratelimit-reset"}  # another with every answer


def said(response: httpx2.Response) -> tuple[object, ...]:
    headers = {name: value for name, value in response.headers.items() if name not in OF_EACH}
    return response.status_code, headers, response.content


@pytest.mark.slow
def test_t62_whatever_is_done_to_a_foreign_thing_answers_as_if_there_were_none(
    stranger: httpx2.Client, owned: dict[str, str], described: Described
) -> None:
    before = everything()
    templates = sorted({path for _, path in described.calls() if "{" in path} | set(FURTHER))
    tried = 0
    for template in templates:
        name = re.findall(r"{(\w+)}", template)[0]
        for method in METHODS:
            for body in BODIES:
                for query in ("", "wait=1&after_seq=0"):
                    asked = [
                        said(stranger.request(method, template.replace(f"{{{name}}}", one), json=body, params=query))
                        for one in (owned[name], ids.name(PREFIX[name]))
                    ]
                    assert asked[0] == asked[1], f"{method} {template} tells them apart"
                    offered = (method, template) in described.calls()
                    assert asked[0][0] in ({404, 422} if offered else {404, 405}), (method, template, asked[0])
                    tried += 1
    assert tried > 300
    assert everything() == before, "and nothing was changed"


def test_t62_a_foreign_id_is_neither_listed_nor_findable(stranger: httpx2.Client, owned: dict[str, str]) -> None:
    subject = {"iss": rows.ISSUER, "sub": "alice"}
    for path, query in (
        ("/v1/elicitations", subject), ("/v1/elicitations", {"status": "pending"}), ("/v1/connections", subject),
        ("/v1/connections", {"provider": "drive"}), ("/v1/webhooks/deliveries", {"status": "pending"}),
        ("/v1/events", {}), ("/v1/entitlements", subject), ("/v1/entitlements", {"item": "report"}),
        ("/v1/payments", subject), ("/v1/payments", {"elicitation": owned["elicitation_id"]}),
        ("/v1/subscriptions", subject), ("/v1/subscriptions", {"status": "active"}),
    ):  # fmt: skip
        assert stranger.get(path, params=query).json()["data"] == [], path


def test_t62_the_same_key_of_another_agent_is_another_request(api: httpx2.Client, stranger: httpx2.Client) -> None:
    headers = {"idempotency-key": "the same"}
    mine = api.post("/v1/elicitations", json=question(), headers=headers)
    theirs = stranger.post("/v1/elicitations", json=question(message="Another body."), headers=headers)
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.json()["id"] != theirs.json()["id"]


def test_t62_another_agents_connection_answers_no_question(
    api: httpx2.Client, stranger: httpx2.Client, owned: dict[str, str]
) -> None:
    assert api.post("/v1/elicitations", json=question()).json()["reused"] is True
    assert stranger.post("/v1/elicitations", json=question()).json()["status"] == "pending"


def test_t63_two_agents_with_many_events_see_their_own_alone(
    api: httpx2.Client, stranger: httpx2.Client, described: Described
) -> None:
    mine: set[str] = set()
    theirs: set[str] = set()
    for number in range(60):
        agent, own = ((api, mine), (stranger, theirs))[number % 2]
        own.add(agent.post("/v1/elicitations", json=question()).json()["id"])
    for agent, own in ((api, mine), (stranger, theirs)):
        seen, cursor = set(), ""
        while page := agent.get("/v1/events", params={"after": cursor, "limit": 7}).json():
            cursor = page["cursor"]
            seen |= {event["elicitation"] for event in page["data"]}
            if not page["data"]:
                break
        assert seen == own
        assert {one["id"] for one in agent.get("/v1/elicitations", params={"limit": 100}).json()["data"]} == own


@pytest.mark.parametrize("waiting", [{}, {"wait": "1"}], ids=["list", "wait"])
def test_t63_a_cursor_that_was_changed_or_belongs_to_another_agent_is_refused(
    api: httpx2.Client, stranger: httpx2.Client, waiting: dict[str, str]
) -> None:
    api.post("/v1/elicitations", json=question())
    good = api.get("/v1/events").json()["cursor"]
    position, _, signature = good.partition(".")
    changed = [
        f"{int(position) + 1}.{signature}", f"0.{signature}", position, f".{signature}", f"{position}.", "0", "-1",
        good.swapcase(), good + "A", good[:-1], "é", f"{good}\n", "x" * 3000,
    ]  # fmt: skip
    for cursor in changed:
        answer = api.get("/v1/events", params={"after": cursor, **waiting})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), cursor
    answer = stranger.get("/v1/events", params={"after": good, **waiting})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor")
    stream = {"accept": "text/event-stream", "last-event-id": good}
    assert stranger.get("/v1/events", headers=stream).status_code == 400


@pytest.mark.parametrize("path", ["/v1/elicitations", "/v1/webhooks/deliveries"])
def test_t63_a_lists_cursor_cannot_be_changed_or_lent(
    api: httpx2.Client, known: Known, stranger: httpx2.Client, path: str
) -> None:
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks")
    for _ in range(3):
        api.post("/v1/elicitations", json=question())
    good = api.get(path, params={"limit": 1}).json()["next_cursor"]
    assert api.get(path, params={"cursor": good}).status_code == 200
    place, star, signature = good.partition("*")
    for agent, cursor in ((stranger, good), (api, place), (api, f"2030{place[4:]}{star}{signature}")):
        answer = agent.get(path, params={"cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor")


def test_t62_every_address_of_the_api_is_in_the_matrix(described: Described) -> None:
    """An address with an id that the description leaves out would be left out of the matrix too."""
    patterns = [pattern for pattern in get_resolver().url_patterns if str(pattern.pattern) == "v1/"]
    found = {f"/v1/{one.pattern}" for pattern in patterns for one in getattr(pattern, "url_patterns", ())}
    with_ids = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path) for path in found if "<" in path}
    assert with_ids | {PATH} == {path for _, path in described.calls() if "{" in path}


def test_t62_the_stranger_is_no_stranger_to_their_own(
    new_client: Callable[..., httpx2.Client], drive_row: Provider
) -> None:
    """The requests of the matrix are correct: the owner of each object gets an answer."""
    owner = rows.agent()
    api = new_client(owner)
    asked = api.post("/v1/elicitations", json=question()).json()["id"]
    held = rows.connection(owner, drive_row).pk
    assert api.get(f"/v1/elicitations/{asked}", params={"wait": 0}).status_code == 200
    api.post(f"/v1/elicitations/{asked}/cancel")
    assert api.post(f"/v1/elicitations/{asked}/consume").status_code == 200
    assert api.post(f"/v1/connections/{held}/token", json={"min_ttl": 0}).status_code == 200
    paid = money.payment(owner, money.account())
    assert api.get(f"/v1/payments/{paid.pk}").status_code == 200
    assert api.get(f"/v1/payments/{paid.pk}/refunds").status_code == 200
    assert api.post(f"/v1/payments/{paid.pk}/refunds", json={"amount": 1}).status_code == 201
    granted = money.entitlement(paid)
    assert api.post(f"/v1/entitlements/{granted.pk}/consume", json={"key": "k"}).status_code == 200
