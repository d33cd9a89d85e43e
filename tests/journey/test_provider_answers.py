"""Right and wrong answers of a provider's token endpoint, as the person and the agent see them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.cast import BOB
from tests.doubles.server import Request, Response, json_response, redirect
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage
from tests.support import dump
from tests.support.http_user import HttpUser
from tests.support.machine import within
from tests.support.op import Op
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

NewUser = Callable[..., HttpUser]


def test_t28_userinfo_about_another_account_connects_nothing(stage: Stage, http_user: HttpUser, doubles: Doubles):
    asked = stage.ask(provider="bad")
    # Nobody else's account: one that another test has connected would stay connected.
    doubles.bad.user = {"sub": "misnamed", "name": "Alice"}
    doubles.bad.scripted["userinfo"] = json_response({"sub": "mallory", "name": "Alice"})
    http_user.connect(asked["url"], "alice")
    found = stage.look(asked)
    assert (found["status"], found["error"]["code"]) == ("failed", "provider_error")
    assert stage.connections() == []
    assert doubles.bad.calls["revoke"] == 1
    stage.check_invariants(asked)


def test_t29_connecting_another_account_leaves_the_first_one_as_it_is(stage: Stage, new_http_user: NewUser):
    first, second, again = stage.ask(), stage.ask(reuse="never"), stage.ask(reuse="never")
    stage.complete(new_http_user(), first)
    old = stage.token(first)
    other = new_http_user()
    with other.stopping_at(stage.drive.issuer):
        other.connect(second["url"], "alice")
    other.follow()
    other.carry_on("bob", "allow")
    one, two = stage.look(first)["result"], stage.look(second)["result"]
    assert (one["account"]["id"], two["account"]["id"]) == ("alice", "bob")
    assert one["connection"] != two["connection"]
    assert stage.works(old)
    assert stage.works(stage.token(first))
    assert stage.userinfo(stage.token(first).json()["access_token"]).json()["sub"] == "alice"
    # The same account again is the same connection with fresh tokens.
    stage.complete(new_http_user(), again)
    assert stage.look(again)["result"]["connection"] == one["connection"]
    assert len(stage.connections()) == 2


def test_t30_the_scopes_that_were_granted_are_told_and_fewer_do_not_pass_for_more(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    doubles.bad.reply["scope"] = "openid"
    asked = stage.ask(provider="bad", scopes=["files.read", "files.write"])
    stage.complete(http_user, asked)
    assert stage.look(asked)["result"]["scopes"] == ["openid"]
    assert stage.token(asked).json()["scopes"] == ["openid"]
    assert not stage.ask(provider="bad", scopes=["files.write"])["reused"]
    assert stage.ask(provider="bad", scopes=["openid"])["reused"]


def test_t30_more_than_was_asked_for_is_told_too(stage: Stage, http_user: HttpUser, doubles: Doubles):
    doubles.bad.reply["scope"] = "openid files.read files.delete"
    asked = stage.ask(provider="bad", scopes=["files.read"])
    stage.complete(http_user, asked)
    assert "files.delete" in stage.look(asked)["result"]["scopes"]
    http_user.open(f"{stage.box.url}/account")
    assert "files.delete" in http_user.text


def test_t30_without_a_word_from_the_provider_what_was_asked_for_holds(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    doubles.bad.reply["scope"] = None
    asked = stage.ask(provider="bad", scopes=["files.read"])
    stage.complete(http_user, asked)
    assert stage.look(asked)["result"]["scopes"] == ["openid", "files.read"]


@pytest.mark.slow
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("endpoint", ["token", "userinfo", "revoke"])
def test_t31_back_channels_follow_no_redirect(
    stage: Stage, http_user: HttpUser, doubles: Doubles, sink: Sink, endpoint: str, status: int
):
    stolen = f"/stolen-{endpoint}-{status}"
    asked = stage.ask(provider="bad")
    doubles.bad.scripted[endpoint] = redirect(sink.url(stolen), status)
    if endpoint == "revoke":
        doubles.bad.scripted["userinfo"] = json_response({"sub": "mallory"})
    http_user.connect(asked["url"], "alice")
    assert doubles.bad.calls[endpoint] == 1
    assert sink.received(stolen) == []
    found = stage.look(asked)
    assert found["status"] == ("completed" if endpoint == "userinfo" else "failed")
    if endpoint == "token":
        assert found["error"]["code"] == "provider_error"
        assert stage.connections() == []


GOOD: dict[str, Any] = {"access_token": "at-canary-of-t32", "token_type": "Bearer", "expires_in": 3600}


def _token(*gone: str, **changed: Any) -> Response:
    return json_response({name: value for name, value in {**GOOD, **changed}.items() if name not in gone})


HTML = {"Content-Type": "text/html"}
JSON = {"Content-Type": "application/json"}
ODD = {
    "HTML with 200": (Response(200, b"<p>at-canary-of-t32</p>", HTML), "failed"),
    "JSON that calls itself HTML": (Response(200, json.dumps(GOOD).encode(), HTML), "failed"),
    "half a JSON": (Response(200, b'{"access_token":"at-canary-of-t32"', JSON), "failed"),
    "an array": (Response(200, b'["at-canary-of-t32"]', JSON), "failed"),
    "nothing": (Response(200, b"", JSON), "failed"),
    "a name twice": (
        Response(200, b'{"access_token":"a","access_token":"at-canary-of-t32","token_type":"Bearer"}', JSON),
        "failed",
    ),
    "ten megabytes": (Response(200, b'{"access_token":"at-canary-of-t32' + b"x" * 10_000_000 + b'"}', JSON), "started"),
    "lower-case bearer": (_token(token_type="bearer"), "completed"),
    "MAC": (_token(token_type="MAC"), "failed"),
    "no type": (_token("token_type"), "failed"),
    "empty token": (_token(access_token=""), "failed"),
    "token with a line break": (_token(access_token="at-canary-of-t32\r\nX: 1"), "failed"),
    "token that is a number": (_token(access_token=32), "failed"),
    "very long token": (_token(access_token="at-canary-of-t32" * 2000), "failed"),
    "no life": (_token("expires_in"), "completed"),
    "negative life": (_token(expires_in=-1), "completed"),
    "life in a string": (_token(expires_in="3600"), "completed"),
    "life for ever": (_token(expires_in=1e18), "completed"),
    "life in words": (_token(expires_in="an hour"), "completed"),
    "error with 200": (json_response({"error": "invalid_client", **GOOD}), "failed"),
    "server error": (Response(500, b"Traceback: at-canary-of-t32", HTML), "started"),
    "too many": (Response(429, b"{}", {**JSON, "Retry-After": "1"}), "started"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("reply", "status"), ODD.values(), ids=ODD.keys())
def test_t32_odd_token_responses_end_well(
    stage: Stage, http_user: HttpUser, doubles: Doubles, reply: Response, status: str
):
    asked = stage.ask(provider="bad")
    doubles.bad.scripted["token"] = reply
    http_user.connect(asked["url"], "alice")
    assert http_user.answer.status_code == (409 if status == "started" else 200)
    assert http_user.page_name == ("refused" if status == "started" else "done")
    assert stage.status(asked) == status
    assert len(stage.connections()) == (status == "completed")
    assert "canary" not in http_user.answer.text
    assert "at-canary-of-t32" not in dump.database(stage.box.database_url)
    stage.check_invariants(asked)
    if status == "completed":
        token = stage.token(asked).json()
        assert token["access_token"] == GOOD["access_token"]
        assert (token["expires_at"] is None) == (reply.body.count(b"3600") == 0)


def test_t37_an_identity_provider_whose_metadata_names_another_issuer_signs_nobody_in(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    asked = stage.ask(iss=doubles.liar.url)
    http_user.open(asked["url"])
    http_user.press("signin")
    assert (http_user.answer.status_code, http_user.page_name) == (503, "refused")
    assert f"/c/{asked['id']}" in http_user.page.links
    assert doubles.liar.calls["metadata"] >= 1
    assert doubles.liar.calls["authorize"] == 0
    assert stage.status(asked) == "pending"
    assert "names another issuer; it is not used" in stage.box.logs("web")


def test_t37_an_oauth_provider_whose_metadata_names_another_issuer_is_not_used(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    asked = stage.ask(provider="liar")
    http_user.connect(asked["url"], "alice")
    assert (http_user.answer.status_code, http_user.page_name) == (503, "refused")
    assert doubles.liar.calls["authorize"] == 0
    assert stage.status(asked) == "pending"


def test_t48_an_identity_provider_that_is_out_of_order_leaves_the_link_as_it_was(
    stage: Stage, http_user: HttpUser, partner: Op
):
    asked = stage.ask(iss=partner.issuer)
    partner.fault("token", status=503, times=1)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert (http_user.answer.status_code, http_user.page_name) == (503, "refused")
    assert f"/c/{asked['id']}" in http_user.page.links, "the page leads back to the link"
    assert stage.status(asked) == "pending"
    stage.complete(http_user, asked)


def test_t48_one_that_hangs_is_given_five_seconds_and_holds_up_nobody_else(
    stage: Stage, new_http_user: NewUser, doubles: Doubles
):
    asked, user = stage.ask(iss=doubles.strict.url), new_http_user()
    doubles.strict.scripted["token"] = _never
    user.open(asked["url"])
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(user.press, "signin")
        stage.complete(new_http_user(), stage.ask(BOB), "bob")
        assert not hanging.done()
        answer = hanging.result()
    assert (answer.status_code, user.page_name) == (503, "refused")
    assert 4.5 < answer.elapsed.total_seconds() < within(7)
    assert stage.status(asked) == "pending"
    doubles.strict.scripted.clear()
    user.open(asked["url"])
    user.press("signin")
    assert user.page_name == "consent"


def _never(request: Request) -> Response:
    threading.Event().wait(8)
    return Response(200)


def test_a_provider_that_is_down_at_the_callback_can_be_tried_again(stage: Stage, http_user: HttpUser):
    asked = stage.ask(BOB)
    stage.drive.fault("token", status=503, times=1)
    http_user.connect(asked["url"], "bob")
    assert (http_user.answer.status_code, http_user.page_name) == (409, "refused")
    assert f"/c/{asked['id']}" in http_user.page.links
    assert stage.events(asked) == ["created", "started", "settling", "started"]
    stage.complete(http_user, asked, "bob")
    stage.check_invariants(asked)


def test_a_provider_that_the_operator_switched_off_is_left_alone(
    stage: Stage, new_http_user: NewUser, doubles: Doubles
):
    before, during = stage.ask(provider="evil"), stage.ask(BOB, provider="evil")
    alice, bob = new_http_user(), new_http_user()
    alice.open(before["url"])
    alice.carry_on("signin", "alice")
    callback = stage.answer(bob, during, "bob")
    change = "UPDATE elicit_flows_provider SET enabled = %s WHERE slug = 'evil'"
    stage.sql(change, False)
    try:
        alice.press("continue")
        assert (alice.answer.status_code, alice.page_name) == (503, "refused")
        assert bob.get(callback).status_code == 409
    finally:
        stage.sql(change, True)
    assert (stage.status(before), stage.status(during)) == ("pending", "started")
    assert doubles.evil.calls["token"] == 0
    stage.complete(alice, before)
    stage.complete(bob, during, "bob")
