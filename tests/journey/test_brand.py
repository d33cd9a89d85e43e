"""The operator's name, logo and colours on the pages that people see, over HTTP and in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest

from elicit_flows.brands.theme import DARK, nearest
from tests.brands.files import png
from tests.cast import DRIVE_BOT, PHOTO_BOT
from tests.journey.stage import Stage
from tests.journey.test_accessibility import PHONE, Reader
from tests.support.box import Box
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until

pytestmark = pytest.mark.slow

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 40">'
    + "".join(f'<path fill="#0b5cad" d="M{at} 0c3.25 1.5 7.75 2.25 9.5 {at}.5L{at} 40z"/>' for at in range(60))
    + "</svg>"
)  # fmt: skip
BRAND = """\
[brand]
name = "Acme"
legal_name = "Acme GmbH, Berlin"
logo = "file:{folder}/logo.svg"
logo_dark = "file:{folder}/dark.svg"
icon = "file:{folder}/icon.png"
brand = "#0b5cad"
radius = "0.5rem"
support_url = "https://acme.example/help"
privacy_url = "https://acme.example/privacy"
terms_url = "https://acme.example/terms"
texts = {{ signin_intro = {{ en = "Use your Acme account." }}, consent_footer = {{ en = "Questions? Ask your help desk." }}, done = {{ en = "Thank you." }} }}
"""  # noqa: E501, a value of TOML is on one line
LEAD = "getComputedStyle(document.documentElement).getPropertyValue('--lead').trim()"
NAME = "document.querySelector('header .name').innerText"


@pytest.fixture(scope="module")
def branded(new_box: Callable[..., Box], tmp_path_factory: pytest.TempPathFactory) -> Box:
    """A service of Acme's, on which Photo Bot has a name and a colour of its own."""
    folder, box = tmp_path_factory.mktemp("brand"), new_box("embedded")
    (folder / "logo.svg").write_text(LOGO)
    (folder / "dark.svg").write_text(LOGO.replace("#0b5cad", "#7db8ff"))
    (folder / "icon.png").write_bytes(png(32, 32))
    (folder / "brand.toml").write_text(BRAND.format(folder=folder))
    box.manage("apply", "--yes", "--skip-checks", str(folder / "brand.toml"))
    own: dict[str, Any] = {
        "brand": {"name": "Photo Works", "brand": "#8a1c5b", "hide_secured_by": True},
        "logo": f"file:{folder}/icon.png",
        "site": "https://photo.example/about",
        "description": "Sorts your photos.",
    }
    [corp], [drive] = box.tables["identity_provider"], box.tables["provider"]
    box.apply({
        "agent": [{**box.agent_table(PHOTO_BOT), **own}],
        "identity_provider": [{**corp, "name": "Acme account", "icon": f"file:{folder}/icon.png"}],
        "provider": [{**drive, "logo": f"file:{folder}/icon.png"}],
    })  # fmt: skip
    return box


@pytest.fixture
def shop(branded: Box, corp: Op, drive: Op) -> Stage:
    return Stage(branded, branded.agent(DRIVE_BOT.slug), corp, drive)


def addresses(page: httpx2.Response) -> dict[str, str]:
    """What the page loads, by kind."""
    patterns = {
        "style": r'<link rel="stylesheet" href="([^"]+)"',
        "icon": r'<link rel="icon" href="([^"]+)"',
        "logo": r'<img src="([^"]+)"',
        "dark": r'<source srcset="([^"]+)"',
    }
    found = {name: re.search(pattern, page.text) for name, pattern in patterns.items()}
    return {name: urljoin(str(page.url), one[1]) for name, one in found.items() if one}


def test_the_brand_is_on_every_page_and_the_agents_own_on_those_of_its_requests(
    shop: Stage, http_user: HttpUser
) -> None:
    photo = shop.ask(agent=shop.box.agent(PHOTO_BOT.slug))
    for path in ("/", "/account", "/device", "/nothing"):
        http_user.open(f"{shop.box.url}{path}")
        for said in ("Acme", "Acme GmbH, Berlin", "Support", "Privacy", "Terms", "Secured by Elicit Flows"):
            assert said in http_user.text, (path, said)
        assert "· Acme</title>" in http_user.answer.text
    http_user.open(photo["url"])
    assert "Use your Acme account." in http_user.text
    assert "Photo Works" not in http_user.answer.text, "whoever has not signed in learns nothing of who asks"
    http_user.carry_on("signin", "bob")
    assert http_user.page_name == "mismatch"
    assert "Photo Works" not in http_user.answer.text, "nor does another person"
    http_user.press("switch")
    http_user.carry_on("alice")
    assert http_user.page_name == "consent"
    assert "· Photo Works</title>" in http_user.answer.text
    assert "Secured by" not in http_user.text
    assert "Acme GmbH, Berlin" in http_user.text, "what it does not replace is the service's"
    assert "/brand/style/8a1c5b-" in addresses(http_user.answer)["style"]
    http_user.carry_on("continue", "alice", "allow")
    assert (http_user.page_name, "Thank you." in http_user.text) == ("done", True)
    assert "· Photo Works</title>" in http_user.answer.text


def test_who_asks_and_what_for_are_shown_with_their_pictures(shop: Stage, http_user: HttpUser) -> None:
    http_user.open(f"{shop.box.url}/account")
    assert "Continue with Acme account" in http_user.text
    assert http_user.answer.text.count('<img src="data:image/png;base64,') == 1, "small ones stand in the page"
    http_user.carry_on("signin", "alice")
    asked = shop.ask(agent=shop.box.agent(PHOTO_BOT.slug), scopes=["files.write"])
    http_user.open(asked["url"])
    assert "Sorts your photos." in http_user.text
    assert '<a href="https://photo.example/about" rel="noopener noreferrer">photo.example</a>' in http_user.answer.text
    assert http_user.answer.text.count('<img src="data:image/png;base64,') == 2, "the agent's and the provider's"


