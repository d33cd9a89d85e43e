"""The pages of /account for somebody with sixteen connections and thirty requests: short, reachable and accessible."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest
from django.db import models

from elicit_flows.models import Connection, ConnectionUse, Elicitation
from tests.cast import Person
from tests.journey.stage import Stage
from tests.journey.test_accessibility import PHONE, Reader
from tests.support.browser import User
from tests.support.http_user import HttpUser

pytestmark = pytest.mark.slow

CONNECTIONS, REQUESTS, MOST = 16, 30, 6000
TABS = ("", "/requests", "/payments", "/activity", "/security", "/ended")
MESSAGE = "To list the files of your drive and tell you which of them nobody has opened for a year. " * 4


@pytest.fixture
def crowded(stage: Stage, http_user: HttpUser) -> Iterator[HttpUser]:
    """Somebody whom no other test plays, signed in."""
    who = Person(f"crowded-{secrets.token_hex(4)}", "Crowded")
    for provider in (stage.corp, stage.drive):
        provider.add_account(who.sub)
    stage.complete(http_user, stage.ask(who), who.sub)
    asked = stage.ask(who, reuse="never", message=MESSAGE)
    [held] = [one["id"] for one in stage.connections()]
    [(asking,)] = stage.sql("SELECT agent_id FROM elicit_flows_elicitation WHERE id = %s", asked["id"])
    others = "SELECT id FROM elicit_flows_agent WHERE slug LIKE %s AND id <> %s ORDER BY id"
    agents = [asking, *(pk for (pk,) in stage.sql(others, "journey-%", asking))]
    providers = [pk for (pk,) in stage.sql("SELECT id FROM elicit_flows_provider WHERE enabled ORDER BY id")]
    for number in range(1, CONNECTIONS):
        name = f"{held}-{number}"
        label = f"a-long-name-of-an-account-{number // 2}@example.com"
        place = {"agent_id": agents[number], "provider_id": providers[number % 4], "refresh_due_at": None}
        _copy(stage, Connection, held, {"id": name, "account_id": label, "account_label": label, **place})
        [(use,)] = stage.sql("SELECT min(id) FROM elicit_flows_connectionuse WHERE connection_id = %s", held)
        _copy(stage, ConnectionUse, use, {"connection_id": name})
    for number in range(1, REQUESTS):
        given = {"id": f"{asked['id']}-{number}", "agent_id": agents[number], "idempotency_key": None}
        _copy(stage, Elicitation, asked["id"], given)
    http_user.open(f"{stage.box.url}/account")
    yield http_user
    stage.sql("DELETE FROM elicit_flows_elicitation WHERE sub = %s AND id LIKE %s", who.sub, f"{asked['id']}-%")
    stage.sql("DELETE FROM elicit_flows_connectionuse WHERE connection_id LIKE %s", f"{held}-%")
    stage.sql("DELETE FROM elicit_flows_connection WHERE id LIKE %s", f"{held}-%")


def _copy(stage: Stage, model: type[models.Model], pk: object, changed: dict[str, object]) -> None:
    columns = [field.column for field in model._meta.concrete_fields if field.column != "id" or "id" in changed]
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join("%s" if name in changed else f'"{name}"' for name in columns)
    given = [changed[name] for name in columns if name in changed]
    table = model._meta.db_table
    stage.sql(f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} WHERE id = %s", *given, pk)


@pytest.fixture
def window(stage: Stage, crowded: HttpUser, new_user: Callable[..., User]) -> Callable[..., User]:
    """A browser of theirs on a phone."""

    def make(**options: object) -> User:
        user = new_user(viewport=PHONE, is_mobile=True, has_touch=True, **options)
        cookie = {"name": "sessionid", "value": crowded.http.cookies["sessionid"], "url": stage.box.url}
        user.context.add_cookies([cookie])  # type: ignore[list-item]
        return user

    return make


def test_no_page_of_a_crowded_account_is_long_on_a_phone(stage: Stage, window: Callable[..., User]) -> None:
    user = window(scripts=False)
    for tab in TABS:
        user.open(f"{stage.box.url}/account{tab}")
        assert user.page_name == "account"
        high, wide = (user.page.evaluate(f"document.documentElement.{one}") for one in ("scrollHeight", "scrollWidth"))
        assert high < MOST, (tab, high)
        assert wide <= PHONE["width"], tab
    user.open(f"{stage.box.url}/account")
    assert "16 agents with access" in user.text
    assert "30 requests waiting" in user.text
    assert user.page.locator("form[data-action=revoke]").count() == 10


def test_a_person_goes_through_all_of_it_and_finds_one_without_scripts(
    stage: Stage, window: Callable[..., User]
) -> None:
    user = window(scripts=False)
    for tab, row, there in (("", "form[data-action=revoke]", 16), ("/requests", ".cards figure", 30)):
        user.open(f"{stage.box.url}/account{tab}")
        found = user.page.locator(row).count()
        while user.page.locator("a[rel=next]").count():
            with user.page.expect_navigation():
                user.page.locator("a[rel=next]").click()
            found += user.page.locator(row).count()
        assert found == there, tab
    user.open(f"{stage.box.url}/account")
    user.page.get_by_role("searchbox").fill("account-7@")
    with user.page.expect_navigation():
        user.page.get_by_role("button", name="Search").click()
    assert user.page.locator("form[data-action=revoke]").count() == 2
    user.page.locator("details:has([data-action=revoke]) > summary").first.press("Enter")
    assert "stops working" in user.text
    user.press("revoke")
    assert " disconnected. " in user.page.get_by_role("status").inner_text()
    with user.page.expect_navigation():
        user.page.get_by_role("link", name="What you have disconnected").click()
    assert "a-long-name-of-an-account-7@example.com" in user.text


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["en", "ar"])
def test_the_pages_of_a_crowded_account_are_accessible(stage: Stage, window: Callable[..., User], locale: str) -> None:
    reader = Reader(window(locale=locale))
    for tab in TABS:
        reader.user.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        reader.check(f"{stage.box.url}/account{tab}", "account")
        reader.user.page.set_viewport_size({"width": 1440, "height": 900})
        for scheme in ("light", "dark"):
            reader.user.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert reader._run() == [], (tab, scheme)
