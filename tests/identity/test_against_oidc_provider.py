"""Sign-in at the certified provider, with a scripted person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows import identity, oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Answer, Claim, Secret
from elicit_flows.identity import jwks
from elicit_flows.oauth import cache
from tests.doubles.policy import loopback_allowed
from tests.support.http_user import HttpUser
from tests.support.op import Op

BACK = "http://127.0.0.1:9/login/real/callback"
SECRET = "a-secret-of-forty-characters:+for%the-te"


@pytest.fixture(scope="module")
def shared(new_op: Callable[..., Op]) -> Op:
    op = new_op(name="real", scopes=["profile", "email"], thin_id_tokens=True)
    op.add_client("app", BACK, secret=SECRET)
    op.add_client("public", BACK)
    return op


@pytest.fixture
def op(shared: Op) -> Iterator[Op]:
    shared.reset()
    oauth.forget()
    jwks.forget()
    with loopback_allowed():
        yield shared


def config(op: Op, client_id: str = "app", max_age: int | None = None) -> identity.OpenIdProvider:
    secret = Secret(SECRET) if client_id == "app" else None
    return identity.OpenIdProvider("real", op.issuer, client_id, secret, max_age=max_age)


def sign_in(
    asked: identity.OpenIdProvider, person: HttpUser, *presses: str, prompt: str | None = None, nonce: str = "n-1"
) -> identity.SignedIn:
    verifier = oauth.new_verifier()
    url = identity.begin(asked, redirect_uri=BACK, state="s", nonce="n-1", verifier=verifier, prompt=prompt)
    with person.stopping_at(BACK):
        person.open(url)
        person.carry_on(*presses)
        assert person.stopped, person.text
        fields = parse_qs(urlsplit(person.location).query)
    return identity.finish(asked, redirect_uri=BACK, answer=Answer(fields), nonce=nonce, verifier=verifier)


@pytest.mark.parametrize("client_id", ["app", "public"])
def test_alice_signs_in(op: Op, http_user: HttpUser, client_id: str) -> None:
    signed_in = sign_in(config(op, client_id), http_user, "alice", "allow")
    assert signed_in.claim == Claim(op.issuer, "alice")


def test_her_name_is_asked_for_since_the_id_token_has_none(op: Op, http_user: HttpUser) -> None:
    asked = replace(config(op), scopes=("openid", "profile", "email"))
    assert sign_in(asked, http_user, "alice", "allow").label == "Alice"
    assert op.counts()["userinfo"] == 1


def test_another_account_is_asked_for(op: Op, http_user: HttpUser) -> None:
    sign_in(config(op), http_user, "alice", "allow")
    assert sign_in(config(op), http_user, "bob", "allow", prompt="login").claim.sub == "bob"


def test_t45_the_nonce_must_be_ours(op: Op, http_user: HttpUser) -> None:
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(config(op), http_user, "alice", "allow", nonce="n-2")
    assert caught.value.code == "bad_id_token"


def test_t8_an_old_sign_in_is_asked_for_again(op: Op, http_user: HttpUser) -> None:
    asked = config(op, max_age=300)
    first = sign_in(asked, http_user, "alice", "allow")
    op.age_sign_ins(1000)
    second = sign_in(asked, http_user, "alice", "allow")
    assert first.auth_time
    assert second.auth_time
    assert second.auth_time >= first.auth_time


@pytest.mark.parametrize("same_kid", [False, True])
def test_t42_new_keys_of_the_provider_work_at_once(op: Op, http_user: HttpUser, same_kid: bool) -> None:
    sign_in(config(op), http_user, "alice", "allow")
    op.rotate_keys(same_kid=same_kid)
    assert sign_in(config(op), http_user, "alice", "allow").claim.sub == "alice"
    assert op.counts()["jwks"] == 2


def test_t48_a_broken_token_endpoint_is_unavailable_and_later_works(
    op: Op, http_user: HttpUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "monotonic", lambda: 0.0)
    op.fault("token", status=503, times=1)
    with pytest.raises(errors.ProviderUnavailable):
        sign_in(config(op), http_user, "alice", "allow")
    assert sign_in(config(op), http_user, "alice", "allow").claim.sub == "alice"


def test_f16_a_connection_cut_after_the_code_was_sent_is_not_tried_again(op: Op, http_user: HttpUser) -> None:
    op.fault("token", drop=True)
    with pytest.raises(errors.ProviderUnavailable):
        sign_in(config(op), http_user, "alice", "allow")
    assert op.counts()["token"] == 1
