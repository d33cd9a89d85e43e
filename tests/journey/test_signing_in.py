"""Sign-in makes a new session, works only in the browser that began it, and must be recent."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.test import Client

from elicit_flows import vault
from elicit_flows.lib import ids
from elicit_flows.models import IdentityProvider
from elicit_flows.web.session import SIGN_INS
from tests.cast import BOB
from tests.journey.conftest import STRICT_AGE, Doubles
from tests.journey.stage import Stage, changed, form_post, query, session_of, unasked
from tests.support.http_user import HttpUser
from tests.support.op import Op

NewUser = Callable[..., HttpUser]


def test_t4_signing_in_makes_a_new_session(stage: Stage, http_user: HttpUser):
    http_user.http.cookies.set("sessionid", "a" * 32, domain="127.0.0.1")
    asked = stage.ask()
    http_user.open(asked["url"])
    http_user.press("signin")
    before = session_of(http_user)
    assert before != "a" * 32
    assert stage.sessions(before) == 1
    http_user.press("alice")
    assert http_user.page_name == "consent"
    assert session_of(http_user) not in {before, "a" * 32}
    assert stage.sessions(before) == stage.sessions("a" * 32) == 0


def test_t5_a_sign_in_that_another_browser_began_signs_nobody_in(stage: Stage, new_http_user: NewUser):
    mallory, victim = new_http_user(), new_http_user()
    asked = stage.ask(BOB)
    with mallory.stopping_at(f"{stage.box.url}/login/corp/callback"):
        mallory.connect(asked["url"], "bob")
    victim.open(stage.ask()["url"])
    with unasked(stage.corp):
        assert victim.open(mallory.location).status_code == 400
    victim.open(f"{stage.box.url}/account")
    assert victim.page_name == "signin"
    # Nor does it while the victim has a sign-in of their own under way.
    victim.press("signin", provider="corp")
    assert victim.open(mallory.location).status_code == 400
    victim.open(f"{stage.box.url}/account")
    assert victim.page_name == "signin"


def test_t5_a_sign_in_is_good_for_one_callback(stage: Stage, http_user: HttpUser):
    with http_user.stopping_at(f"{stage.box.url}/login/corp/callback"):
        http_user.connect(stage.ask()["url"], "alice")
    callback = http_user.location
    http_user.follow()
    assert http_user.page_name == "consent"
    assert http_user.get(callback).status_code == 400


def test_t5_a_sign_in_at_one_identity_provider_does_not_come_back_at_another(
    stage: Stage, http_user: HttpUser, partner: Op
):
    with http_user.stopping_at(f"{stage.box.url}/login/corp/callback"):
        http_user.connect(stage.ask()["url"], "alice")
    moved = http_user.location.replace("/login/corp/", "/login/partner/")
    with unasked(partner):
        assert http_user.get(moved).status_code == 400


def test_t16_the_state_of_a_sign_in_has_to_be_exactly_ours(stage: Stage, http_user: HttpUser):
    with http_user.stopping_at(f"{stage.box.url}/login/corp/callback"):
        http_user.connect(stage.ask()["url"], "alice")
    callback = http_user.location
    state = query(callback)["state"]
    others = [changed(callback, state=other) for other in (None, "", f"{state} ", "s" * 30_000)]
    with unasked(stage.corp):
        for other in (
            *others,
            f"{callback}&state={state}",
            f"{callback}&state=b",
            changed(callback, state="b") + f"&state={state}",
        ):
            assert http_user.get(other).status_code == 400, other[:500]
    http_user.follow()
    assert http_user.page_name == "consent"


@pytest.mark.django_db
@pytest.mark.parametrize(("minutes", "status"), [(9, 503), (11, 400)])
def test_t17_a_sign_in_may_take_ten_minutes(client: Client, minutes: int, status: int):
    # In time means that the provider is asked, which is refused for this address.
    IdentityProvider.objects.create(slug="corp", issuer="https://10.0.0.1", client_id="x")
    kept = {"slug": "corp", "next": "/account", "state_hash": ids.digest("s"), "at": time.time() - 60 * minutes}
    session = client.session
    session[SIGN_INS] = [kept | {"stash": vault.seal_stash({"nonce": "n", "verifier": "v"}, ids.digest("s"))}]
    session.save()
    assert client.get("/login/corp/callback", {"state": "s", "code": "c"}).status_code == status


def test_t140_who_signs_in_again_is_asked_who_they_are_and_may_take_everything_along(stage: Stage, http_user: HttpUser):
    """The identity provider would sign them in without asking."""
    stage.complete(http_user, stage.ask(reuse="never"))
    http_user.open(f"{stage.box.url}/account")
    token = dict(http_user.page.forms["signout"].fields)["csrfmiddlewaretoken"]
    fields = {"csrfmiddlewaretoken": token, "provider": "corp", "next": "/account/delete", "again": "yes"}
    headers = {"origin": stage.box.url, "sec-fetch-site": "same-origin"}
    leaves = http_user.send(
        http_user.http.build_request("POST", f"{stage.box.url}/login", data=fields, headers=headers)
    ).headers["location"]
    assert query(leaves)["prompt"] == "login"
    http_user.open(leaves)
    http_user.press("alice")
    assert http_user.page_name == "delete"
    assert "attachment" in http_user.get(f"{stage.box.url}/account/export").headers["content-disposition"]


def test_t7_somebody_else_at_the_computer_switches_and_leaves_nothing_behind(stage: Stage, http_user: HttpUser):
    stage.complete(http_user, stage.ask(BOB), "bob")
    bobs = session_of(http_user)
    asked = stage.ask()
    http_user.open(asked["url"])
    assert http_user.page_name == "mismatch"
    with http_user.stopping_at(stage.corp.issuer):
        http_user.press("switch")
    assert "prompt=login" in http_user.location
    assert stage.sessions(bobs) == 0
    http_user.follow()
    http_user.press("alice")
    assert http_user.page_name == "consent"
    assert "Bob" not in http_user.text
    http_user.carry_on("continue", "allow", "alice")
    assert stage.status(asked) == "completed"
    http_user.open(f"{stage.box.url}/account")
    assert "Signed in as\nAlice" in http_user.text
    kept = {row["subject"]["sub"]: row["id"] for row in stage.connections()}
    assert kept["alice"] in http_user.answer.text
    assert kept["bob"] not in http_user.answer.text


def test_t8_a_sign_in_older_than_the_limit_does_not_count(stage: Stage, http_user: HttpUser, doubles: Doubles):
    # Within the leeway of the ID token, beyond the limit of the session.
    doubles.strict.claims["auth_time"] = int(time.time()) - STRICT_AGE - 30
    asked = stage.ask(iss=doubles.strict.url)
    http_user.open(asked["url"])
    http_user.press("signin")
    assert http_user.page_name == "signin"
    assert form_post(http_user, f"{asked['url']}/continue").status_code == 403
    assert stage.status(asked) == "pending"
    del doubles.strict.claims["auth_time"]
    http_user.press("signin")
    assert http_user.page_name == "consent"
    assert doubles.strict.seen("authorize")[-1].query["max_age"] == str(STRICT_AGE)


def test_t8_an_identity_provider_that_tells_an_old_sign_in_again_is_refused(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    doubles.strict.claims["auth_time"] = int(time.time()) - STRICT_AGE - 3600
    http_user.open(stage.ask(iss=doubles.strict.url)["url"])
    http_user.press("signin")
    assert (http_user.answer.status_code, http_user.page_name) == (403, "refused")
    http_user.open(f"{stage.box.url}/account")
    assert http_user.page_name == "signin"


def test_t8_an_identity_provider_that_must_ask_every_time_lets_people_through(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    asked = stage.ask(iss=doubles.evil.url)
    http_user.open(asked["url"])
    http_user.press("signin")
    assert doubles.evil.seen("authorize")[-1].query["max_age"] == "0"
    assert http_user.page_name == "consent"
    http_user.carry_on("continue", "alice", "allow")
    assert http_user.page_status == "completed"


def test_t8_whoever_left_in_time_may_come_back_late(stage: Stage, http_user: HttpUser, doubles: Doubles):
    doubles.strict.claims["auth_time"] = int(time.time()) - STRICT_AGE // 2
    asked = stage.ask(iss=doubles.strict.url)
    callback = stage.answer(http_user, asked)
    change = "UPDATE elicit_flows_identityprovider SET max_age = %s WHERE slug = 'strict'"
    stage.sql(change, STRICT_AGE // 4)
    try:
        http_user.open(asked["url"])
        assert http_user.page_name == "signin"
        assert http_user.get(callback).status_code == 303
    finally:
        stage.sql(change, STRICT_AGE)
    assert stage.status(asked) == "completed"
