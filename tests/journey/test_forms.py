"""Forms act only when the right person pressed the button here, while signed in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from tests.cast import OLGA
from tests.journey.stage import Stage, form_post
from tests.support.box import Box
from tests.support.http_user import HttpUser

NewUser = Callable[..., HttpUser]
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<\w+>[^)]*\)")


def _patterns(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for one in resolver.url_patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _patterns(one, route)
        elif isinstance(one, URLPattern):
            yield route


def _pages() -> list[str]:
    """Every address of ours that a browser's cookies open: not the agents' API nor what payment providers call, nor the
    form from an agent's own site and the link in a message. Those two look at no cookie and set none
    (tests/journey/test_vouching.py, tests/notifications/test_unsubscribing.py).
    """
    routes = _patterns(get_resolver())
    elsewhere = ("v1/", "inbound/", "unsubscribe/")
    return [one for one in routes if not one.startswith(elsewhere) and not one.endswith("/vouch")]


def _filled(route: str, values: dict[str, str]) -> str:
    """A path for a route; regular expressions of the admin lose their signs."""
    path = PARAMETER.sub(lambda found: values.get(found[1] or "", "1"), route)
    return "/" + re.sub(r"[\^$\\?]|\(\.\*\)", "", path)


def test_the_routes_are_found():
    found = set(_pages())
    assert {"c/<str:elicitation_id>/continue", "c/<str:elicitation_id>/decline", "login", "switch", "logout"} <= found
    assert {"account/connections/<str:connection_id>/revoke"} <= found
    assert len([route for route in found if route.startswith("admin/")]) > 10


def test_t50_these_alone_take_a_form_without_a_token():
    """Each looks at no cookie of a person's. Another one would have to say here why it may."""
    named = {f"{view.__module__}.{view.__name__}" for view in _views(get_resolver()) if getattr(view, "csrf_exempt", 0)}
    assert {name for name in named if not name.startswith(("ninja.", "elicit_flows.api."))} == {
        "elicit_flows.web.login_assertions.vouch", "elicit_flows.web.notifications.unsubscribe",
    }  # fmt: skip


def _views(resolver: URLResolver) -> Iterator[Callable[..., object]]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from _views(one)
        elif isinstance(one, URLPattern):
            yield one.callback


@pytest.fixture(scope="module")
def olga(embedded_box: Box) -> Iterator[HttpUser]:
    """The operator, signed in to the admin: her cookie opens more than anybody's."""
    embedded_box.add_operator(OLGA)
    user = HttpUser()
    user.open(f"{embedded_box.url}/admin/login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', user.answer.text)
    assert token is not None
    body = {"csrfmiddlewaretoken": token[1], "username": OLGA.username, "password": OLGA.password, "next": "/admin/"}
    request = user.http.build_request("POST", user.url, data=body, headers={"origin": embedded_box.url})
    assert user.http.send(request).status_code == 302
    yield user
    user.close()


def _forgeries(box: Box, foreign_token: str) -> list[tuple[dict[str, str], dict[str, str]]]:
    ours = {"origin": box.url, "sec-fetch-site": "same-origin"}
    return [
        (ours, {}),
        (ours, {"csrfmiddlewaretoken": "x" * 64}),
        (ours, {"csrfmiddlewaretoken": foreign_token}),
        ({}, {"csrfmiddlewaretoken": ""}),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, {}),
    ]


@pytest.mark.slow
def test_t50_no_form_of_ours_is_taken_without_its_token(stage: Stage, new_http_user: NewUser, olga: HttpUser):
    alice, bob = new_http_user(), new_http_user()
    stage.complete(alice, stage.ask())
    values = {"elicitation_id": "", "connection_id": stage.connections()[0]["id"], "slug": "corp", "context": "drive"}
    asked = stage.ask(reuse="never")
    values["elicitation_id"] = asked["id"]
    bob.open(f"{stage.box.url}/account")
    foreign = dict(bob.page.forms["signin"].fields)["csrfmiddlewaretoken"]
    before = stage.snapshot(asked["id"], values["connection_id"])
    for route in _pages():
        user = olga if route.startswith("admin/") else alice
        for headers, body in _forgeries(stage.box, foreign):
            url = stage.box.url + _filled(route, values)
            answer = user.http.post(url, data=body, headers=headers)
            assert answer.status_code == 403, (url, headers, body, answer.status_code)
    assert stage.snapshot(asked["id"], values["connection_id"]) == before


