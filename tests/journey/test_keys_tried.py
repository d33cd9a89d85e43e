"""Credentials are checked at the provider before they are stored, and can be corrected."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.doubles.key_provider import KEY, KeyProvider
from tests.doubles.server import Request, Response
from tests.journey.stage import Json, Stage, form_post
from tests.support import dump
from tests.support.box import Box
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.persona import Persona

SLUG = "key-house"
WRONG = "key_wrong-9876543210"
FIELDS = [{"name": "api_key", "label": "API key", "pattern": "^key_", "example": "key_…"}]
Ready = Callable[[Stage], Stage]


@pytest.fixture(scope="module")
def house_server() -> Iterator[KeyProvider]:
    with KeyProvider() as house:
        yield house


@pytest.fixture
def house(house_server: KeyProvider) -> KeyProvider:
    house_server.scripted.clear()
    house_server.requests.clear()
    return house_server


@pytest.fixture(scope="module")
def configured(house_server: KeyProvider) -> Callable[[Box], None]:
    """Makes the house known on a box, once."""
    known: set[str] = set()

    def configure(box: Box) -> None:
        if box.url not in known:
            verify = {"url": f"{house_server.url}/check", "headers": {"x-key": "{api_key}"}}
            table = {"slug": SLUG, "name": "Key House", "find_url": "https://keys.example.com/new", "fields": FIELDS}
            box.apply({"provider": [{**table, "verify": verify}]})
            known.add(box.url)

    return configure


@pytest.fixture
def shop(stage: Stage, house: KeyProvider, configured: Callable[[Box], None]) -> Stage:
    """The embedded shape, with the house's provider."""
    configured(stage.box)
    return stage


@pytest.fixture
def each_shop(each_stage: Stage, house: KeyProvider, configured: Callable[[Box], None]) -> Stage:
    configured(each_stage.box)
    return each_stage


@pytest.fixture(params=["Chromium", pytest.param("Chromium without scripts", marks=pytest.mark.slow), "HTTP"])
def anybody(request: pytest.FixtureRequest) -> Persona:
    if request.param == "HTTP":
        return request.getfixturevalue("new_http_user")()
    return request.getfixturevalue("new_user")(scripts=request.param == "Chromium")


def ask(stage: Stage, **more: object) -> Json:
    return stage.ask(kind="credentials", message="To read your meters.", params={"provider": SLUG}, **more)


def come(user: Persona, asked: Json) -> None:
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    assert (user.page_name, user.page_status) == ("form", "pending")


def secret(stage: Stage, connection: str) -> httpx2.Response:
    return stage.agent.post(f"/v1/connections/{connection}/secret")


@pytest.mark.slow
def test_a_wrong_key_is_said_so_and_corrected(shop: Stage, house: KeyProvider, anybody: Persona) -> None:
    asked = ask(shop)
    come(anybody, asked)
    assert "keys.example.com" in anybody.text
    anybody.press("submit", api_key=WRONG)
    assert (anybody.page_name, anybody.page_status) == ("form", "started")
    assert "Key House does not accept this." in anybody.text
    assert shop.connections() == []
    anybody.press("submit", api_key=KEY)
    assert (anybody.page_name, anybody.page_status) == ("done", "completed")
    told = shop.look(asked)["result"]
    assert list(told) == ["connection"]
    assert secret(shop, told["connection"]).json() == {"fields": {"api_key": KEY}}
    assert [request.headers["x-key"] for request in house.seen("check")] == [WRONG, KEY]


@pytest.mark.slow
def test_who_types_a_key_can_look_at_it_until_it_is_sent(shop: Stage, house: KeyProvider, alice: User) -> None:
    alice.open(ask(shop)["url"])
    key, shows = alice.page.get_by_label("API key", exact=True), alice.page.get_by_role("checkbox")
    assert key.get_attribute("type") == "password"
    key.fill(WRONG)
    shows.check()
    assert key.get_attribute("type") == "text"
    # A browser may keep what was typed into a field of text.
    alice.page.evaluate("addEventListener('submit', event => event.preventDefault(), {once: true})")
    alice.page.locator("form[data-action=submit] .primary").click()
    assert key.get_attribute("type") == "password"


@pytest.mark.slow
def test_without_scripts_there_is_no_button_that_does_nothing(
    shop: Stage, house: KeyProvider, new_user: Callable[..., User]
) -> None:
    anybody = new_user(scripts=False)
    come(anybody, ask(shop))
    assert anybody.page.get_by_role("checkbox").count() == 0


def test_t87_nothing_that_was_typed_stands_on_a_page_in_the_database_the_feed_or_a_log(
    each_shop: Stage, http_user: HttpUser
) -> None:
    stage = each_shop
    asked = ask(stage)
    come(http_user, asked)
    pages = []
    for typed in ("sk-not-even-close-000000", WRONG, KEY):
        http_user.press("submit", api_key=typed)
        pages.append(http_user.answer.text)
    assert stage.status(asked) == "completed"
    everywhere = [*pages, str(stage.feed()), str(stage.connections()), dump.database(stage.box.database_url)]
    for place in [*everywhere, stage.box.logs()]:
        assert not any(typed in place for typed in ("sk-not-even-close-000000", WRONG, KEY))


