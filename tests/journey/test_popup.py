"""A site that opens a request in a popup with our script, and the way back into a native app."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cast import program
from tests.docs.page import found
from tests.journey.stage import Stage
from tests.support import box_config
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.process import until
from tests.support.site import Site

pytestmark = pytest.mark.slow

APP = "com.example.drive-bot:/done"
SCRIPT = Path(__file__).resolve().parents[2] / "elicit_flows/static/elicit/popup.js"
PAGE = "how-to/popup.md"
BROKEN = """<button>Connect</button><p></p>
<script type="module">
import { openRequest } from "https://flows.example.com/static/elicit/popup.js";
const failed = () => (document.querySelector("p").textContent = "failed");
document.querySelector("button").onclick = () => openRequest(Promise.reject(new Error("no link"))).catch(failed);
</script>"""


@pytest.fixture
def shop() -> Iterator[Site]:
    """A site of the agent's own."""
    site = Site()
    yield site
    site.close()


@pytest.fixture
def asked(stage: Stage, shop: Site) -> dict[str, str]:
    """A question whose last page leads to the shop, and the pages of the shop."""
    who = program(f"{stage.agent.slug}-shop")
    stage.box.apply({"agent": [box_config.agent(who, return_urls=[shop.url("/back"), APP])]})
    stage.box.programs[who.slug] = who
    stage.agent = stage.box.agent(who.slug)
    asked = ask(stage, shop.url("/back"))
    blocks = {block.argument: block.text for block in found(PAGE, "popup")}
    for name, text in {**blocks, "broken": BROKEN}.items():
        here = text.replace("https://flows.example.com", stage.box.url)
        shop.pages[f"/{name}"] = f'<!doctype html><title>Shop</title><body data-page="{name}">{here}'
    shop.pages["/connect"] = asked["url"]
    return asked


def ask(stage: Stage, back: str) -> dict[str, str]:
    return stage.ask(kind="confirm", message="May I?", params={}, return_url=back)


def test_the_site_hears_of_the_return_and_the_popup_closes(asked: dict[str, str], shop: Site, alice: User) -> None:
    alice.open(shop.url("/shop"))
    with alice.page.expect_popup() as opened:
        alice.page.get_by_role("button").click()
    popup = opened.value
    popup.wait_for_selector('body[data-page="form"]')
    assert popup.url == asked["url"]
    assert popup.evaluate("window.opener") is None, "the request's page knows nothing of the site's"
    assert len(shop.requests("/shop")) == 1, "what looks closed is not taken for a return"
    with popup.expect_event("close"):
        popup.locator('[data-action="submit"] button, button[data-action="submit"]').first.click()
    until(lambda: len(shop.requests("/shop")) == 2, "the page was loaded again, as it says")


@pytest.mark.parametrize("why", ["blocked", "phone"])
def test_where_a_popup_is_not_to_be_had_the_page_itself_goes(
    why: str, asked: dict[str, str], shop: Site, alice: User
) -> None:
    if why == "phone":
        alice.page.set_viewport_size({"width": 375, "height": 700})
    else:
        alice.page.add_init_script("window.open = () => null")
    alice.open(shop.url("/shop"))
    alice.page.get_by_role("button").click()
    alice.wait_for_page("form")
    assert alice.url == asked["url"]
    alice.press("submit")
    alice.wait_for_page("back")
    assert alice.url == shop.url("/back"), "a page that is no popup stays"


def test_a_popup_without_a_link_closes_and_the_site_is_told(asked: dict[str, str], shop: Site, alice: User) -> None:
    alice.open(shop.url("/broken"))
    with alice.page.expect_popup() as opened:
        alice.page.get_by_role("button").click()
    if not opened.value.is_closed():
        opened.value.wait_for_event("close")
    assert alice.page.locator("p").text_content() == "failed"


def test_the_script_is_small() -> None:
    assert SCRIPT.stat().st_size <= 2048


def test_t23_an_app_is_gone_back_to_by_a_press_alone(
    asked: dict[str, str], stage: Stage, shop: Site, http_user: HttpUser
) -> None:
    question = ask(stage, APP)
    http_user.connect(question["url"], "alice", decide="nothing")
    http_user.press("submit")
    assert http_user.page_status == "completed"
    assert APP in http_user.page.links
    assert "Go back to the app" in http_user.text
    assert "data-returns" not in http_user.answer.text, "browsers open an app only for a press"
    refused = stage.try_to_ask(kind="confirm", message="May I?", params={}, return_url=f"{APP}/x")
    assert refused.status_code == 422
