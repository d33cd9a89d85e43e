"""The admin in a real browser, under the service's strict Content-Security-Policy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cast import OLGA
from tests.management.files import SMALL
from tests.support.box import Box
from tests.support.browser import User


@pytest.fixture(scope="module")
def box(migrated_sqlite: Path) -> Iterator[Box]:
    """A service with a little configuration and an operator."""
    made = Box("embedded")
    shutil.copy(migrated_sqlite, made.home / "elicit.sqlite3")
    file = made.home / "elicit.toml"
    file.write_text(SMALL)
    made.manage("apply", str(file))
    made.add_operator(OLGA)
    yield made.start()
    made.remove()


@pytest.fixture
def olga(box: Box, user: User) -> User:
    """In the admin."""
    user.open(f"{box.url}/admin/")
    user.page.fill("[name=username]", OLGA.username)
    user.page.fill("[name=password]", OLGA.password)
    user.page.click("[type=submit]")
    user.page.wait_for_url(f"{box.url}/admin/")
    return user


@pytest.mark.slow
def test_every_page_works_under_the_policy_with_its_style_and_scripts(box: Box, olga: User) -> None:
    assert olga.page_name == "operators"
    links = re.findall(r'href="(/admin/\w+/\w+/(?:add/)?)"', olga.page.content())
    assert "/admin/elicit_flows/agent/add/" in links
    for link in dict.fromkeys(links):
        olga.open(box.url + link)
        head = "body > header" if olga.page_name == "operators" else "#header"
        assert olga.page.locator(head).is_visible()
        style = olga.page.evaluate("head => getComputedStyle(document.querySelector(head)).display", head)
        assert style in {"block", "flex"}, link
    assert len(links) > 10
    assert olga.complaints == []


@pytest.mark.slow
def test_an_operator_makes_an_agent_and_sees_its_key_once(box: Box, olga: User) -> None:
    page = olga.open(f"{box.url}/admin/elicit_flows/agent/add/")
    page.fill("[name=slug]", "made-by-hand")
    page.fill("[name=name]", "Made by hand")
    page.get_by_label("corp").check()
    page.click("[name=_save]")
    key = page.locator("dd code").inner_text()
    assert key.startswith("ek_")
    page.get_by_text("Continue to the agent").click()
    assert page.get_by_label("corp").is_checked()
    assert key not in page.content()
    assert page.locator(".field-key_hint .readonly").inner_text() == key[:6]
    page.get_by_text("Make a new API key").click()
    page.click("input[value='Make a new API key']")
    assert page.locator("dd code").inner_text() not in {"", key}
    assert olga.complaints == []