def test_what_does_not_look_like_a_key_is_not_even_tried(shop: Stage, house: KeyProvider, http_user: HttpUser) -> None:
    asked = ask(shop)
    come(http_user, asked)
    http_user.press("submit", api_key="sk-of-another-house")
    assert (http_user.answer.status_code, http_user.page_name, http_user.page_status) == (422, "form", "pending")
    assert "This does not have the expected form." in http_user.text
    assert "sk-of-another-house" not in http_user.answer.text
    assert house.requests == []
    assert shop.events(asked) == ["created"]


@pytest.mark.parametrize("status", [500, 429, 302])
def test_a_house_that_cannot_say_is_asked_again(
    shop: Stage, house: KeyProvider, http_user: HttpUser, status: int
) -> None:
    asked = ask(shop)
    come(http_user, asked)
    house.scripted["check"] = Response(status, headers={"Location": f"{house.url}/check"} if status == 302 else {})
    http_user.press("submit", api_key=KEY)
    assert (http_user.answer.status_code, http_user.page_name, http_user.page_status) == (422, "form", "started")
    assert "Key House is not available to check this. Nothing was saved. Try again." in http_user.text
    assert shop.connections() == []
    assert len(house.requests) == 1
    house.scripted.clear()
    http_user.press("submit", api_key=KEY)
    assert http_user.page_status == "completed"


def test_t1_nobody_elses_key_is_tried(shop: Stage, house: KeyProvider, http_user: HttpUser) -> None:
    asked = ask(shop)
    http_user.connect(asked["url"], "bob")
    assert form_post(http_user, f"{asked['url']}/submit", api_key=KEY).status_code == 403
    assert house.requests == []


def test_of_many_that_send_at_once_one_is_tried(each_shop: Stage, house: KeyProvider, http_user: HttpUser) -> None:
    asked = ask(each_shop)
    come(http_user, asked)
    answers = http_user.at_once(http_user.form_request("submit", api_key=KEY), 6)
    assert {answer.status_code for answer in answers} <= {303, 410}
    assert len(house.seen("check")) == 1
    assert len(each_shop.connections()) == 1


def test_two_that_are_handed_over_at_once_are_one_connection(
    each_shop: Stage, house: KeyProvider, new_http_user: Callable[..., HttpUser]
) -> None:
    asked, users = [ask(each_shop), ask(each_shop)], [new_http_user(), new_http_user()]
    both = threading.Barrier(2)

    def together(request: Request) -> Response:
        both.wait(20)
        return house.check(request)

    house.scripted["check"] = together
    for user, one in zip(users, asked, strict=True):
        come(user, one)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda user: user.press("submit", api_key=KEY), users))
    results = [each_shop.look(one) for one in asked]
    assert [one["status"] for one in results] == ["completed", "completed"]
    (row,) = each_shop.connections()
    assert {one["result"]["connection"] for one in results} == {row["id"]}
    kept = each_shop.sql("SELECT generation FROM elicit_flows_connection WHERE id = %s", row["id"])
    assert kept == [(2,)]


def test_handing_over_again_replaces_what_there_was_and_ending_it_ends_it(shop: Stage, http_user: HttpUser) -> None:
    stage = shop
    first = ask(stage)
    come(http_user, first)
    http_user.press("submit", api_key=KEY)
    connection = stage.look(first)["result"]["connection"]
    again = ask(stage)
    assert (again["status"], again["reused"], again["result"]["connection"]) == ("completed", True, connection)
    anew = ask(stage, reuse="never")
    come(http_user, anew)
    http_user.press("submit", api_key=KEY)
    assert stage.look(anew)["result"]["connection"] == connection
    (row,) = stage.sql("SELECT id, generation, status FROM elicit_flows_connection WHERE id = %s", connection)
    assert row == (connection, 2, "active")
    token = stage.agent.post(f"/v1/connections/{connection}/token")
    assert (token.status_code, token.json()["code"]) == (409, "conflict")
    http_user.open(f"{stage.box.url}/account")
    assert "Key House" in http_user.text
    http_user.open(f"{stage.box.url}/account/connections/{connection}")
    http_user.press("revoke")
    assert secret(stage, connection).status_code == 410
    assert stage.sql("SELECT secrets, upstream FROM elicit_flows_connection WHERE id = %s", connection) == [
        ("", "none")
    ]
    assert ask(stage)["status"] == "pending"


@pytest.mark.slow
def test_nobody_tries_keys_at_the_provider_by_the_hundred(shop: Stage, house: KeyProvider, http_user: HttpUser) -> None:
    asked = ask(shop)
    come(http_user, asked)
    answers = [form_post(http_user, f"{asked['url']}/submit", api_key=f"{WRONG}{n}") for n in range(45)]
    tried = len(house.seen("check"))
    assert 20 <= tried <= 40, "twenty a minute, and the minute may turn meanwhile"
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) == 45 - tried
    assert "retry-after" in refused[0].headers
