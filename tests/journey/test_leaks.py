"""T34 in Chromium: codes and states are sent to the callback only."""

from __future__ import annotations

import pytest
from playwright.sync_api import Request

from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.sink import Sink


@pytest.mark.slow
def test_t34_no_code_and_no_state_goes_anywhere_but_to_the_callback(stage: Stage, user: User, sink: Sink):
    asked, seen = stage.ask(return_url=sink.url("/done")), list[Request]()
    user.context.on("request", lambda request: seen.append(request))  # noqa: PLW0108  it marks its handlers
    user.connect(asked["url"], "alice")
    user.wait_for_page("done", "completed")
    user.page.reload()
    user.open(f"{stage.box.url}/account")
    user.open(f"{asked['url']}/done")
    with user.page.expect_navigation():
        user.page.get_by_role("link", name="Go back to").click()
    callbacks = [request for request in seen if "/callback" in request.url]
    assert len(callbacks) == 2, "one of the sign-in, one of the provider"
    secrets = {value for request in callbacks for value in _values(request.url, "code", "state")}
    assert len(secrets) == 4
    first_after = seen.index(callbacks[-1]) + 1
    assert len(seen) - first_after > 5
    for request in seen[first_after:]:
        said = request.url + str(request.all_headers())
        assert not [secret for secret in secrets if secret in said], request.url
    left = next(request for request in seen if request.url == sink.url("/done"))
    assert "referer" not in left.all_headers()
    for request in seen:
        foreign = not request.url.startswith(stage.box.url)
        assert not (foreign and stage.box.url in request.all_headers().get("referer", "")), request.url
    assert sink.received("/done")[-1].headers.get("referer") is None


@pytest.mark.slow
def test_t34_nor_does_the_history_hold_them(stage: Stage, user: User):
    asked = stage.ask()
    user.connect(asked["url"], "alice")
    user.wait_for_page("done", "completed")
    visited = []
    for _ in range(8):
        user.page.go_back()
        visited.append(user.page.url)
    assert not [url for url in visited if "code=" in url or "/callback" in url]
    assert stage.drive.counts()["token.authorization_code"] == 1


def _values(url: str, *names: str) -> list[str]:
    return [part.partition("=")[2] for part in url.partition("?")[2].split("&") if part.partition("=")[0] in names]
