"""A shop whose name only the person knows, and a company that the provider names on the way back, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from elicit_flows import catalogue
from elicit_flows.sdk import SyncElicit
from tests.cast import ALICE, DRIVE_BOT
from tests.docs.page import found
from tests.doubles.provider import Provider, shop_entry
from tests.doubles.server import Request, Response, json_response
from tests.journey.test_accessibility import PHONE, Reader
from tests.support.box import AgentClient, Box
from tests.support.browser import User
from tests.support.op import Op

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def peer() -> Iterator[Provider]:
    """The shops, and the books: one server."""
    with Provider(client_secret="the-peer's-secret") as running:
        yield running


def at(peer: Provider) -> dict[str, dict[str, str]]:
    """What of our own entries of Shopify and QuickBooks is somewhere else, at the peer."""
    return {
        "shopify": {
            "https://{shop}.myshopify.com": f"http://{{shop}}.shops.localhost:{peer.port}",
            "/admin/oauth/authorize": "/authorize", "/admin/oauth/access_token": "/token",
        },
        "intuit": {
            "https://appcenter.intuit.com/connect/oauth2": f"{peer.url}/authorize",
            "https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer": f"{peer.url}/token",
            "https://developer.api.intuit.com/v2/oauth2/tokens/revoke": f"{peer.url}/revoke",
            "https://quickbooks.api.intuit.com": peer.url,
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def market(new_box: Callable[..., Box], peer: Provider, tmp_path_factory: pytest.TempPathFactory) -> Box:
    """A service whose operator left the shop to each person."""
    folder = tmp_path_factory.mktemp("catalogue")
    (folder / "shops.toml").write_text(shop_entry(peer.port))
    for slug, moved in at(peer).items():
        text = (Path(catalogue.__file__).parent / "entries" / f"{slug}.toml").read_text()
        for there, here in moved.items():
            assert there in text
            text = text.replace(there, here)
        (folder / f"{slug}.toml").write_text(text)
    box = new_box("embedded", settings={"ELICIT_CATALOGUE": str(folder)})
    known: dict[str, Any] = {"client_id": peer.client_id, "client_secret": peer.client_secret}
    plain = {
        "slug": "books", "name": "Books", "authorize_url": f"{peer.url}/authorize", "token_url": f"{peer.url}/token",
        "metadata": [
            {"name": "realm_id", "from": "callback", "path": ["realmId"]},
            {"name": "companies", "from": "call", "path": ["*", "name"]},
        ],
        "metadata_url": f"{peer.url}/api/about",
    }  # fmt: skip
    presets = {"shops": "shops", "shopify": "shopify", "quickbooks": "intuit"}
    rows = [{"slug": slug, "preset": preset, **known} for slug, preset in presets.items()]
    box.apply({"provider": [*rows, {**plain, **known}]})
    return box


@pytest.fixture
def agent(market: Box, peer: Provider) -> AgentClient:
    peer.callback, peer.requests = {}, []
    peer.calls.clear()
    return market.agent(DRIVE_BOT.slug)


def ask(agent: AgentClient, corp: Op, provider: str, **params: Any) -> dict[str, Any]:
    body = {
        "kind": "oauth", "subject": ALICE.subject(corp.issuer), "message": "To list your orders.", "reuse": "never",
        "params": {"provider": provider, **params},
    }  # fmt: skip
    answer = agent.post("/v1/elicitations", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def enter(user: User, url: str) -> None:
    """Opens the link, and signs in if nobody is signed in."""
    user.open(url)
    if user.page_name == "signin":
        user.press("signin")
        user.press("alice")
    assert user.page_name == "consent", user.text


def result(agent: AgentClient, asked: dict[str, Any]) -> dict[str, Any]:
    said = agent.get(f"/v1/elicitations/{asked['id']}").json()
    assert said["status"] == "completed", said
    return dict(said["result"])


@pytest.mark.parametrize("scripts", [True, False])
def test_the_person_names_the_shop_sees_its_address_and_goes_on(
    agent: AgentClient, market: Box, corp: Op, peer: Provider, new_user: Callable[..., User], scripts: bool
) -> None:
    peer.callback = {"shop": "my-shop.myshops.example.com"}
    user, asked = new_user(scripts=scripts), ask(agent, corp, "shops")
    enter(user, asked["url"])
    assert "shops.localhost" not in user.text
    user.press("continue", **{"variable.shop": "evil.com#"})
    assert (user.page_name, peer.calls["authorize"]) == ("consent", 0)
    assert "This does not look right. Write it like this: example-shop" in user.text
    assert user.page.locator('[name="variable.shop"]').input_value() == "evil.com#"
    assert user.page.locator('[name="variable.shop"]').get_attribute("aria-invalid") == "true"
    assert user.page.evaluate("document.activeElement.getAttribute('role')") == "alert"
    user.press("continue", **{"variable.shop": " my-shop "})
    assert "You will go on to my-shop.shops.localhost" in user.text
    assert "Continue to my-shop.shops.localhost" in user.text
    assert user.page.evaluate("document.activeElement.getAttribute('role')") == "status"
    user.press("continue", **{"variable.shop": "another"})
    assert "You will go on to another.shops.localhost" in user.text, "what was changed is shown first"
    user.press("continue", **{"variable.shop": "my-shop"})
    user.press("continue")
    user.wait_for_page("done", "completed")
    said = result(agent, asked)
    assert (said["variables"], said["metadata"]) == (
        {"shop": "my-shop"}, {"shop_domain": "my-shop.myshops.example.com"},
    )  # fmt: skip
    with SyncElicit(market.url, DRIVE_BOT.api_key) as elicit:
        assert elicit.connection(said["connection"]).variables == {"shop": "my-shop"}
        assert elicit.token(said["connection"]).metadata["shop_domain"] == "my-shop.myshops.example.com"
    again = ask(agent, corp, "shops", connection=said["connection"])
    enter(user, again["url"])
    assert user.page.locator('[name="variable.shop"]').input_value() == "my-shop"
    user.press("continue")
    user.wait_for_page("done", "completed")
    assert [one for one in user.complaints if "422" not in one] == []
    hosts = {request.headers["host"] for _, request in peer.requests}
    assert hosts == {f"my-shop.shops.localhost:{peer.port}"}


def test_an_agents_proposal_is_shown_and_taken_with_one_press(
    agent: AgentClient, corp: Op, user: User, peer: Provider
) -> None:
    asked = ask(agent, corp, "shops", variables={"shop": "proposed"})
    enter(user, asked["url"])
    assert "Continue to proposed.shops.localhost" in user.text
    user.press("continue")
    user.wait_for_page("done", "completed")
    assert result(agent, asked)["variables"] == {"shop": "proposed"}


def test_an_agent_is_told_which_proposal_is_wrong_and_why(agent: AgentClient, corp: Op) -> None:
    for value in ("evil.com#", "a.b@evil", "//evil", "a\u3002b", "x" * 201):
        body = {
            "kind": "oauth", "subject": ALICE.subject(corp.issuer), "message": "Hi.",
            "params": {"provider": "shops", "variables": {"shop": value}},
        }  # fmt: skip
        answer = agent.post("/v1/elicitations", json=body)
        assert answer.status_code == 422, answer.text
        (error,) = answer.json()["errors"]
        assert error["loc"] == ["params", "variables", "shop"]
        assert "Name of the shop" in error["message"] or "at most 200" in error["message"]


def test_a_company_that_the_browser_brings_is_with_the_token(
    agent: AgentClient, corp: Op, user: User, peer: Provider
) -> None:
    peer.callback, peer.about = {"realmId": "4620816365"}, [{"name": "Sandbox Company"}]
    asked = ask(agent, corp, "books")
    enter(user, asked["url"])
    user.press("continue")
    user.wait_for_page("done", "completed")
    said = result(agent, asked)
    expected = {"realm_id": "4620816365", "companies": ["Sandbox Company"]}
    assert (said["metadata"], said["variables"]) == (expected, {})
    token = agent.post(f"/v1/connections/{said['connection']}/token").json()
    assert token["metadata"] == expected


def test_the_guide_is_right(
    market: Box, agent: AgentClient, corp: Op, user: User, peer: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With our own entries of Shopify and QuickBooks, whose addresses are the peer's."""
    monkeypatch.setenv("ELICIT_URL", market.url)
    monkeypatch.setenv("ELICIT_API_KEY", DRIVE_BOT.api_key)
    names: dict[str, Any] = {}
    for block in found("how-to/shopify-and-quickbooks.md", "shops"):
        exec(block.text, names)
    realm = "4620816365"

    def answer(request: Request) -> Response:
        if request.path == "/admin/api/2026-07/orders.json":
            assert peer.live(request.headers["x-shopify-access-token"])
            return json_response({"orders": [{"id": 1, "shop": request.headers["host"].partition(".")[0]}]})
        assert request.path == f"/v3/company/{realm}/companyinfo/{realm}"
        assert peer.live(request.headers["authorization"].removeprefix("Bearer "))
        return json_response({"CompanyInfo": {"CompanyName": "Sandbox Company"}})

    def in_a_shop(link: str) -> None:
        enter(user, link)
        user.press("continue", **{"variable.shop": "my-shop"})
        assert "Continue to my-shop.shops.localhost" in user.text
        user.carry_on("continue")
        user.wait_for_page("done", "completed")

    def in_a_company(link: str) -> None:
        enter(user, link)
        user.carry_on("continue")
        user.wait_for_page("done", "completed")

    peer.scripted["unknown"] = answer
    alice = (corp.issuer, ALICE.sub)
    peer.callback = {"shop": "my-shop.myshopify.com"}
    assert names["orders"](alice, in_a_shop) == ("my-shop", [{"id": 1, "shop": "my-shop"}])
    peer.callback = {"realmId": realm}
    assert names["company"](alice, in_a_company) == "Sandbox Company"
    accounts = {one["provider"]: one["account"]["id"] for one in agent.get("/v1/connections").json()["data"]
                if one["provider"] in ("shopify", "quickbooks")}  # fmt: skip
    assert accounts == {"shopify": "my-shop.myshopify.com", "quickbooks": realm}


def test_the_page_with_its_field_and_its_fault_has_no_barrier(
    agent: AgentClient, corp: Op, new_user: Callable[..., User]
) -> None:
    reader = Reader(new_user(viewport=PHONE, is_mobile=True, has_touch=True))
    enter(reader.user, ask(agent, corp, "shops")["url"])
    reader.look("consent")
    reader.user.press("continue", **{"variable.shop": "evil.com#"})
    reader.look("consent")
    reader.user.press("continue", **{"variable.shop": "my-shop"})
    reader.look("consent")
    assert len(reader.user.page.content().encode()) < 30_000
