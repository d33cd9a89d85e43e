"""Every call of the TypeScript client: what it sends, what it reads, and that Python has the same name for it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from elicit_flows import sdk
from elicit_flows.sdk.frameworks import WebhookApp
from tests.sdk.fake import COMPLETED, DROP, ELICITATION, SILENCE, FakeService, Reply, problem
from tests.sdk.typescript.conftest import Program
from tests.support.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]

ONE = "/v1/elicitations/el_1"
USER = {"iss": "i", "sub": "s"}
CONNECTION = {
    "id": "cn_1", "provider": "acme", "subject": USER, "scopes": ["files.read"], "status": "active",
    "health": "failing", "added_by_a_later_service": True,
}  # fmt: skip
DRAFT = {
    "elicitation": "el_1", "status": "pending", "seq": 3, "missing": ["name"],
    "answers": {"a/b": {"seq": 3, "by": "agent", "state": "draft", "value": 3}},
}  # fmt: skip
CHARGE = {"amount": 200, "description": "A ticket", "item": "ride", "uses": 2, "metadata": {"order": 7}}
LIMITS = {"per_charge": 2000, "total": 10000, "until": "2027-01-01T00:00:00Z"}
EXCHANGED = {"access_token": "at", "token_type": "Bearer", "expires_in": 60, "scope": "files.read files.write"}
# There is no HTTP client to close, and `request` stands for an API's client.
NO_COUNTERPART = {"aclose", "api"}
# The service alone checks questions, and forms are made of types of Python.
NOT_CHECKED_BEFORE = {"InvalidQuestionError", "InvalidAnswerError"}


@pytest.fixture
def said(start: Callable[..., Program], service: FakeService, tmp_path: Path) -> dict[str, Any]:
    """The key is in a file, as secrets of containers are."""
    (tmp_path / "key").write_text("key-of-the-tests\n")
    for method, path, *replies in SCRIPT:
        service.on(method, path, *replies)
    program = start("calls", {"ELICIT_URL": service.url, "ELICIT_API_KEY_FILE": str(tmp_path / "key")})
    return program.end() | {"all listed": program.said("listed")}


SCRIPT: list[Any] = [
    (
        "GET", "/v1/elicitations",
        Reply({"data": [ELICITATION | {"id": "el_3"}], "next_cursor": "older"}),
        Reply({"data": [ELICITATION], "next_cursor": None}),
    ),
    ("GET", "/v1/payments", Reply({"data": [{"id": "pa_1"}], "next_cursor": None})),
    ("GET", "/v1/connections/cn_1", Reply(CONNECTION)),
    ("POST", "/v1/connections", DROP, problem(502, "bad_gateway"), problem(503, "busy"), Reply(CONNECTION, 201)),
    ("POST", "/v1/connections/cn_1/proof", Reply({"dpop": "a.b.c"})),
    ("POST", "/v1/token", Reply(EXCHANGED)),
    ("POST", "/v1/connections/cn_1/secret", Reply({"fields": {"key": "sk-1"}})),
    ("PUT", f"{ONE}/draft/a%2Fb", Reply(DRAFT)),
    ("GET", f"{ONE}/draft", Reply(DRAFT)),
    ("PATCH", ONE, Reply(ELICITATION)),
    ("POST", f"{ONE}/complete", Reply(COMPLETED)),
    ("PATCH", f"{ONE}/note", Reply({"note": {"mail": "m-1"}})),
    ("GET", f"{ONE}/note", Reply({"note": {}})),
    ("POST", "/v1/payments/pa_1/refunds", DROP, Reply({"id": "re_1"}, 201)),
    ("GET", "/v1/mandates", Reply({"data": [{"id": "ma_1"}], "next_cursor": None})),
    ("GET", "/v1/mandates/ma%2F1", Reply({"id": "ma/1", "used": {"total": 200}})),
    ("POST", "/v1/mandates/ma%2F1/charges", DROP, Reply({"id": "mc_1", "status": "paid"}, 201)),
    ("GET", "/v1/mandates/ma%2F1/charges", Reply({"data": [{"id": "mc_1"}], "next_cursor": None})),
    ("POST", "/v1/mandates/ma%2F1/end", Reply({"id": "ma/1", "status": "ended"})),
    ("POST", "/v1/mandates/ma_2/charges", Reply({"id": "mc_2", "status": "paid"}, 201)),
    ("GET", "/v1/subscriptions", Reply({"data": [{"id": "su_1"}], "next_cursor": None})),
    ("GET", "/v1/subscriptions/su%2F1", Reply({"id": "su/1", "status": "past_due"})),
    (
        "POST", "/v1/subscriptions/su%2F1/cancel",
        Reply({"ends_at": "2026-12-01T00:00:00Z"}), Reply({"status": "ended"}),
    ),
    ("GET", "/v1/subscriptions/su%2F1/renewals", Reply({"data": [{"id": "rn_1"}], "next_cursor": None})),
    ("GET", "/v1/subscriptions/su_2", Reply({"id": "su_2"})),
    (
        "POST", "/v1/authorizations/xa%2F1/sign",
        DROP,
        Reply({
            "name": "PAYMENT-SIGNATURE", "value": "signed", "url": "https://shop.example/a", "method": "GET",
            "valid_until": "2026-11-21T11:00:00Z",
        }),
    ),
    ("GET", "/v1/agent", problem(429, "too_many_requests", {"Retry-After": "60"})),
    ("GET", "/v1/elicitations/..%2Fconnections", Reply("<html>", 200, {"Content-Type": "text/html"})),
    ("GET", "/v1/elicitations/el_2", Reply({}, 302, {"Location": "http://127.0.0.1:1/stolen"})),
    (
        "GET", "/v1/elicitations/el_3",
        problem(429, "too_many_requests", {"Retry-After": "1"}), *[Reply(ELICITATION)] * 3,
    ),
    ("GET", ONE, SILENCE),
    ("GET", "/v1/elicitations/el_4", SILENCE),
    (
        "POST", "/v1/elicitations",
        Reply(ELICITATION | {"status": "failed", "error": {"code": "no_access", "message": "It is closed."}}, 201),
        Reply(ELICITATION | {"kind": "payment", "status": "declined"}, 201),
        Reply(COMPLETED | {"kind": "payment", "result": {"mandate": "ma_2"}}, 201),
        Reply(COMPLETED | {"kind": "payment", "result": {"subscription": "su_2"}}, 201),
        Reply(COMPLETED | {"kind": "payment", "result": {"subscription": "su_2", "price": 700}}, 201),
        Reply(ELICITATION | {"kind": "x402", "status": "declined"}, 201),
    ),
]  # fmt: skip

SENT: list[Any] = [
    ("GET", "/v1/elicitations", {**USER, "status": "pending", "limit": "100"}, None),
    ("GET", "/v1/elicitations", {**USER, "status": "pending", "limit": "100", "cursor": "older"}, None),
    ("GET", "/v1/payments", {**USER, "status": "paid", "elicitation": "el_1", "limit": "100"}, None),
    ("GET", "/v1/connections/cn_1", {}, None),
    *[(
        "POST", "/v1/connections", {},
        {
            "provider": "acme", "subject": USER, "scopes": ["files.read"], "refresh_token": "rt",
            "expires_at": "2026-11-21T11:00:00.000Z", "account": {"id": "a"},
        },
    )] * 4,
    (
        "POST", "/v1/connections/cn_1/proof", {},
        {
            "method": "GET", "url": "https://api.example/", "nonce": "n", "subject_token": "ut",
            "ath": sdk.Token("at").ath,
        },
    ),
    (
        "POST", "/v1/token", {},
        {
            "grant_type": ["urn:ietf:params:oauth:grant-type:token-exchange"], "subject_token": ["ut"],
            "subject_token_type": ["urn:ietf:params:oauth:token-type:access_token"], "connection": ["cn_1"],
        },
    ),
    ("POST", "/v1/connections/cn_1/secret", {}, {"subject_token": "ut"}),
    ("PUT", f"{ONE}/draft/a%2Fb", {}, {"answer": {"state": "draft", "value": 3}, "seq": 2}),
    ("GET", f"{ONE}/draft", {"after_seq": "2"}, None),
    ("PATCH", ONE, {}, {"message": "Now."}),
    ("POST", f"{ONE}/complete", {}, {"answers": {"name": {"state": "submitted", "value": "Atlas"}}}),
    ("PATCH", f"{ONE}/note", {}, {"note": {"mail": "m-1", "old": None}}),
    ("GET", f"{ONE}/note", {}, None),
    *[("POST", "/v1/payments/pa_1/refunds", {}, {})] * 2,
    ("GET", "/v1/mandates", {"iss": "i", "sub": "s", "status": "active", "limit": "100"}, None),
    ("GET", "/v1/mandates/ma%2F1", {}, None),
    *[("POST", "/v1/mandates/ma%2F1/charges", {}, CHARGE)] * 2,
    ("GET", "/v1/mandates/ma%2F1/charges", {"limit": "100"}, None),
    ("POST", "/v1/mandates/ma%2F1/end", {}, None),
    ("GET", "/v1/subscriptions", {"iss": "i", "sub": "s", "status": "past_due", "limit": "100"}, None),
    ("GET", "/v1/subscriptions/su%2F1", {}, None),
    ("POST", "/v1/subscriptions/su%2F1/cancel", {}, {"at": "period_end"}),
    ("POST", "/v1/subscriptions/su%2F1/cancel", {}, {"at": "now"}),
    ("GET", "/v1/subscriptions/su%2F1/renewals", {"limit": "100"}, None),
    *[("POST", "/v1/authorizations/xa%2F1/sign", {}, None)] * 2,
    ("GET", "/v1/agent", {}, None),
    ("GET", "/v1/elicitations/..%2Fconnections", {}, None),
    ("GET", "/v1/elicitations/el_2", {}, None),
    *[("GET", "/v1/elicitations/el_3", {}, None)] * 2,
    ("POST", "/v1/elicitations", {}, {"kind": "confirm", "subject": USER, "message": "May I?", "params": {}}),
    (
        "POST", "/v1/elicitations", {},
        {
            "kind": "payment", "subject": USER, "message": "Pay for: A report",
            "params": {"amount": 500, "currency": "usd", "description": "A report"},
        },
    ),
    (
        "POST", "/v1/elicitations", {},
        {
            "kind": "payment", "subject": USER, "message": "Allow charges for: Tickets",
            "params": {
                "mode": "mandate", "currency": "eur", "description": "Tickets", "account": "shop", "mandate": LIMITS,
            },
        },
    ),
    ("POST", "/v1/mandates/ma_2/charges", {}, {"amount": 300, "description": "Another"}),
    (
        "POST", "/v1/elicitations", {},
        {
            "kind": "payment", "subject": USER, "message": "Pay for: A paper",
            "params": {"amount": 500, "currency": "eur", "description": "A paper"},
        },
    ),
    ("GET", "/v1/subscriptions/su_2", {}, None),
    (
        "POST", "/v1/elicitations", {},
        {
            "kind": "payment", "subject": USER, "message": "Change the price of your subscription.",
            "params": {"mode": "subscribe", "changes": "su_2", "amount": 700, "currency": "eur"},
        },
    ),
    (
        "POST", "/v1/elicitations", {},
        {
            "kind": "x402", "subject": USER, "message": "Pay for what https://shop.example/a offers.",
            "params": {
                "url": "https://shop.example/a", "method": "POST", "challenge": {"x402Version": 2}, "account": "wallet",
            },
        },
    ),
    *[("GET", "/v1/elicitations/el_3", {}, None)] * 2,
    ("GET", ONE, {"wait": "1", "after_seq": "1"}, None),
    ("GET", "/v1/elicitations/el_4", {}, None),
]  # fmt: skip


def test_each_call_sends_what_the_api_takes_and_reads_what_it_answers(
    said: dict[str, Any], service: FakeService
) -> None:
    assert [(one.method, one.path, one.query, one.body) for one in service.asked] == SENT
    assert {one.headers["authorization"] for one in service.asked} == {"Bearer key-of-the-tests"}
    assert {one.headers["idempotency-key"] for one in service.asked if "refunds" in one.path} == {"refund-1"}
    assert said.pop("all listed") == ["el_3", "el_1", "pa_1", "ma_1", "mc_1", "su_1", "rn_1"]
    charges = [one.headers["idempotency-key"] for one in service.asked if one.path.endswith("/charges") and one.body]
    assert charges[:2] == ["charge-1"] * 2
    assert len(charges[2]) == 32
    assert {name: said[name] for name in said if name not in {"methods", "exports", "listed", "end"}} == {
        "connection": "failing", "dropped": "UnreachableError", "imported": "cn_1", "proof": "a.b.c",
        "exchanged": ["Bearer at", ["files.read", "files.write"], True], "secret": "sk-1", "draft": [["name"], 3],
        "drafted": 3, "again": "el_1", "submitted": True, "note": [{"mail": "m-1"}, {}], "refund": "re_1",
        "mandate": {"total": 200}, "charge": "paid", "ended": "ended", "charged": "mc_2", "uncharged": "NotCompleted",
        "subscription": "past_due", "cancelled": ["2026-12-01T00:00:00Z", "ended"], "subscribed": "su_2",
        "repriced": 700,
        "unsubscribed": "NotCompleted", "header": ["PAYMENT-SIGNATURE", "GET", "2026-11-21T11:00:00.000Z"],
        "unsigned": "NotCompleted",
        "limited": ["RateLimitedError", 60], "foreign": ["UnexpectedAnswerError", "unexpected_answer"],
        "elsewhere": "http_302", "after": 1,
        "failed": [None, "no_access", "It is closed."], "unpaid": ["NotCompleted", "declined"], "open": "not_over",
        "url": "bad_url", "apiKey": "bad_api_key", "user": "TypeError", "broken": "ServiceUnavailableError",
        "silent": False, "mute": "UnreachableError",
    }  # fmt: skip


def test_a_service_that_restarts_is_waited_for(start: Callable[..., Program]) -> None:
    """What a proxy says in its place meanwhile is no answer; 500, and what the service says of a provider, are."""
    port = free_port()
    program = start("restart", {"ELICIT_URL": f"http://127.0.0.1:{port}", "ELICIT_API_KEY": "key-of-the-tests"})
    program.wait_until(lambda: program.said("asked"), "it calls a service that is not there")
    time.sleep(8)  # longer than failures are borne otherwise
    service = FakeService(port)
    service.on("POST", "/v1/elicitations", Reply(ELICITATION, 201))
    service.on("POST", "/v1/connections", Reply(CONNECTION, 201))
    for page in ("x502", "x503"):
        service.on("GET", f"/v1/elicitations/{page}", *[Reply("<html>", int(page[1:]))] * 6, Reply(ELICITATION))
    service.on("GET", "/v1/elicitations/x500", *[Reply("<html>", 500)] * 99)
    service.on("GET", "/v1/elicitations/provider_broken", *[problem(502, "provider_broken")] * 99)
    said = program.end()
    service.close()
    assert said["impatient"] == "unreachable"
    assert said["restarted"] == ["el_1", "cn_1"]
    assert said["proxied"] == [True, True, "http_500", "provider_broken"]


def test_it_says_what_the_python_sdk_says_by_the_same_names(said: dict[str, Any]) -> None:
    python = {name for name, _ in inspect.getmembers(sdk.Elicit, inspect.isfunction) if not name.startswith("_")}
    assert set(said["methods"]) == {camel(name) for name in python - NO_COUNTERPART}
    classes = {name for name in sdk.__all__ if isinstance(getattr(sdk, name), type)}
    errors = {name for name in classes if issubclass(getattr(sdk, name), sdk.ElicitError)}
    functions = {camel(name) for name in ("outcome_of", "verify_webhook", "challenge_of")}
    named = {"Elicit", "Secret", "Token", WebhookApp.__name__}
    assert set(said["exports"]) == (errors - NOT_CHECKED_BEFORE) | named | functions


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)
