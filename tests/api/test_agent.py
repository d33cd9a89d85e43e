"""GET /v1/agent lists exactly what the agent may ask for."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
from django.conf import settings

from elicit_flows.elicitations import agent_access
from elicit_flows.models import IdentityProvider, Provider, SpendLimit
from tests.api.described import Described
from tests.support import money, rows
from tests.support.rows import Known, question


def test_an_agent_that_was_just_made_may_ask_little(
    new_client: Callable[..., httpx2.Client], described: Described
) -> None:
    known = rows.agent("new-bot", all_providers=False, return_urls=["https://bot.example.com/done"])
    answer = new_client(known).get("/v1/agent")
    described.check(answer)
    assert answer.json() == {
        "object": "agent", "slug": "new-bot", "name": known.row.name,
        "kinds": ["credentials", "form", "confirm", "link", "steps"], "issuers": [rows.ISSUER], "providers": [],
        "mcp_servers": [], "payment_accounts": [], "wallets": [],
        "return_urls": ["https://bot.example.com/done"], "webhook_url": None,
        "webhook_disabled": False, "import_connections": False, "notify": False, "require_user_token": False,
        "tokens_never_leave": False,
        "limits": {
            "open_per_user": 1000, "open_per_user_of_all_agents": 5000, "max_wait": settings.ELICIT_MAX_WAIT,
            "waiting": settings.ELICIT_MAX_WAITERS_PER_AGENT, "waiting_of_all_agents": settings.ELICIT_MAX_WAITERS,
            "requests_per_minute": settings.ELICIT_AGENT_REQUESTS_PER_MINUTE,
            "in_flight": settings.ELICIT_AGENT_IN_FLIGHT, "spending": [],
        },
    }  # fmt: skip


def test_providers_accounts_issuers_and_limits_are_its_own_alone(
    api: httpx2.Client,
    known: Known,
    drive_row: Provider,
    described: Described,
    new_client: Callable[..., httpx2.Client],
) -> None:
    typed = rows.provider(slug="ai", sort=Provider.Sort.CREDENTIALS, fields=[{"name": "key", "label": "Key"}])
    rows.provider(slug="off", enabled=False)
    known.row.payment_accounts.add(money.account("main", livemode=True), money.account("spare", enabled=False))
    money.account("of-others")
    IdentityProvider.objects.create(slug="other", issuer="https://other.test", client_id="x", scopes=[])
    SpendLimit.objects.create(agent=known.row, currency="eur", per_payment=2000, per_day=None)
    SpendLimit.objects.create(agent=rows.agent().row, currency="usd", per_payment=1, per_day=1)
    agent_access.forget()

    answer = api.get("/v1/agent")

    described.check(answer)
    said = answer.json()
    assert said["kinds"] == ["oauth", "payment", "credentials", "form", "confirm", "link", "steps"]
    assert said["providers"] == [
        {"slug": "ai", "name": typed.name, "type": "credentials"},
        {"slug": "drive", "name": drive_row.name, "type": "oauth"},
    ]
    main = {
        "slug": "main",
        "provider": "stripe",
        "livemode": True,
        "modes": ["pay", "subscribe"],
        "computes_tax": False,
    }
    assert said["payment_accounts"] == [main]
    assert said["issuers"] == [rows.ISSUER]
    assert said["limits"]["spending"] == [{"currency": "eur", "per_payment": 2000, "per_day": None}]
    assert known.who.api_key not in answer.text
    assert known.who.webhook_secret not in answer.text
    few = rows.agent(all_providers=False)
    few.row.providers.add(typed)
    assert [one["slug"] for one in new_client(few).get("/v1/agent").json()["providers"]] == ["ai"]


def test_what_stops_webhooks_is_said_as_it_is(described: Described) -> None:
    said = described.root["components"]["schemas"]["ThisAgent"]["properties"]["webhook_disabled"]
    assert "410 Gone" in said["description"], "no number of other failures does"


def test_a_kind_that_is_not_named_cannot_be_asked_and_one_that_is_can(api: httpx2.Client, known: Known) -> None:
    params = {"amount": 500, "currency": "eur", "description": "A report"}
    pay = question(kind="payment", params=params)
    assert "payment" not in api.get("/v1/agent").json()["kinds"]
    assert api.post("/v1/elicitations", json=pay).status_code == 422
    known.row.payment_accounts.add(money.account())
    agent_access.forget()
    assert "payment" in api.get("/v1/agent").json()["kinds"]
    assert api.post("/v1/elicitations", json=pay).status_code == 201


def test_who_names_what_the_agent_may_not_use_is_told_what_it_may(
    new_client: Callable[..., httpx2.Client], described: Described
) -> None:
    known = rows.agent("new-bot", all_providers=False)
    pay = question(kind="payment", params={"amount": 500, "currency": "eur", "description": "A report"})

    def said(body: object) -> str:
        refused = new_client(known).post("/v1/elicitations", json=body)
        described.check(refused)
        assert refused.status_code == 422
        return str(refused.json()["detail"])

    lists = "that this agent may use; GET /v1/agent lists those that it may."
    assert said(question(params={"provider": "drvie"})) == f"params.provider: There is no provider 'drvie' {lists}"
    assert said(pay) == f"params.account: There is no account {lists}"
    known.row.payment_accounts.add(money.account("main"), money.account("other"))
    agent_access.forget()
    assert said(pay) == "params.account: Name one of this agent's accounts: main, other."
    assert "GET /v1/agent lists them" in said(question(subject={"iss": "https://other.example.com", "sub": "alice"}))