def test_t52_pictures_and_the_sheet_are_kept_for_ever_and_can_do_nothing(shop: Stage, http_user: HttpUser) -> None:
    http_user.open(shop.box.url)
    found = addresses(http_user.answer)
    assert set(found) == {"style", "icon", "logo", "dark"}
    for name, address in found.items():
        answer = httpx2.get(address, trust_env=False)
        headers = answer.headers
        assert answer.status_code == 200, name
        assert headers["cache-control"] == "public, max-age=31536000, immutable"
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers
        assert "cookie" not in headers.get("vary", "").lower(), "alike for everybody"
        assert headers["content-type"] == {"style": "text/css; charset=utf-8", "icon": "image/png"}.get(
            name, "image/svg+xml"
        )
        if name != "style":
            csp = headers["content-security-policy"]
            assert csp == "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
    for address in ("/brand/picture/" + "0" * 64, "/brand/style/red/0.css", "/brand/style/0b5cad-7db8ff-9/0.css"):
        answer = httpx2.get(shop.box.url + address, trust_env=False)
        assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")
    other = httpx2.get(re.sub(r"\w+\.css", "0000000000000000.css", found["style"]), trust_env=False)
    assert (other.status_code, other.headers["cache-control"]) == (200, "no-store"), "of another version of the service"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_connect_page_with_brand_and_logo_is_small_and_in_its_colours(
    shop: Stage, new_user: Callable[..., User], scripts: bool
) -> None:
    user = new_user(scripts=scripts)
    user.open(shop.ask()["url"])
    user.carry_on("signin", "alice")
    loaded: dict[str, int] = {}
    link = shop.ask()["url"]
    fresh = new_user(scripts=scripts)  # whose browser has kept nothing
    fresh.context.add_cookies([one for one in user.context.cookies() if one["name"] == "sessionid"])  # type: ignore[misc]
    fresh.page.on("response", lambda one: loaded.update({one.url: len(one.body())}))
    fresh.page.goto(link, wait_until="networkidle")
    assert fresh.page_name == "consent"
    assert {"picture", "style"} <= {url.split("/")[4] for url in loaded if "/brand/" in url}
    assert len(loaded) <= 4, loaded
    assert sum(loaded.values()) <= 30_000, loaded
    for scheme, colour in (("light", "#0b5cad"), ("dark", nearest("#0b5cad", DARK))):
        fresh.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        if scripts:
            assert (fresh.page.evaluate(LEAD), fresh.page.evaluate(NAME)) == (colour, "Acme")
            box = fresh.page.locator("header img").bounding_box()
            assert box is not None
            assert (round(box["width"]), round(box["height"])) == (128, 32), "4 to 1, as it is"
    assert "Questions? Ask your help desk." in fresh.text
    assert fresh.complaints == []


def test_a_change_of_the_brand_is_seen_without_a_restart(
    new_box: Callable[..., Box], http_user: HttpUser, tmp_path: Path
) -> None:
    box, file = new_box("embedded"), tmp_path / "brand.toml"
    file.write_text('[brand]\nname = "Acme"\n')

    def title() -> str:
        http_user.open(box.url)
        return http_user.answer.text.partition("</title>")[0]

    assert title().endswith("· Elicit Flows")
    said = box.manage("apply", "--skip-checks", str(file)).stdout
    assert said == "brand: made\n", "and what the file does not name stays"
    until(lambda: title().endswith("· Acme"), "the new name is shown")


def test_the_preview_follows_what_an_operator_types(branded: Box, user: User) -> None:
    olga = branded.add_operator()
    user.open(f"{branded.url}/admin/login/?next=/admin/elicit_flows/brand/")
    user.page.fill("#id_username", olga.username)
    user.page.fill("#id_password", olga.password)
    with user.page.expect_navigation():
        user.page.click("#login-form [type=submit]")
    with user.page.expect_navigation():
        user.page.click("text=The whole service")
    user.page.fill("#id_name", "Acme Robotics")
    user.page.fill("#id_brand", "#8a1c5b")
    for scheme, colour in (("light", "#8a1c5b"), ("dark", nearest("#8a1c5b", DARK))):
        shown = user.page.frame_locator(f'iframe[src*="scheme={scheme}"]')
        # The frame has the new page some time after it was told to load it.
        shown.locator(f'head link[href*="{colour[1:]}"]').wait_for(state="attached")
        shown.locator("header .name", has_text="Acme Robotics").wait_for()
    assert user.complaints == []


@pytest.mark.slow
def test_branded_pages_are_accessible(shop: Stage, new_user: Callable[..., User], http_user: HttpUser) -> None:
    reader = Reader(new_user(viewport=PHONE, is_mobile=True, has_touch=True))
    link = shop.ask(agent=shop.box.agent(PHOTO_BOT.slug), scopes=["files.write"])["url"]
    reader.check(shop.box.url, "home")
    reader.check(f"{shop.box.url}/account", "signin")
    http_user.open(link)
    http_user.carry_on("signin", "alice")
    cookie: Any = {"name": "sessionid", "value": http_user.http.cookies["sessionid"], "url": shop.box.url}
    reader.user.context.add_cookies([cookie])
    reader.check(link, "consent")
