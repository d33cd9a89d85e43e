"""A code of the certified provider: shown to the right person, typed in another browser, confirmed here."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx2
import pytest

from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.persona import Persona
from tests.support.process import until

PROVIDER = "by-device"


def enter(person: Persona, drive: Op, code: str, who: str, decide: str = "allow") -> None:
    """At the provider, on whichever device."""
    person.open(f"{drive.issuer}/device")
    person.press("enter", user_code=code)
    person.carry_on("same", who, decide)


@pytest.mark.slow
def test_alice_types_the_code_on_her_phone_and_says_that_the_account_is_hers(
    each_stage: Stage, new_user: Callable[..., User], new_http_user: Callable[..., HttpUser]
) -> None:
    stage, asked = each_stage, each_stage.ask(provider=PROVIDER)
    desk, phone = new_user(), new_user(viewport={"width": 390, "height": 844})
    desk.open(asked["url"])
    desk.carry_on("signin", "alice", "continue")
    assert (desk.page_name, desk.page_status) == ("device", "started")
    code = desk.page.locator(".to-type").inner_text()
    link = desk.page.locator("a.primary")
    assert link.get_attribute("href") == f"{stage.drive.issuer}/device?user_code={code}"
    assert link.get_attribute("rel") == "noopener noreferrer"

    stranger = new_http_user()
    stranger.open(desk.url)
    stranger.carry_on("signin", "bob")
    assert (stranger.answer.status_code, stranger.page_name) == (403, "mismatch")
    assert code not in stranger.answer.text

    enter(phone, stage.drive, code, "alice")
    assert phone.page_name == "op-entered"
    desk.wait_for_page("account_yours")
    assert "Alice" in desk.text
    assert (stage.connections(), stage.status(asked)) == ([], "started")
    desk.press("yes")
    desk.wait_for_page("done", "completed")
    result = stage.look(asked)["result"]
    assert result["account"] == {"id": "alice", "label": "Alice"}
    token = stage.agent.post(f"/v1/connections/{result['connection']}/token").json()["access_token"]
    said = httpx2.get(f"{stage.drive.issuer}/api/whoami", headers={"authorization": f"Bearer {token}"}).json()
    assert said["sub"] == "alice"
    assert stage.events(asked) == ["created", "started", "settling", "completed"]
    assert code not in json.dumps([stage.feed(), stage.look(asked)])
    assert code not in stage.box.logs()


def live(drive: Op) -> set[str]:
    return {one["value"] for one in drive.issued("refresh_token") if one["active"]}


@pytest.mark.slow
@pytest.mark.parametrize(("decide", "ends"), [("allow", "started"), ("deny", "declined")])
def test_without_scripts_a_button_asks_how_it_stands(
    stage: Stage, new_http_user: Callable[..., HttpUser], decide: str, ends: str
) -> None:
    asked, alice, before = stage.ask(provider=PROVIDER), new_http_user(), live(stage.drive)
    alice.open(asked["url"])
    alice.carry_on("signin", "alice", "continue")
    assert "I have entered it" in alice.text
    code = next(line for line in alice.answer.text.split("\n") if "to-type" in line).split(">")[1].split("<")[0]
    enter(new_http_user(), stage.drive, code, "bob", decide)
    page = "account_yours" if decide == "allow" else "done"

    def moved_on() -> bool:
        alice.open(f"{asked['url']}/done")
        return alice.page_name == page

    until(moved_on, "the page goes on")
    if decide == "allow":
        assert "Bob" in alice.text
        alice.press("no")
        assert alice.page_name == "consent"
        until(lambda: live(stage.drive) <= before, "what was granted is given back")
    assert (stage.status(asked), stage.connections()) == (ends, [])
