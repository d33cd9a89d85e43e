"""Successful answers of the API match its own description."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest
from django.db import transaction

from elicit_flows import vault
from elicit_flows.api.openapi_proxied import PATH
from elicit_flows.domain.values import Secret
from elicit_flows.models import Agent, Provider
from tests.api.described import Described
from tests.support import money, rows
from tests.support.rows import Known, question

ID = r"{}_[A-Za-z0-9_-]{{32}}"


class Recorder:
    """Checks every answer that passes through, and notes which calls there were."""

    def __init__(self, client: httpx2.Client, described: Described) -> None:
        self.client, self.described = client, described
        self.seen: set[tuple[str, str]] = set()

    def __call__(self, method: str, template: str, *ids: str, **options: object) -> httpx2.Response:
        path = template
        for one in ids:
            path = path.replace(path[path.index("{") : path.index("}") + 1], one)
        response = self.client.request(method, path, **options)  # type: ignore[arg-type]
        self.described.check(response)
        assert response.headers["cache-control"] == "no-store"
        self.seen.add((method, template))
        return response


def test_every_described_call_answers_as_described(
    api: httpx2.Client, known: Known, drive_row: Provider, described: Described
) -> None:
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks", import_connections=True)
    held = rows.connection(known, drive_row)
    call = Recorder(api, described)

    asked = call("POST", "/v1/elicitations", json=question(reuse="never", metadata={"call": "t-17"}))
    assert (asked.status_code, asked.headers["location"]) == (201, f"/v1/elicitations/{asked.json()['id']}")
    one = "/v1/elicitations/{elicitation_id}"
    assert call("GET", one, asked.json()["id"]).json() == asked.json()
    assert call("GET", one, asked.json()["id"], params={"wait": 5, "after_seq": 0}).json() == asked.json()
    assert call("GET", "/v1/elicitations").json() == {"data": [asked.json()], "next_cursor": None}
    assert call("POST", f"{one}/complete", asked.json()["id"]).status_code == 409
    code = call("POST", f"{one}/code", asked.json()["id"]).json()
    assert code["verification_uri_complete"] == asked.json()["url"]
    over = call("POST", f"{one}/cancel", asked.json()["id"]).json()
    assert (over["status"], over["action"], over["seq"]) == ("cancelled", "cancel", 2)
    assert call("POST", f"{one}/cancel", asked.json()["id"]).json() == over

    told = call("GET", "/v1/events").json()["data"]
    assert [(event["type"], event["seq"]) for event in told] == [
        ("elicitation.created", 1), ("elicitation.cancelled", 2),
    ]  # fmt: skip
    assert told[1]["data"] == over
    assert call("POST", f"{one}/consume", asked.json()["id"]).json()["consumed_at"]
    assert call("POST", f"{one}/consume", asked.json()["id"]).status_code == 409
    noted = call("PATCH", f"{one}/note", asked.json()["id"], json={"note": {"at": "el_2"}}).json()
    assert call("GET", f"{one}/note", asked.json()["id"]).json() == noted
    sent = call("GET", "/v1/webhooks/deliveries", params={"status": "pending"}).json()["data"]
    assert [one["event"] for one in sent] == [told[1]["id"], told[0]["id"]]
    assert call("POST", "/v1/webhooks/deliveries/{delivery_id}/replay", sent[0]["id"]).json()["status"] == "pending"

    assert [one["id"] for one in call("GET", "/v1/connections").json()["data"]] == [held.pk]
    token = call("POST", "/v1/connections/{connection_id}/token", held.pk, json={"min_ttl": 0}).json()
    assert token.keys() == {
        "access_token",
        "token_type",
        "expires_at",
        "scopes",
        "metadata",
        "resource",
        "token_secret",
    }
    said = call("POST", "/v1/connections/{connection_id}/report", held.pk, json={"status": 401}).json()
    assert call("GET", "/v1/connections").json() == {"data": [said], "next_cursor": None}
    assert call("GET", "/v1/connections/{connection_id}", held.pk).json() == said
    assert call("DELETE", "/v1/connections/{connection_id}", held.pk).status_code == 204
    assert call("POST", "/v1/connections/{connection_id}/token", held.pk).status_code == 410
    with transaction.atomic():
        typed = vault.keep_credentials(known.row, held.claim, None, "API key", {"key": Secret("typed")})
    assert call("POST", "/v1/connections/{connection_id}/secret", typed.pk).json() == {"fields": {"key": "typed"}}
    listed = call("GET", "/v1/connections").json()["data"]
    assert {one["id"]: one["provider"] for one in listed} == {held.pk: "drive", typed.pk: None}
    paid = money.payment(known, money.account())
    granted = money.entitlement(paid)
    one = "/v1/payments/{payment_id}"
    stands = call("GET", one, paid.pk).json()
    assert stands["status"] == "paid"
    assert call("GET", "/v1/payments").json() == {"data": [stands], "next_cursor": None}
    assert call("GET", "/v1/agent").json()["slug"] == known.row.slug
    assert call("GET", f"{one}/receipt", paid.pk).json()["payment"] == paid.pk
    asked = call("POST", f"{one}/refunds", paid.pk, json={"amount": 999, "reason": "Half of it was missing."})
    assert (asked.status_code, asked.json()["status"], asked.json()["by"]) == (201, "pending", "agent")
    assert call("GET", f"{one}/refunds", paid.pk).json() == {"data": [asked.json()], "next_cursor": None}
    allowed, one = money.mandate(known, money.account(slug="later", allow_mandates=True)), "/v1/mandates/{mandate_id}"
    assert [row["id"] for row in call("GET", "/v1/mandates").json()["data"]] == [allowed.pk]
    assert call("GET", one, allowed.pk).json()["used"] == {"per_day": 0, "per_month": 0, "total": 0}
    assert call("GET", f"{one}/document", allowed.pk).json()["mandate"] == allowed.pk
    asked = {"amount": 5, "description": "A ticket"}
    made = call("POST", f"{one}/charges", allowed.pk, json=asked, headers={"Idempotency-Key": "ticket-1"})
    assert (made.status_code, made.json()["status"]) == (201, "announced")
    assert [row["id"] for row in call("GET", f"{one}/charges", allowed.pk).json()["data"]] == [made.json()["id"]]
    assert call("GET", f"{one}/charges/{{charge_id}}", allowed.pk, made.json()["id"]).json()["amount"] == 5
    assert call("POST", f"{one}/end", allowed.pk).json()["status"] == "ended"
    going, one = money.subscription(known, paid.account), "/v1/subscriptions/{subscription_id}"
    assert call("GET", one, going.pk).json() == call("GET", "/v1/subscriptions").json()["data"][0] == going.summary()
    assert call("POST", f"{one}/cancel", going.pk, json={"at": "now"}).json()["status"] == "active", "told later"
    refused = money.renewal(going).summary()
    assert call("GET", f"{one}/renewals", going.pk).json() == {"data": [refused], "next_cursor": None}
    agreed, one = money.authorization(known, money.wallet()), "/v1/authorizations/{authorization_id}"
    header = call("POST", f"{one}/sign", agreed.pk, headers={"Idempotency-Key": "report-17"}).json()
    assert (header["authorization"], header["name"]) == (agreed.pk, "PAYMENT-SIGNATURE")
    signed = call("GET", one, agreed.pk).json()
    assert (signed["status"], call("GET", "/v1/authorizations").json()["data"]) == ("signed", [signed])
    used = call("POST", "/v1/entitlements/{entitlement_id}/consume", granted.pk, json={"key": "call-17"}).json()
    assert (used["uses_left"], used["usable"]) == (2, True)
    assert call("GET", "/v1/entitlements").json() == {"data": [used], "next_cursor": None}
    one = "/v1/elicitations/{elicitation_id}"
    questions = [{"id": "name", "kind": "text", "message": "Name?"}]
    form = call(
        "POST", "/v1/elicitations", json=question(kind="form", params={"questions": questions, "shared": True})
    ).json()["id"]
    written = {"answer": {"state": "draft", "value": "Atlas"}, "seq": 1}
    shared = call("PUT", f"{one}/draft/{{question}}", form, "name", json=written).json()
    assert call("GET", f"{one}/draft", form).json() == shared
    assert call("PATCH", one, form, json={"message": "In other words"}).json()["seq"] == 3
    assert call("GET", f"{one}/wire/{{protocol}}", form, "ahp").json()["request"]["id"] == form
    brought = {"subject": {"iss": rows.ISSUER, "sub": "alice"}, "provider": "drive", "access_token": "at-1"}
    carried = call("POST", "/v1/connections", json=brought | {"account": {"id": "a-2", "label": "Alice"}})
    assert (carried.status_code, carried.json()["account"]) == (201, {"id": "a-2", "label": "Alice"})
    asked_for = {"method": "GET", "url": "https://api.example.com/files"}
    unbound = call("POST", "/v1/connections/{connection_id}/proof", carried.json()["id"], json=asked_for)
    assert (unbound.status_code, unbound.json()["code"]) == (409, "conflict")
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        proxied = call(method, PATH, carried.json()["id"], "me")
        assert (proxied.status_code, proxied.json()["code"]) == (409, "no_api")
    refused = call("POST", "/v1/token", data={"grant_type": "password"})
    assert (refused.status_code, refused.json()["error"]) == (400, "unsupported_grant_type")
    assert call.seen == set(described.calls())


def test_a_connection_that_is_there_answers_at_once_and_nobody_is_asked(
    api: httpx2.Client, known: Known, drive_row: Provider, described: Described
) -> None:
    held = rows.connection(known, drive_row)
    answer = api.post("/v1/elicitations", json=question())
    described.check(answer)
    body = answer.json()
    assert (answer.status_code, body["status"], body["reused"], body["action"]) == (201, "completed", True, "accept")
    assert body["result"] == {
        "connection": held.pk, "provider": "drive", "scopes": ["files.read"],
        "account": {"id": "alice", "label": "alice"},
        "label": "alice", "metadata": {}, "variables": {},
    }  # fmt: skip
    events = api.get("/v1/events").json()["data"]
    assert [event["type"] for event in events] == ["elicitation.completed"]
    wider = question(params={"provider": "drive", "scopes": ["files.write"]})
    assert api.post("/v1/elicitations", json=wider).json()["status"] == "pending"
    other = question(subject={"iss": rows.ISSUER, "sub": "Alice"})
    assert api.post("/v1/elicitations", json=other).json()["status"] == "pending"


def test_what_was_asked_comes_back_as_it_was(api: httpx2.Client) -> None:
    metadata = {"deep": {"er": [1, 2.5, None, True, "ß\u202e𝒳"]}, "": ""}
    asked = api.post("/v1/elicitations", json=question(message="« Ünïcode » 🎉", metadata=metadata, expires_in=60))
    body = api.get(f"/v1/elicitations/{asked.json()['id']}").json()
    assert body["metadata"] == metadata
    assert body["message"] == "« Ünïcode » 🎉"
    assert body["subject"] == {"iss": rows.ISSUER, "sub": "alice"}
    assert body["url"].endswith(f"/c/{body['id']}")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "abc"), ({"sub": "alice"}, "ab"), ({"sub": "ALICE"}, ""), ({"iss": rows.ISSUER}, "abc"),
        ({"iss": rows.ISSUER + "/"}, ""), ({"kind": "oauth"}, "abc"), ({"kind": "form"}, ""),
        ({"status": "pending"}, "bc"), ({"status": "cancelled"}, "a"), ({"status": "pending", "sub": "bob"}, "c"),
    ],
)  # fmt: skip
def test_the_list_shows_what_was_asked_for(api: httpx2.Client, query: dict[str, str], expected: str) -> None:
    names = {}
    for name, sub in (("a", "alice"), ("b", "alice"), ("c", "bob")):
        asked = api.post("/v1/elicitations", json=question(subject={"iss": rows.ISSUER, "sub": sub}))
        names[asked.json()["id"]] = name
    first = next(key for key, name in names.items() if name == "a")
    api.post(f"/v1/elicitations/{first}/cancel")
    found = api.get("/v1/elicitations", params=query).json()["data"]
    assert sorted(names[one["id"]] for one in found) == list(expected)


def test_pages_of_a_list_hold_everything_once(api: httpx2.Client) -> None:
    made = [api.post("/v1/elicitations", json=question()).json()["id"] for _ in range(7)]
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get("/v1/elicitations", params={"limit": 3, "cursor": cursor}).json()
        assert len(page["data"]) <= 3
        seen += [one["id"] for one in page["data"]]
        cursor = page["next_cursor"]
    assert seen == made[::-1]


def test_the_description_says_where_it_is_and_that_every_call_needs_the_key(described: Described) -> None:
    assert described.root["openapi"] == "3.1.0"
    assert described.root["security"] == [{"key": []}]
    assert described.root["servers"][0]["url"].startswith("http")


def test_ids_are_opaque_and_long(api: httpx2.Client, new_client: Callable[..., httpx2.Client]) -> None:
    asked = [api.post("/v1/elicitations", json=question()).json()["id"] for _ in range(20)]
    assert len({one[:9] for one in asked}) > 15, "they share no beginning"
    assert all(len(one) == len("el_") + 32 for one in asked), "192 bits in base64"
