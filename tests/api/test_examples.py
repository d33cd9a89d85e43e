"""The examples of the description: sent to a service anew, they are answered as the description shows.

Ids, times, hosts and secrets aside, which differ from run to run. ``EXAMPLES=write`` writes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import settings

from elicit_flows import catalogue, kinds, vault
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.elicitations import agent_access
from elicit_flows.elicitations.transitions import STEPS
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.sdk.testing import ScriptedUser, Service, elicit_service, elicit_user
from tests.api.described import Described
from tests.api.examples import Recorder, kept
from tests.docs.test_api import SEATS, double, names
from tests.docs.test_api import known as allowed_agent
from tests.doubles import github
from tests.doubles.github import GitHub
from tests.doubles.provider import Provider
from tests.sdk.conftest import elicit_box
from tests.support import box_config, rows
from tests.support.money import WALLET_ADDRESS, WALLET_KEY
from tests.support.process import until
from tests.support.rows import Known
from tests.support.serving import Served
from tests.vault.test_installation_tokens import write as write_entry

__all__ = ["double", "elicit_box", "elicit_service", "elicit_user", "names"]
pytestmark = pytest.mark.limit(120)

WRITE = os.environ.get("EXAMPLES") == "write"
FLOWS, IDP, DRIVE_BOT = (f"https://{name}.example.com" for name in ("flows", "idp", "drive-bot"))
REPORT = {"amount": 500, "currency": "usd", "description": "One report", "item": "report"}
WEATHER = "https://weather.example.com/report"
CHALLENGE = {
    "x402Version": 2,
    "resource": {"url": WEATHER, "description": "A weather report"},
    "accepts": [
        {
            "scheme": "exact", "network": "eip155:84532", "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
            "amount": "10000", "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "maxTimeoutSeconds": 60,
        }
    ],
}  # fmt: skip
PLAN = {"type": "object", "properties": {"plan": {"type": "string", "enum": ["free", "pro"]}}, "required": ["plan"]}

known = allowed_agent


@pytest.fixture
def sandbox(elicit_box: Service) -> Iterator[Recorder]:
    """The calls of an agent at a service with a sandbox."""
    give_wallet(elicit_box)
    headers = {"authorization": f"Bearer {elicit_box.api_key}"}
    hosts = {elicit_box.url: FLOWS, f"{elicit_box.sandbox_url}/": "https://sandbox.example.com/"}
    hosts |= {elicit_box.sandbox_url: IDP}
    with httpx2.Client(base_url=elicit_box.url, headers=headers, trust_env=False, timeout=30) as client:
        yield Recorder(Described.at(elicit_box.url), client, hosts)


def give_wallet(service: Service) -> None:
    """Its demo has none, because that would need a package more."""
    file = service._home / "demo.toml"
    accounts = 'payment_accounts = ["sandbox"'
    told = file.read_text()
    assert accounts in told
    wallet = {
        "slug": "wallet", "provider": "x402", "secret_key": WALLET_KEY, "client_id": WALLET_ADDRESS,
        "network": "eip155:84532", "max_per_payment": 1_000_000, "max_per_day": 5_000_000,
    }  # fmt: skip
    more = box_config.to_toml({"payment_account": [wallet]})
    (service._home / "wallet.toml").write_text(told.replace(accounts, accounts + ', "wallet"') + "\n" + more)
    service._run("manage.py", "apply", "--skip-checks", "wallet.toml")


def by_kind(user: ScriptedUser, client: httpx2.Client) -> dict[str, tuple[dict[str, Any], Callable[[str], None]]]:
    """What is asked, and what the user does."""
    page = f"{user.claim.iss}/terms"
    key = {"fields": [{"name": "api_key", "label": "API key", "help": "In your settings."}]}
    return {
        "oauth": ({"provider": "acme", "scopes": ["files.read"]}, user.allow),
        "payment": (REPORT, user.pay),
        "credentials": (key, lambda url: user.submit(url, api_key="k-123456")),
        "form": ({"schema": PLAN}, lambda url: user.submit(url, plan="pro")),
        "confirm": ({"detail": "All 12 files.", "confirm_label": "Delete"}, user.submit),
        "link": ({"url": page, "completion": "by_agent"}, lambda url: complete(client, url)),
        "x402": ({"url": WEATHER, "challenge": CHALLENGE}, user.submit),
        "steps": (
            {"steps": [{"kind": "confirm", "params": {}}, {"kind": "form", "params": {"schema": PLAN}}]},
            lambda url: both(user, url),
        ),
    }


def complete(client: httpx2.Client, url: str) -> None:
    client.post(f"/v1/elicitations/{url.rpartition('/')[2]}/complete").raise_for_status()


def both(user: ScriptedUser, url: str) -> None:
    user.submit(url)
    user.submit(url, plan="free")


@pytest.mark.slow
def test_each_kind_is_asked_and_answered_as_the_description_shows(
    sandbox: Recorder, elicit_user: Callable[[str], ScriptedUser]
) -> None:
    alice = elicit_user("alice")
    subject = {"iss": alice.claim.iss, "sub": alice.claim.sub}
    walk = by_kind(alice, sandbox.client)
    assert walk.keys() == {*kinds.REGISTRY, STEPS}
    for kind, (params, act) in walk.items():
        body = {"kind": kind, "subject": subject, "message": "For your project.", "params": params, "reuse": "never"}
        asked = sandbox(kind, "POST", "/v1/elicitations", json=body)
        act(asked["url"])
        path = f"/v1/elicitations/{asked['id']}"
        until(lambda path=path: sandbox.client.get(path).json()["finished_at"], f"{kind} ends")
        assert sandbox(kind, "GET", path)["status"] == "completed"
    body = {"kind": "confirm", "subject": subject, "message": "For your project.", "params": {}}
    alice.decline(sandbox.client.post("/v1/elicitations", json=body).json()["url"])
    sandbox.events()
    assert kept(sandbox.found, "kinds", write=WRITE) == sandbox.found


@pytest.fixture
def forge(known: Known, double: Provider, tmp_path: Path) -> Iterator[str]:
    """A connection to a provider whose app is installed, as at GitHub."""
    with GitHub() as running:
        write_entry(tmp_path, running)
        row = ProviderRow(slug="forge", preset="drive", name="Forge", client_id=running.client_id, given=[])
        vault.seal_client_secret(row, Secret(running.client_secret or ""))
        vault.seal_app_key(row, Secret(github.pem()))
        row.save()
        alice = Claim(double.issuer, "alice")
        yield rows.connection(known, row, rows.grant(running, account="forge"), alice).pk
        catalogue.configure(None)


@pytest.mark.slow
def test_each_call_is_answered_as_the_description_shows(
    served: Served, known: Known, names: dict[str, str], forge: str, described: Described, double: Provider
) -> None:
    names |= {"forge": forge, "chat": two_scope_sets(known, names)}
    agent_access.forget()  # it is remembered for a second, and may be from before these
    with known.client(served.url) as client:
        hosts = {
            double.issuer: IDP,
            served.url: FLOWS,
            settings.ELICIT_PUBLIC_URL: FLOWS,
            "http://127.0.0.1:9": DRIVE_BOT,
        }
        hosts |= {known.row.slug: "drive-bot", known.row.name: "Drive Bot"}
        call = Recorder(described, client, hosts)
        walk_calls(call, names)
        call.events()
    assert kept(call.found, "calls", write=WRITE) == call.found


def two_scope_sets(known: Known, names: dict[str, str]) -> str:
    """A connection with the app's token and the user's, as at Slack."""
    own, user = (replace(rows.grant(account="chat"), scopes=(one,)) for one in ("chat:write", "search:read"))
    both = replace(own, scopes=("chat:write", "user/search:read"), sets={"user": user})
    return rows.connection(known, rows.provider(slug="chat"), both, Claim(names["iss"], names["sub"])).pk


def walk_calls(call: Recorder, names: dict[str, str]) -> None:
    """Every call of the API once, with success."""
    user = {"iss": names["iss"], "sub": names["sub"]}
    one, form = f"/v1/elicitations/{names['elicitation']}", f"/v1/elicitations/{names['form']}"
    held, paid = f"/v1/connections/{names['connection']}", f"/v1/payments/{names['payment']}"
    call("self", "GET", "/v1/agent")
    call("pending", "GET", "/v1/elicitations", params=user | {"status": "pending", "kind": "form", "limit": 1})
    call("code", "POST", f"{one}/code")
    call("note", "PATCH", f"{one}/note", json={"note": {"thread": "support-4711"}})
    call("note", "GET", f"{one}/note")
    call("mcp", "GET", f"{one}/wire/mcp-2025-11-25")
    call("cancel", "POST", f"{one}/cancel")
    call("consume", "POST", f"/v1/elicitations/{names['finished']}/consume")
    call("question", "PATCH", form, json={"message": "How many of you come?", "params": {"schema": SEATS}})
    call("answer", "PUT", f"{form}/draft/seats", json={"answer": {"state": "draft", "value": 3}, "seq": 2})
    call("draft", "GET", f"{form}/draft")
    call("answers", "POST", f"{form}/complete", json={"answers": {"seats": {"state": "submitted", "value": 3}}})
    call("first", "GET", "/v1/events", params={"limit": 1})
    call("all", "GET", "/v1/connections", params=user | {"provider": "drive", "limit": 1})
    call("one", "GET", held)
    call("token", "POST", f"{held}/token", json={"min_ttl": 0})
    call("refused", "POST", f"{held}/report", json={"status": 401})
    call("typed", "POST", f"/v1/connections/{names['typed']}/secret")
    asked = {"method": "GET", "url": "https://api.example.com/files"}
    call("proof", "POST", f"/v1/connections/{names['bound']}/proof", json=asked)
    brought = {"provider": "drive", "subject": user, "access_token": "at-1", "account": {"id": "a-2", "label": "Alice"}}
    call("import", "POST", "/v1/connections", json=brought)
    exchange = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": names["user_token"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "connection": names["connection"],
    }  # fmt: skip
    call("exchange", "POST", "/v1/token", data=exchange)
    call("revoke", "DELETE", held)
    call("paid", "GET", "/v1/payments", params=user | {"status": "paid"})
    call("paid", "GET", paid)
    call("receipt", "GET", f"{paid}/receipt")
    call("part", "POST", f"{paid}/refunds", json={"amount": 500, "reason": "One page was missing."})
    call("part", "GET", f"{paid}/refunds")
    allowed = f"/v1/mandates/{names['mandate']}"
    call("active", "GET", "/v1/mandates", params=user | {"status": "active"})
    call("one", "GET", allowed)
    call("signed", "GET", f"{allowed}/document")
    asked = {"amount": 1990, "description": "A ticket to Basel"}
    call("announced", "POST", f"{allowed}/charges", json=asked, headers={"Idempotency-Key": "ticket-17"})
    call("all", "GET", f"{allowed}/charges")
    call("one", "GET", f"{allowed}/charges/{names['charge']}")
    call("end", "POST", f"{allowed}/end")
    going = f"/v1/subscriptions/{names['subscription']}"
    call("past_due", "GET", "/v1/subscriptions", params=user | {"status": "past_due"})
    call("one", "GET", going)
    call("all", "GET", f"{going}/renewals")
    call("cancel", "POST", f"{going}/cancel", json={"at": "period_end"})
    wanted = f"/v1/authorizations/{names['authorization']}"
    call("reserved", "GET", "/v1/authorizations", params=user)
    call("once", "POST", f"{wanted}/sign", headers={"Idempotency-Key": "report-17"})
    call("one", "GET", wanted)
    call("report", "GET", "/v1/entitlements", params=user)
    call("use", "POST", f"/v1/entitlements/{names['entitlement']}/consume", json={"key": "tool-call-17"})
    call("pending", "GET", "/v1/webhooks/deliveries", params={"status": "pending", "limit": 1})
    call("again", "POST", f"/v1/webhooks/deliveries/{names['delivery']}/replay")
    call("scope_set", "POST", f"/v1/connections/{names['chat']}/token", json={"scope_set": "user"})
    installed = {"id": 7, "repositories": ["octo-org/api"], "permissions": {"contents": "read"}}
    call("installation", "POST", f"/v1/connections/{names['forge']}/token", json={"installation": installed})


def test_every_call_and_every_kind_has_an_example_that_fits(described: Described) -> None:
    for path, item in described.root["paths"].items():
        for operation in item.values():
            key = operation["operationId"]
            if "{" in path:
                assert all("example" in one for one in operation["parameters"] if one["in"] == "path"), key
            if "requestBody" in operation and operation["requestBody"].get("required"):
                fit(described, operation["requestBody"]["content"], key)
            for status, answer in operation["responses"].items():
                if status != "default" and "application/json" in answer.get("content", {}) and int(status) < 300:
                    fit(described, {"application/json": answer["content"]["application/json"]}, f"{key} {status}")
    created = described.root["paths"]["/v1/elicitations"]["post"]
    for content in (created["requestBody"], created["responses"]["201"]):
        assert content["content"]["application/json"]["examples"].keys() == {*kinds.REGISTRY, STEPS}
    shown = [one["post"]["requestBody"]["content"] for one in described.root["webhooks"].values()]
    for one in shown:
        fit(described, one, "webhook")


def fit(described: Described, content: dict[str, Any], what: str) -> None:
    for media in content.values():
        if what.endswith(" 200") and "examples" not in media and what.split(maxsplit=1)[0] in REPEATED:
            continue
        for example in media["examples"].values():
            described.fits(media["schema"], example["value"], what)


REPEATED = ("elicitations_create", "payments_refund", "mandates_charge")  # 200 is the answer to a repeated key
