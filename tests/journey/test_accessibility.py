"""Every kind of page through axe-core: light and dark, on a phone 375 pixels wide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from elicit_flows.domain.status import Status
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.sink import Sink
from tests.web.gallery_axe import RUN, WIDTH, bring_axe

PHONE = {"width": 375, "height": 720}


@dataclass
class Reader:
    """Somebody with a phone, on every page that they open from now on."""

    user: User

    def __post_init__(self) -> None:
        bring_axe(self.user)

    def check(self, url: str, page: str, status: str | None = None) -> None:
        self.user.open(url)
        self.look(page, status)

    def look(self, page: str, status: str | None = None) -> None:
        """The page that they are on."""
        url = self.user.url
        assert (self.user.page_name, status or self.user.page_status) == (page, self.user.page_status)
        self.user.page.emulate_media(color_scheme="light")
        assert self._run() == [], (url, page)
        self.user.page.emulate_media(color_scheme="dark")
        # Nothing else depends on the colours.
        assert self._run("color-contrast") == [], (url, page, "dark")
        assert self.user.page.evaluate(WIDTH) <= PHONE["width"], (url, page, "is wider than the phone")

    def _run(self, *rules: str) -> list[str]:
        return list(self.user.page.evaluate(RUN, list(rules) or None))


@pytest.fixture
def reader(new_user: Callable[..., User]) -> Reader:
    return Reader(new_user(viewport=PHONE, is_mobile=True, has_touch=True))


def _sign_in(stage: Stage, user: HttpUser, reader: Reader, who: str) -> None:
    user.open(f"{stage.box.url}/account")
    if user.page_name == "signin":
        user.press("signin", provider="corp")
        user.press(who)
    cookie: Any = {"name": "sessionid", "value": user.http.cookies["sessionid"], "url": stage.box.url}
    reader.user.context.add_cookies([cookie])


@pytest.mark.slow
def test_pages_for_anybody_are_accessible(stage: Stage, reader: Reader):
    url, asked = stage.box.url, stage.ask()
    reader.check(url, "home")
    reader.check(asked["url"], "signin")
    reader.check(f"{url}/account", "signin")
    reader.check(f"{url}/nothing", "refused")
    reader.check(f"{url}/callback/drive", "refused")
    reader.check(f"{url}/v1/docs", "docs")
    reader.check(f"{url}/catalogue?q=a", "catalogue")
    reader.check(f"{url}/device", "code")


@pytest.mark.slow
def test_pages_of_a_request_are_accessible(
    stage: Stage, reader: Reader, new_http_user: Callable[..., HttpUser], sink: Sink
):
    _sign_in(stage, new_http_user(), reader, "alice")
    asked = stage.ask(scopes=["files.write"], message="Line one.\n\nLine two, " + "which goes on and on " * 20)
    reader.check(asked["url"], "consent")
    reader.check(stage.ask(provider="lookalike")["url"], "consent")
    reader.check(stage.ask(provider="by-device", message="By a code.")["url"], "consent")
    reader.user.press("continue")
    reader.look("device")
    shown, phone = reader.user.page.locator(".to-type").inner_text(), new_http_user()
    phone.open(f"{stage.drive.issuer}/device")
    phone.press("enter", user_code=shown)
    phone.carry_on("same", "bob", "allow")
    reader.user.wait_for_page("account_yours")
    reader.look("account_yours")
    over = stage.ask(return_url=sink.url("/done"))
    change = "UPDATE elicit_flows_elicitation SET status = %s, error = %s WHERE id = %s"
    for status in Status:
        error = '{"code": "provider_error", "message": "It would not."}' if status == Status.FAILED else None
        stage.sql(change, str(status), error, over["id"])
        reader.check(f"{over['url']}/done", "done", str(status))


@pytest.mark.slow
def test_pages_that_are_answered_are_accessible(stage: Stage, reader: Reader, http_user: HttpUser):
    _sign_in(stage, http_user, reader, "alice")
    fields = [
        {"name": "key", "label": "A key of the API that " * 4 + "you have", "help": "Under Settings."},
        {"name": "team", "label": "Team"},
    ]
    step = {"kind": "link", "params": {"url": "https://x.example/way", "completion": "by_agent"}}
    stage.box.apply({"provider": [{"slug": "openai", "preset": "openai"}]})
    asked = [
        stage.ask(kind="credentials", params={"provider": "openai"}),
        stage.ask(
            kind="confirm", params={"detail": "Delete 12 files. " * 20, "danger": True, "confirm_label": "Delete"}
        ),
        stage.ask(kind="credentials", params={"fields": fields}),
        stage.ask(kind="steps", params={"steps": [{"kind": "credentials", "params": {"fields": fields}}, step]}),
    ]
    for one in asked:
        reader.check(one["url"], "form")
        reader.user.press("submit")
        reader.look("form")
    reader.check(
        stage.ask(kind="link", params={"url": "https://x.example/" + "way/" * 40, "completion": "by_agent"})["url"],
        "consent",
    )


@pytest.mark.slow
def test_pages_of_forms_are_accessible_and_lead_to_what_was_wrong(
    stage: Stage, reader: Reader, http_user: HttpUser
) -> None:
    _sign_in(stage, http_user, reader, "alice")
    questions = [
        {"id": "ref", "kind": "text", "message": "Reference", "required": True},
        {"id": "n", "kind": "integer", "message": "How many?", "required": True},
    ]
    when = {"type": "string", "format": "date-time", "title": "When"}
    ref = {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$", "title": "Reference"}
    schema = {"type": "object", "properties": {"ref": ref, "when": when}, "required": ["ref"]}
    danger = {"danger": True, "confirm_label": "Delete", "decline_label": "Keep them"}
    for one in (
        stage.ask(kind="form", params={"questions": questions, "shared": True}),
        stage.ask(kind="form", params={"schema": schema}),
        stage.ask(kind="confirm", params=danger),
    ):
        reader.check(one["url"], "form")
        reader.user.press("submit")
        reader.look("form")
        focused = "document.activeElement.getAttribute('role')"
        assert reader.user.page.evaluate(focused) == "alert", "who reads by ear hears what was wrong"
        inside = "document.activeElement.querySelector('h2').innerText"
        assert reader.user.page.evaluate(inside) == "Nothing was sent yet"
        order = "[...document.querySelectorAll('h1, [role=alert], .field')].map(one => one.matches('h1, .field'))"
        assert reader.user.page.evaluate(order)[:2] == [True, False], "after the page's heading, before the questions"


def test_buttons_and_warnings_are_told_apart_in_forced_colours(
    stage: Stage, reader: Reader, http_user: HttpUser
) -> None:
    _sign_in(stage, http_user, reader, "alice")
    page = reader.user.page
    page.emulate_media(forced_colors="active")
    border = "one => { const s = getComputedStyle(one); return s.borderStyle + ' ' + s.borderWidth; }"
    reader.user.open(stage.ask(kind="confirm", params={"danger": True, "confirm_label": "Delete"})["url"])
    found = [page.eval_on_selector(one, border) for one in (".danger", "[data-action=decline] button", ".warning")]
    assert len({*found[:2]}) == 2
    assert found[2].startswith("solid 1px"), "a box around what cannot be undone"
    reader.user.open(stage.ask(kind="confirm", params={})["url"])
    found.append(page.eval_on_selector(".primary", border))
    assert len({found[0], found[1], found[3]}) == 3


@pytest.mark.slow
def test_pages_after_an_answer_are_accessible(
    stage: Stage, reader: Reader, new_http_user: Callable[..., HttpUser]
) -> None:
    alice = new_http_user()
    asked = stage.ask()
    stage.complete(alice, asked)
    _sign_in(stage, alice, reader, "alice")
    reader.check(f"{asked['url']}/done", "done", "completed")
    [held] = stage.connections()
    reader.check(f"{stage.box.url}/account/connections/{held['id']}", "connection")
    reader.user.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    reader.user.press("revoke")
    reader.look("account")
    said = reader.user.page.get_by_role("status")
    assert " disconnected. " in said.inner_text()
    assert "you get a new link" in said.inner_text(), "what to do if that was not meant"
    assert reader.user.page.evaluate("document.activeElement.getAttribute('role')") == "status"


@pytest.mark.slow
def test_pages_of_a_person_are_accessible(
    stage: Stage, reader: Reader, new_http_user: Callable[..., HttpUser], doubles: Doubles
):
    alice, bob = new_http_user(), new_http_user()
    stage.complete(alice, stage.ask())
    doubles.bad.user = {"sub": "a-very-long-name-" * 8, "name": "A very long name that does not end " * 3}
    stage.complete(alice, stage.ask(provider="bad", scopes=["https://example.com/a/very/long/scope/" * 3]))
    stage.ask(reuse="never", message="word" * 60)
    _sign_in(stage, alice, reader, "alice")
    with _paid(stage):
        for path in ("", "/requests", "/payments", "/activity", "/security", "/ended"):
            reader.check(f"{stage.box.url}/account{path}", "account")
        reader.check(f"{stage.box.url}/account/delete", "delete")
    reader.check(f"{stage.box.url}/account/deleted", "deleted")
    for row in stage.connections():
        stage.agent.post(f"/v1/connections/{row['id']}/token")
        stage.agent.delete(f"/v1/connections/{row['id']}")
        reader.check(f"{stage.box.url}/account/connections/{row['id']}", "connection")
    _sign_in(stage, bob, reader, "bob")
    reader.check(stage.ask(reuse="never")["url"], "mismatch")


@contextmanager
def _paid(stage: Stage) -> Iterator[None]:
    """Alice has paid, with much to tell; nobody has to be asked for it. Other tests see her account without that."""
    known = "SELECT id FROM elicit_flows_agent WHERE slug = %s"
    [(agent,)] = stage.sql(known, stage.agent.slug)
    stage.sql(
        "INSERT INTO elicit_flows_paymentaccount (slug, provider, secret_key, webhook_secrets, api_base, livemode,"
        " enabled, refund_mismatch, keep_late, ignored) VALUES ('shown', 'stripe', '', '', '', %s, %s, %s, %s, 0)",
        False, True, False, False,
    )  # fmt: skip
    [(account,)] = stage.sql("SELECT id FROM elicit_flows_paymentaccount WHERE slug = 'shown'")
    for name, status in (("pa_1", "paid"), ("pa_2", "mismatch")):
        stage.sql(
            "INSERT INTO elicit_flows_payment (id, agent_id, account_id, iss, sub, mode, amount, currency, description,"
            " item, status, refunded, disputed, payment_ref, receipt_url, problem, created_at) VALUES (%s, %s, %s, %s,"
            " 'alice', 'pay', 123450, 'eur', %s, '', %s, 500, 'open', 'pi_1', 'https://pay.test/r', '', '2026-01-01')",
            name, agent, account, stage.corp.issuer, "A-very-long-description-" * 8, status,
        )  # fmt: skip
    yield
    stage.sql("DELETE FROM elicit_flows_payment WHERE account_id = %s", account)
    stage.sql("DELETE FROM elicit_flows_paymentaccount WHERE id = %s", account)


def test_the_whole_way_goes_by_keyboard_alone(stage: Stage, user: User, http_user: HttpUser):
    _sign_in(stage, http_user, Reader(user), "alice")
    asked = stage.ask()
    user.open(asked["url"])
    keyboard = user.page.keyboard
    keyboard.press("Tab")
    assert user.page.evaluate("document.activeElement.className") == "skip"
    keyboard.press("Enter")
    assert user.page.evaluate("document.activeElement.id") == "main"
    for _ in range(6):
        keyboard.press("Tab")
        if user.page.evaluate("document.activeElement.matches('[data-action=continue] button')"):
            break
    assert "Continue to" in user.page.evaluate("document.activeElement.innerText")
    assert user.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    with user.page.expect_navigation():
        keyboard.press("Enter")
    assert user.url.startswith(stage.drive.issuer)


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["de-DE", "ar", "ja-JP"])
def test_pages_in_other_languages_are_accessible(
    stage: Stage, new_user: Callable[..., User], http_user: HttpUser, locale: str
) -> None:
    """German has the longest words, Arabic the other direction, and Japanese no spaces."""
    reader = Reader(new_user(viewport=PHONE, is_mobile=True, has_touch=True, locale=locale))
    reader.check(f"{stage.box.url}/account", "signin")
    assert reader.user.page.locator("html").get_attribute("lang") == locale.partition("-")[0]
    _sign_in(stage, http_user, reader, "alice")
    reader.check(stage.ask(scopes=["files.write"])["url"], "consent")
    confirm = {"detail": "12 files.", "danger": True, "confirm_label": "Delete"}
    for kind, params in (("confirm", confirm), ("form", {"schema": {"type": "object", "properties": {
        "when": {"type": "string", "format": "date-time"}, "size": {"type": "string", "enum": ["s", "m"]},
        "price": {"type": "number"},
    }, "required": ["price", "when"]}})):  # fmt: skip
        reader.check(stage.ask(kind=kind, params=params)["url"], "form")
        reader.user.press("submit")
        reader.look("form")
    asked = stage.ask(reuse="never")
    stage.complete(http_user, asked)
    reader.check(f"{asked['url']}/done", "done", "completed")
    held = http_user.get(f"{asked['url']}/done").text.partition("/account/connections/")[2].partition('"')[0]
    reader.check(f"{stage.box.url}/account", "account")
    reader.check(f"{stage.box.url}/account/connections/{held}", "connection")
    reader.check(f"{stage.box.url}/account/delete", "delete")
