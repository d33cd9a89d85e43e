"""The account page in a browser: a person sees what an agent did with their account, and ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.doubles.server import Request, Response
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.process import until


@pytest.mark.slow
def test_t86_a_person_reads_what_an_agent_did_and_ends_it_though_the_provider_is_down(
    stage: Stage, alice: User, new_http_user: Callable[..., HttpUser], doubles: Doubles
):
    asked = stage.ask(provider="bad", reuse="never")
    stage.complete(new_http_user(), asked)
    assert stage.token(asked).status_code == 200
    back = threading.Event()

    def hangs(request: Request) -> Response:
        back.wait(30)
        return Response(503)

    doubles.bad.scripted["revoke"] = hangs
    path = f"/account/connections/{stage.look(asked)['result']['connection']}"
    alice.open(f"{stage.box.url}/account")
    alice.page.locator(f'a[href="{path}"]').click()
    alice.wait_for_page("connection", "active")
    assert "You connected it" in alice.text
    assert "fetched an access token" in alice.text

    alice.page.locator("details:has([data-action=revoke]) > summary").click()
    alice.press("revoke")
    assert alice.page_name == "account", "while the provider still thinks about it"
    assert stage.token(asked).status_code == 410
    alice.open(stage.box.url + path)
    assert alice.page_status == "revoked"
    assert "Bad will be told as soon as it can be reached" in alice.text
    assert "You disconnected it" in alice.text

    del doubles.bad.scripted["revoke"]
    back.set()

    def told() -> bool:
        alice.open(stage.box.url + path)
        return "Bad was told" in alice.text

    until(told, "the provider has been told, and the page says so", every=0.5)


@pytest.mark.slow
def test_t61_signing_out_on_every_device_ends_the_other_browser_too(
    stage: Stage, alice: User, new_http_user: Callable[..., HttpUser]
):
    other = new_http_user()
    asked = stage.ask(reuse="never")
    other.open(asked["url"])
    other.press("signin")
    other.press("alice")
    assert other.page_name == "consent"
    alice.open(f"{stage.box.url}/account/security")
    alice.press("signout-everywhere")
    other.press("continue")
    assert other.page_name == "signin"
    assert stage.status(asked) == "pending"