ELSEWHERE = {
    "a null origin": {"origin": "null", "sec-fetch-site": "same-origin"},
    "another origin": {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
    "another port": {"origin": "http://127.0.0.1:9", "sec-fetch-site": "same-origin"},
    "another site": {"sec-fetch-site": "cross-site"},
    "a sister site": {"sec-fetch-site": "same-site"},
    "another site, our origin": {"origin": "{ours}", "sec-fetch-site": "cross-site"},
}


@pytest.mark.parametrize("headers", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_t50_a_form_with_its_token_sent_from_elsewhere_is_refused(
    stage: Stage, http_user: HttpUser, headers: dict[str, str]
):
    asked = stage.ask(reuse="never")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    for action in ("continue", "decline", "switch"):
        good = http_user.form_request(action)
        given = {name: value.format(ours=stage.box.url) for name, value in headers.items()}
        kept = {"content-type": good.headers["content-type"], **given}
        if "origin" not in kept and kept["sec-fetch-site"] == "same-origin":
            continue
        answer = http_user.send(http_user.http.build_request("POST", good.url, content=good.read(), headers=kept))
        assert answer.status_code == 403, action
        assert "location" not in answer.headers
    assert stage.status(asked) == "pending"
    http_user.press("continue")
    assert stage.status(asked) == "started"


def test_t50_the_agents_api_takes_no_cookie(stage: Stage, http_user: HttpUser):
    stage.complete(http_user, stage.ask())
    connection = stage.connections()[0]["id"]
    assert http_user.get(f"{stage.box.url}/v1/connections").status_code == 401
    request = http_user.http.build_request("DELETE", f"{stage.box.url}/v1/connections/{connection}")
    assert http_user.send(request).status_code == 401
    assert stage.connections()[0]["status"] == "active"


def test_t61_a_session_ends_where_it_is_kept(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    pending = http_user.form_request("continue")
    old = http_user.http.cookies["sessionid"]
    http_user.open(f"{stage.box.url}/account")
    http_user.press("signout")
    assert http_user.page_name == "home"
    http_user.http.cookies.set("sessionid", old, domain="127.0.0.1", path="/")
    http_user.open(asked["url"])
    assert http_user.page_name == "signin"
    answer = http_user.send(pending)
    assert (answer.status_code, answer.headers.get("location")) == (403, None)
    assert stage.status(asked) == "pending"


def test_t61_whoever_is_signed_out_at_the_provider_does_not_connect_by_coming_back(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    http_user.open(f"{stage.box.url}/account")
    http_user.press("signout")
    with stage.nothing_asked():
        assert http_user.get(callback).status_code == 400
    assert stage.status(asked) == "started"


def test_t61_an_identity_provider_that_is_switched_off_takes_its_sessions_along(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    http_user.open(asked["url"])
    try:
        stage.sql("UPDATE elicit_flows_identityprovider SET enabled = false WHERE slug = 'corp'")
        assert http_user.get(callback).status_code == 400
        assert form_post(http_user, f"{asked['url']}/continue").status_code == 403
        assert form_post(http_user, f"{asked['url']}/decline").status_code == 403
        http_user.open(f"{stage.box.url}/account")
        assert http_user.page_name == "signin"
    finally:
        stage.sql("UPDATE elicit_flows_identityprovider SET enabled = true WHERE slug = 'corp'")
    assert stage.status(asked) == "started"
