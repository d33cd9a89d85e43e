"""A person's own OAuth client at the certified provider: typed on our page; the agent gets only its tokens."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import httpx2
import pytest

from tests.journey.stage import Json, Stage
from tests.support import dump
from tests.support.browser import User
from tests.support.op import Op
from tests.support.process import until

SLUG = "own-drive"


@dataclass
class Mine:
    """What Alice made in the provider's console."""

    client_id: str
    client_secret: str

    def form(self, **instead: str) -> dict[str, str]:
        return {"client_id": self.client_id, "client_secret": self.client_secret, **instead}


@pytest.fixture
def mine(stage: Stage, drive: Op) -> Mine:
    made = Mine(f"mine-{secrets.token_hex(6)}", f"own-{secrets.token_urlsafe(24)}")
    grants = {"grant_types": ["client_credentials"], "response_types": [], "scope": "files.read"}
    drive.add_client(made.client_id, secret=made.client_secret, **grants)
    table = {"slug": SLUG, "name": "Own Drive", "sort": "credentials", "find_url": "https://drive.example.com/apps"}
    token = {"token_url": f"{drive.issuer}/token", "scopes": ["files.read"]}
    stage.box.apply({"provider": [table | token]})
    return made


def ask(stage: Stage, **more: object) -> Json:
    return stage.ask(kind="credentials", message="To read your meters at night.", params={"provider": SLUG}, **more)


def post(stage: Stage, connection: str, what: str) -> httpx2.Response:
    return stage.agent.post(f"/v1/connections/{connection}/{what}")


@pytest.mark.slow
def test_t73_a_client_is_typed_corrected_used_ended_and_its_secret_is_nowhere(
    stage: Stage, user: User, drive: Op, mine: Mine
) -> None:
    drive.change(access_token_ttl=2)
    asked = ask(stage)
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    assert "127.0.0.1" in user.text
    assert "never the secret" in user.text
    assert user.page.locator("input[name=for-tokens]").count() == 1
    user.press("submit", **mine.form(client_secret="of-another-client"))
    assert (user.page_name, user.page_status) == ("form", "started")
    assert "Own Drive does not accept this." in user.text
    assert user.page.locator("#f-client_id").input_value() == mine.client_id
    assert user.page.locator("#f-client_secret").input_value() == ""
    user.press("submit", **mine.form())
    user.wait_for_page("done", "completed")
    result = stage.look(asked)["result"]
    assert (result["provider"], result["scopes"]) == (SLUG, ["files.read"])
    connection = result["connection"]
    first = post(stage, connection, "token").json()["access_token"]
    assert post(stage, connection, "secret").status_code == 409
    until(lambda: post(stage, connection, "token").json()["access_token"] != first, "another one was asked for")
    issued = [one["value"] for one in drive.issued("client_credentials")]
    assert first in issued
    assert ask(stage)["reused"] is True
    user.open(f"{stage.box.url}/account/connections/{connection}")
    assert "You typed it" in user.text
    assert "whose secret it never reads" in user.text
    pages = user.page.content()
    user.page.get_by_text("Disconnect", exact=False).first.click()
    user.press("revoke")
    assert post(stage, connection, "token").status_code == 410
    kept = stage.sql("SELECT secrets, access_token, upstream FROM elicit_flows_connection WHERE id = %s", connection)
    assert kept == [("", "", "none")]
    everywhere = [pages, str(stage.feed()), str(stage.connections()), dump.database(stage.box.database_url)]
    for place in [*everywhere, stage.box.logs()]:
        assert mine.client_secret not in place
        assert "of-another-client" not in place
