"""A code, a state or an answer of one provider or flow is refused at any other."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest

from elicit_flows import oauth
from tests.cast import BOB
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage, changed, query
from tests.support.http_user import HttpUser

NewUser = Callable[..., HttpUser]


def test_t18_a_victims_code_is_worth_nothing_in_an_attackers_flow(stage: Stage, new_http_user: NewUser):
    victim, mallory = new_http_user(), new_http_user()
    asked, own = stage.ask(), stage.ask(BOB)
    stolen = query(stage.answer(victim, asked))["code"]
    callback = stage.answer(mallory, own, "bob")
    answer = mallory.get(changed(callback, code=stolen))
    assert answer.status_code == 409
    assert stage.drive.counts()["token.authorization_code"] == 1
    assert stage.connections() == []
    assert stage.status(own) == "started"
    stage.complete(mallory, own, "bob")


def test_t18_every_verifier_is_its_own_and_of_good_length():
    made = {oauth.new_verifier() for _ in range(10_000)}
    assert len(made) == 10_000
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{43,128}", one) for one in made)


def test_t18_every_attempt_has_its_own_challenge_and_state(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    seen = [query(stage.at_provider(http_user, asked)) for _ in range(3)]
    for name in ("code_challenge", "state"):
        assert len({one[name] for one in seen}) == 3
    assert all(len(one["state"]) >= 43 for one in seen)


@pytest.mark.parametrize("provider", ["drive", "bad", "evil"])
def test_t19_every_provider_gets_pkce_with_s256(
    stage: Stage, http_user: HttpUser, doubles: Doubles, provider: str
):  # fmt: skip
    issuer = stage.drive.issuer if provider == "drive" else getattr(doubles, provider).url
    sent = query(stage.at_provider(http_user, stage.ask(provider=provider), provider=issuer))
    assert sent["code_challenge_method"] == "S256"
    assert re.fullmatch(r"[\w-]{43}", sent["code_challenge"])
    assert (sent["response_type"], sent["redirect_uri"]) == ("code", f"{stage.box.url}/callback/{provider}")


def test_t19_so_does_every_identity_provider(stage: Stage, http_user: HttpUser):
    http_user.open(stage.ask()["url"])
    with http_user.stopping_at(stage.corp.issuer):
        http_user.press("signin")
    sent = query(http_user.location)
    assert sent["code_challenge_method"] == "S256"
    assert sent["nonce"]
    assert sent["state"] != sent["nonce"]
    assert sent["redirect_uri"] == f"{stage.box.url}/login/corp/callback"


def test_t19_a_provider_without_s256_is_refused_before_anybody_goes_there(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    asked = stage.ask(provider="lax")
    http_user.connect(asked["url"], "alice")
    assert (http_user.answer.status_code, http_user.page_name) == (503, "refused")
    assert doubles.lax.calls["authorize"] == 0
    assert stage.status(asked) == "pending"


ISSUERS = {
    "another": "https://evil.example",
    "with a slash": "{iss}/",
    "in upper case": "HTTP://127.0.0.1:{port}",
    "by another name": "http://localhost:{port}",
    "empty": "",
}


@pytest.mark.parametrize("issuer", ISSUERS.values(), ids=ISSUERS.keys())
def test_t20_an_answer_in_another_issuers_name_is_refused(stage: Stage, http_user: HttpUser, issuer: str):
    callback = stage.answer(http_user, stage.ask())
    iss = query(callback)["iss"]
    assert iss == stage.drive.issuer
    stage.refuses(http_user, changed(callback, iss=issuer.format(iss=iss, port=stage.drive.port)))
    http_user.follow()
    assert http_user.page_status == "completed"


def test_t20_an_issuer_that_is_left_out_or_given_twice_is_refused(stage: Stage, http_user: HttpUser):
    callback = stage.answer(http_user, stage.ask())
    stage.refuses(http_user, changed(callback, iss=None))
    stage.refuses(http_user, f"{callback}&iss={quote(stage.drive.issuer, safe='')}")
    http_user.follow()
    assert http_user.page_status == "completed"


def test_t20_an_error_in_another_issuers_name_does_not_decline(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked, decide="deny")
    stage.refuses(http_user, changed(callback, iss="https://evil.example"))
    assert stage.status(asked) == "started"


def test_t20_the_same_holds_for_signing_in(stage: Stage, http_user: HttpUser):
    with http_user.stopping_at(f"{stage.box.url}/login/corp/callback"):
        http_user.connect(stage.ask()["url"], "alice")
    assert http_user.get(changed(http_user.location, iss="https://evil.example")).status_code == 403
    http_user.open(f"{stage.box.url}/account")
    assert http_user.page_name == "signin"


def test_t21_an_honest_providers_code_does_not_go_to_another_provider(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    honest, at_evil = stage.ask(), stage.ask(provider="evil")
    code = query(stage.answer(http_user, honest))["code"]
    callback = stage.answer(http_user, at_evil)
    state = query(callback)["state"]
    stage.refuses(http_user, changed(callback, code=code, iss=stage.drive.issuer))
    stage.refuses(http_user, f"{stage.box.url}/callback/drive?code={code}&state={state}&iss={stage.drive.issuer}")
    assert doubles.evil.calls["token"] == 0


def test_t22_a_state_counts_at_the_provider_it_was_made_for_alone(stage: Stage, http_user: HttpUser, doubles: Doubles):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    for elsewhere in ("evil", "bad", "nowhere"):
        stage.refuses(http_user, callback.replace("/callback/drive", f"/callback/{elsewhere}"))
    assert doubles.evil.calls["token"] == doubles.bad.calls["token"] == 0
    http_user.follow()
    assert http_user.page_status == "completed"
