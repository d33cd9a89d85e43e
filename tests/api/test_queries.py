"""Every call refuses parameters and members that it does not know."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from django.urls import get_resolver

from elicit_flows import kinds
from elicit_flows.api.openapi_proxied import PATH
from elicit_flows.api.schemas import Kind
from elicit_flows.elicitations.transitions import STEPS
from elicit_flows.models import Agent, Delivery, Payment, Provider
from tests.api.described import Described
from tests.api.test_foreign import everything
from tests.support import money, rows
from tests.support.rows import Known, question

STREAM = {"accept": "text/event-stream"}
BROUGHT = {"subject": {"iss": rows.ISSUER, "sub": "alice"}, "provider": "drive", "access_token": "at-1"}
# For the calls that need a body, one that is good.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/elicitations"): question(),
    ("PATCH", "/v1/elicitations/{elicitation_id}"): {"message": "In other words"},
    ("PATCH", "/v1/elicitations/{elicitation_id}/note"): {"note": {"at": "1"}},
    ("PUT", "/v1/elicitations/{elicitation_id}/draft/{question}"): {"answer": {"state": "draft", "value": "Atlas"}},
    ("POST", "/v1/connections"): BROUGHT,
    ("POST", "/v1/connections/{connection_id}/report"): {"status": 401},
    ("POST", "/v1/connections/{connection_id}/proof"): {"method": "GET", "url": "https://api.example.com/"},
    ("POST", "/v1/mandates/{mandate_id}/charges"): {"amount": 1, "description": "A ticket"},
    ("POST", "/v1/entitlements/{entitlement_id}/consume"): {"key": "k"},
}
FORM = {"questions": [{"id": "name", "kind": "text", "message": "Name?"}]}
TOKEN = ("POST", "/v1/token")


@pytest.fixture
def names(api: httpx2.Client, known: Known, drive_row: Provider) -> dict[str, str]:
    """One thing of each sort, by the name that it has in a path."""
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks", import_connections=True)
    asked = api.post("/v1/elicitations", json=question(kind="form", params=FORM)).json()["id"]
    held = rows.connection(known, drive_row)
    paid = money.payment(known, money.account())
    allowed = money.mandate(known, money.account(slug="later", allow_mandates=True))
    return {
        "elicitation_id": asked, "connection_id": held.pk, "payment_id": paid.pk, "question": "name",
        "delivery_id": Delivery.objects.get(event__elicitation=asked).pk, "protocol": "acp",
        "entitlement_id": money.entitlement(paid).pk, "mandate_id": allowed.pk, "charge_id": money.charge(allowed).pk,
        "subscription_id": money.subscription(known, paid.account).pk,
        "authorization_id": money.authorization(known, money.wallet()).pk,
    }  # fmt: skip


def sent(method: str, template: str, names: dict[str, str], query: Any) -> dict[str, Any]:
    body = BODIES.get((method, template))
    return {"method": method, "url": template.format(**names), "params": query, **({"json": body} if body else {})}


def known_to(described: Described, method: str, template: str) -> list[str]:
    parameters = described.root["paths"][template][method.lower()]["parameters"]
    return [one["name"] for one in parameters if one["in"] == "query"]


def test_t141_what_no_call_knows_is_refused_by_every_call_before_anything_is_done(
    api: httpx2.Client, names: dict[str, str], described: Described
) -> None:
    before = everything()
    for method, template in described.calls():
        if template == PATH:
            continue  # its query is for the provider's API
        answer = api.request(**sent(method, template, names, {"subject": "carol"}))
        if (method, template) == TOKEN:
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
            assert "query.subject: There is no parameter" in answer.json()["error_description"]
            continue
        assert answer.status_code == 422, f"{method} {template}: {answer.text}"
        [error] = answer.json()["errors"]
        assert error["loc"] == ["query", "subject"]
        assert answer.json()["detail"] == f"query.subject: {error['message']}"
        for name in known_to(described, method, template):
            assert name in error["message"], f"{method} {template} does not say what it knows"
    assert everything() == before


def test_t141_no_parameter_is_heard_twice(api: httpx2.Client, names: dict[str, str], described: Described) -> None:
    tried = 0
    for method, template in described.calls():
        for name in known_to(described, method, template):
            value = {"status": "pending", "kind": "form", "mode": "url"}.get(name, "1")
            value = (
                {
                    "/v1/connections": "active",
                    "/v1/payments": "paid",
                    "/v1/mandates": "active",
                    "/v1/subscriptions": "active",
                }.get(template, value)
                if name == "status"
                else value
            )
            value = "pay" if (template, name) == ("/v1/payments", "mode") else value
            answer = api.request(**sent(method, template, names, [(name, value), (name, value)]))
            assert answer.status_code == 422, f"{method} {template} {name}: {answer.text}"
            assert answer.json()["errors"] == [{"loc": ["query", name], "message": "Give this only once."}]
            tried += 1
    assert tried > 30


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/elicitations/{elicitation_id}?wait=1&after=1", {}), ("/v1/events?wait=1&type=x", {}),
        ("/v1/events?wait=x", {}), ("/v1/events?wait=-1", {}), ("/v1/elicitations/{elicitation_id}?wait=1.5", {}),
        ("/v1/events?limt=1", STREAM), ("/v1/events?wait=0&subject=carol", STREAM),
        ("/v1/elicitations/{elicitation_id}?wait=1&wait=1", {}), ("/v1/events?after=&after=", STREAM),
        ("/v1/events?wait=1&limit=1&limit=1", {}), ("/v1/events?%77ait=1&wait=1", {}),
    ],
)  # fmt: skip
def test_t141_nor_is_it_where_requests_wait(
    api: httpx2.Client, names: dict[str, str], path: str, headers: dict[str, str]
) -> None:
    answer = api.get(path.format(**names), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["loc"][0] == "query"


def test_t141_a_mistyped_filter_shows_nobodys_rows(api: httpx2.Client, names: dict[str, str]) -> None:
    """Once a mistyped filter was ignored, and the call returned every connection of every user."""
    for query in ({"user": "nobody"}, {"subject": "carol"}, {"Sub": "carol"}, {"sub ": "carol"}, {"sub[]": "carol"}):
        answer = api.get("/v1/connections", params=query)
        assert answer.status_code == 422, query
        assert names["connection_id"] not in answer.text
    assert api.get("/v1/connections", params={"sub": "carol"}).json()["data"] == []


def test_t141_a_name_that_is_too_long_is_not_said_back_whole(api: httpx2.Client) -> None:
    answer = api.get("/v1/connections", params={"x" * 3000: "1", **{f"y{n}": "" for n in range(50)}})
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == 20
    assert len(answer.content) < 5000


def test_t141_every_address_of_the_api_is_walked(described: Described) -> None:
    """The description has every address: one that it leaves out would be left out of these tests."""
    [v1] = [pattern for pattern in get_resolver().url_patterns if str(pattern.pattern) == "v1/"]
    addresses = {f"/v1/{one.pattern}" for one in getattr(v1, "url_patterns", ())}
    found = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", one) for one in addresses}
    assert found - {"/v1/openapi.json", "/v1/"} | {PATH} == {path for _, path in described.calls()}


def test_without_a_key_nothing_is_said_of_parameters(served_url: str, described: Described) -> None:
    for method, template in described.calls():
        path = re.sub(r"\{\w+\}", "x", template)
        answer = httpx2.request(method, f"{served_url}{path}", params={"subject": "carol"}, trust_env=False)
        assert answer.status_code == 401, (method, template)


@pytest.fixture
def served_url(api: httpx2.Client) -> str:
    return str(api.base_url).rstrip("/")


WRONG: list[tuple[str, dict[str, str]]] = [
    ("/v1/elicitations", {"status": "open"}), ("/v1/elicitations", {"kind": "Form"}), ("/v1/elicitations", {"iss": ""}),
    ("/v1/elicitations", {"sub": "x" * 256}), ("/v1/connections", {"status": "ok"}), ("/v1/connections", {"sub": ""}),
    ("/v1/connections", {"limit": "101"}), ("/v1/connections", {"provider": ""}), ("/v1/payments", {"status": "Paid"}),
    ("/v1/payments", {"mode": "once"}), ("/v1/payments", {"elicitation": ""}), ("/v1/payments", {"limit": "0"}),
    ("/v1/entitlements", {"item": ""}), ("/v1/entitlements", {"limit": "-1"}),
    ("/v1/webhooks/deliveries", {"status": "done"}), ("/v1/payments/{payment_id}/refunds", {"limit": "x"}),
    ("/v1/elicitations/{elicitation_id}/draft", {"after_seq": "-1"}), ("/v1/events", {"limit": "1001"}),
    ("/v1/elicitations/{elicitation_id}/wire/acp", {"mode": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "query"), WRONG)
def test_a_filter_with_a_value_that_cannot_be_is_refused(
    api: httpx2.Client, names: dict[str, str], path: str, query: dict[str, str]
) -> None:
    answer = api.get(path.format(**names), params=query)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert error["loc"] == ["query", *query]
    assert answer.json()["detail"] == f"query.{error['loc'][1]}: {error['message']}"


def test_the_kinds_that_a_filter_knows_are_those_that_there_are() -> None:
    assert {*Kind.__args__} == {*kinds.REGISTRY, STEPS}  # type: ignore[attr-defined]


def test_payments_are_found_by_what_they_say_of_themselves(
    api: httpx2.Client, known: Known, new_client: Callable[..., httpx2.Client]
) -> None:
    account, bob = money.account(), rows.Claim(rows.ISSUER, "bob")
    asked = api.post("/v1/elicitations", json=question(kind="form", params=FORM)).json()["id"]
    made = {
        "a": money.payment(known, account, elicitation_id=asked),
        "b": money.payment(known, account, bob, item="report"),
        "c": money.payment(known, account, refunded=1999), "d": money.payment(known, account, refunded=5),
        "e": money.payment(known, account, mode="save", amount=0, status=Payment.Status.SAVED),
        "f": money.payment(known, account, status=Payment.Status.OPEN, paid_at=None),
    }  # fmt: skip
    money.payment(rows.agent(), account)
    names = {row.pk: name for name, row in made.items()}
    for query, expected in (
        ({}, "abcdef"), ({"sub": "bob"}, "b"), ({"iss": rows.ISSUER, "sub": "alice"}, "acdef"),
        ({"item": "report"}, "b"),
        ({"mode": "save"}, "e"), ({"status": "paid"}, "abd"), ({"status": "refunded"}, "c"), ({"status": "open"}, "f"),
        ({"elicitation": asked}, "a"), ({"elicitation": "el_none"}, ""), ({"status": "saved", "sub": "bob"}, ""),
    ):  # fmt: skip
        found = api.get("/v1/payments", params=query).json()["data"]
        assert "".join(sorted(names[one["id"]] for one in found)) == expected, query
        assert all(one["status"] == query.get("status", one["status"]) for one in found)


def test_t141_fields_of_a_call_that_takes_none_are_refused(api: httpx2.Client, names: dict[str, str]) -> None:
    path = "/v1/elicitations/{elicitation_id}/cancel".format(**names)
    refused = api.post(path, json={"reason": "changed my mind"})
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["reason"])
    assert api.get(f"/v1/elicitations/{names['elicitation_id']}").json()["status"] == "pending"


SILENT: tuple[dict[str, Any], ...] = (
    {}, {"content": b""}, {"json": {}}, {"content": b" { } ", "headers": {"content-type": "application/json"}},
    {"content": b"", "headers": {"content-type": "application/json"}},
    {"content": b"", "headers": {"content-type": "application/x-www-form-urlencoded"}},
)  # fmt: skip


def test_an_object_with_nothing_in_it_is_no_body_wherever_a_body_may_be_left_out(
    api: httpx2.Client, names: dict[str, str], described: Described
) -> None:
    """The service finds out after it has read the body that ``x`` does not exist."""
    tried = set()
    for method, template in described.calls():
        body = described.root["paths"][template][method.lower()].get("requestBody", {"required": False})
        if method == "GET" or body["required"]:
            continue
        path = re.sub(r"\{\w+\}", "x", template)
        answers = [api.request(method, path, **said) for said in SILENT]
        assert [one.status_code for one in answers] == [404] * len(SILENT), (method, template, answers[-1].text)
        tried.add(template)
    assert len(tried) >= 9
    for said in SILENT:
        assert api.post("/v1/connections/{connection_id}/token".format(**names), **said).status_code == 200
        assert api.post("/v1/connections/{connection_id}/secret".format(**names), **said).status_code == 409
        assert api.post("/v1/elicitations/{elicitation_id}/code".format(**names), **said).status_code == 200


def test_no_body_where_one_is_needed_is_a_sentence(api: httpx2.Client) -> None:
    answer = api.post("/v1/elicitations")
    assert (answer.status_code, answer.json()["detail"]) == (422, "body: Field required")
    answer = api.post("/v1/elicitations", json={})
    assert answer.json()["detail"] == "kind: Field required"
    assert [one["loc"] for one in answer.json()["errors"]] == [["kind"], ["subject"], ["message"], ["params"]]


def test_the_detail_of_what_is_wrong_is_the_sentence_that_helps(api: httpx2.Client, known: Known) -> None:
    known.row.payment_accounts.add(money.account())
    bad = {"amount": 5.5, "currency": "EUR", "description": "A report"}
    answer = api.post("/v1/elicitations", json=question(kind="payment", params=bad)).json()
    assert answer["detail"].startswith("params.amount: Give a whole number of minor units")
    assert answer["title"] == "A value is not acceptable"
    assert [one["loc"][1] for one in answer["errors"]] == ["amount", "currency"]
