"""Web push in Chromium: the button, the worker and the message. Chromium's own push service is Google's and cannot be
had here, so ``subscribe`` gives what the double's browser gives, and the message is handed to the worker over the
DevTools protocol.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.cast import ALICE, program
from tests.notifications.test_push import PushService
from tests.support import box_config
from tests.support.box import Box
from tests.support.box_config import to_toml
from tests.support.browser import FLAGS, User
from tests.support.left_out import left_out
from tests.support.op import Op
from tests.support.process import until

BOT = program("pushing-bot")
SHOWN = """async () => {
  const [worker] = await navigator.serviceWorker.getRegistrations();
  return (await worker.getNotifications()).map(({title, body, data, tag}) => ({title, body, data, tag}));
}"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[PushService]:
    service = PushService(tmp_path)
    yield service
    service.process.stop()


@pytest.fixture
def user(browser: Browser) -> Iterator[User]:
    """In the whole Chromium: the one without windows shows no messages."""
    program = shutil.which("chromium")
    if program is None:
        left_out("Chromium with windows: not found (Debian: apt-get install chromium)")
    started = browser.browser_type.launch(executable_path=program, args=[*FLAGS, "--headless=new"])
    user = User(started)
    yield user
    user.close()
    started.close()


@pytest.fixture
def box(new_box: Callable[..., Box]) -> Box:
    box = new_box()
    file = box.home / "pushing.toml"
    file.write_text(f"[notifications]\npush = true\n\n{to_toml({'agent': [box_config.agent(BOT, notify=True)]})}")
    box.manage("apply", "--yes", "--skip-checks", str(file))
    box.programs[BOT.slug] = BOT
    return box


@pytest.mark.slow
@pytest.mark.limit(240)
def test_a_person_presses_the_button_and_the_browser_shows_who_asks(
    box: Box, corp: Op, service: PushService, user: User
) -> None:
    page, tools = user.page, user.context.new_cdp_session(user.page)
    given = service.subscription()
    keys = {name: given[name] for name in ("p256dh", "auth")}
    double = json.dumps({"endpoint": given["endpoint"], "keys": keys})
    user.open(f"{box.url}/account/security")
    user.carry_on("signin", ALICE.sub)
    button = page.get_by_role("button", name="Show messages in this browser")
    button.click()
    page.get_by_text("Your browser does not allow it.").wait_for()

    user.context.grant_permissions(["notifications"], origin=box.url)
    button.click()
    page.get_by_text("Your browser could not reach its message service.").wait_for()

    page.evaluate(f"PushManager.prototype.subscribe = async () => ({{toJSON: () => ({double})}})")
    registered: list[str] = []
    tools.on("ServiceWorker.workerRegistrationUpdated", lambda said: registered.extend(_ids(said)))
    tools.send("ServiceWorker.enable")
    button.click()
    page.get_by_text("This browser shows messages from now on.").wait_for()

    body = {"kind": "confirm", "subject": ALICE.subject(corp.issuer), "message": "Delete the report?", "params": {}}
    asked = box.agent(BOT.slug).post("/v1/elicitations", json={**body, "notify": True}).json()
    [got] = until(service.received, "the push service got the message", timeout=60)
    assert "fault" not in got
    until(lambda: registered, "the worker is there")
    message = {"origin": box.url, "registrationId": registered[0], "data": json.dumps(got["message"])}
    tools.send("ServiceWorker.deliverPushMessage", message)
    [shown] = until(lambda: page.evaluate(SHOWN), "the browser shows it")
    assert shown["data"] == f"/c/{asked['id']}"
    assert "report" not in json.dumps(shown)
    # A second charge under a mandate leads to the same page. It shows beside the first, and not unseen in its place.
    another = json.dumps(got["message"] | {"id": "nt_another"})
    for _ in range(2):
        tools.send("ServiceWorker.deliverPushMessage", {**message, "data": another})
    both = until(lambda: len(found := page.evaluate(SHOWN)) == 2 and found, "the browser shows both")
    assert len({one["tag"] for one in both}) == 2

    page.get_by_role("button", name="Stop the messages").click()
    page.get_by_text("That browser shows no more messages.").wait_for()
    # The whole browser also looks for an icon at the identity provider, which has none, and may say why it has no push.
    usual = ("404 (Not Found)", "in incognito mode")
    assert [one for one in user.complaints if not any(words in one for words in usual)] == []


def _ids(said: dict[str, list[dict[str, str]]]) -> list[str]:
    return [one["registrationId"] for one in said["registrations"]]
