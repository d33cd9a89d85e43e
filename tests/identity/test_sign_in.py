"""Sign-in at an identity provider: the request, the answer, and the errors."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows import identity
from elicit_flows.domain import errors
from elicit_flows.domain.values import Claim
from elicit_flows.identity.openid import PROMPTS
from elicit_flows.oauth import new_verifier
from tests.doubles.provider import Provider
from tests.doubles.raw import dripping, listening
from tests.doubles.server import Request, Response, json_response, redirect
from tests.identity.signing import CALLBACK, NONCE, back, config, sign_in
from tests.support.machine import within


def leave(provider: Provider, verifier: str, prompt: str | None = None, max_age: int | None = None) -> str:
    op = config(provider, max_age)
    return identity.begin(op, redirect_uri=CALLBACK, state="st4te", nonce=NONCE, verifier=verifier, prompt=prompt)


def test_the_right_person_is_signed_in(provider: Provider) -> None:
    signed_in = sign_in(provider)
    assert signed_in.claim == Claim(provider.issuer, "alice")
    assert signed_in.label == "Alice Example"
    assert abs((signed_in.auth_time or 0) - time.time()) < 5


def test_the_browser_leaves_with_state_nonce_and_pkce(provider: Provider) -> None:
    url = leave(provider, "v" * 43, prompt="select_account", max_age=0)
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert query["code_challenge_method"] == "S256"
    assert (query["state"], query["nonce"], query["scope"]) == ("st4te", NONCE, "openid")
    assert (query["prompt"], query["max_age"], query["redirect_uri"]) == ("select_account", "0", CALLBACK)
    assert "v" * 43 not in url


@pytest.mark.parametrize(("prompt", "sent"), [("login", "select_account"), (None, None)])
def test_another_account_is_asked_for_as_google_wants_it(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, prompt: str | None, sent: str | None
) -> None:
    monkeypatch.setitem(PROMPTS, provider.issuer, PROMPTS["https://accounts.google.com"])
    query = parse_qs(urlsplit(leave(provider, "v" * 43, prompt=prompt)).query)
    assert query.get("prompt", [None]) == [sent]


def test_a_public_client_signs_in_too(provider: Provider) -> None:
    provider.client_secret = None
    assert sign_in(provider).claim.sub == "alice"


def test_the_secret_goes_where_the_metadata_wants_it(provider: Provider) -> None:
    provider.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    sign_in(provider)
    assert provider.seen("token")[0].form["client_secret"] == provider.client_secret


@pytest.mark.parametrize("sub", ["alice ", "Alice", "älice", "a\u0308lice", "x" * 255, "\u202ealice", "0"])
def test_t6_the_subject_is_taken_byte_for_byte(provider: Provider, sub: str) -> None:
    provider.user = {"sub": sub}
    assert sign_in(provider).claim == Claim(provider.issuer, sub)


def test_t6_the_email_is_neither_identity_nor_label(provider: Provider) -> None:
    provider.claims = {"email": "bob@example.com", "email_verified": True, "name": None}
    signed_in = sign_in(provider)
    assert (signed_in.claim.sub, signed_in.label) == ("alice", "alice")


def test_the_label_cannot_disguise_itself(provider: Provider) -> None:
    provider.claims = {"name": "Bob\u202e\r\n ecilA" + "x" * 500}
    label = sign_in(provider).label
    assert label.startswith("Bob ecilA")
    assert len(label) <= 100


@pytest.mark.parametrize("code", ["access_denied", "login_required", "server_error", "invalid_scope"])
def test_t33_a_refusal_of_the_provider_keeps_its_code(provider: Provider, code: str) -> None:
    provider.decision = code
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(provider)
    assert caught.value.code == code
    assert provider.calls["token"] == 0


def test_t33_an_odd_error_code_is_not_repeated(provider: Provider) -> None:
    fields = {"error": ["<svg onload=alert(1)>"], "error_description": ["canary"], "iss": [provider.issuer]}
    with pytest.raises(identity.SignInRefused) as caught:
        back(provider, fields, verifier="v" * 43)
    assert caught.value.code == "unknown_error"
    assert "canary" not in caught.value.message


@pytest.mark.parametrize("iss", [[], ["{}/"], ["https://evil.example.com"], ["{}", "{}"], [""]])
def test_t20_an_answer_of_another_issuer_costs_no_token_request(provider: Provider, iss: list[str]) -> None:
    verifier = new_verifier()
    fields = provider.visit(leave(provider, verifier)) | {"iss": [each.format(provider.issuer) for each in iss]}
    with pytest.raises(identity.SignInRefused) as caught:
        back(provider, fields, verifier=verifier)
    assert caught.value.code == "issuer_mismatch"
    assert provider.calls["token"] == 0


def test_t20_a_provider_that_does_not_promise_iss_need_not_send_it(provider: Provider) -> None:
    provider.sends_iss = False
    assert sign_in(provider).claim.sub == "alice"


@pytest.mark.parametrize(
    "fields", [{}, {"code": []}, {"code": [""]}, {"code": ["a", "b"]}, {"code": ["x" * 5000]}, {"error": ["a", "b"]}]
)
def test_t16_an_answer_without_exactly_one_code_is_refused(provider: Provider, fields: dict[str, list[str]]) -> None:
    with pytest.raises(identity.SignInRefused) as caught:
        back(provider, fields | {"iss": [provider.issuer]}, verifier="v" * 43)
    assert caught.value.code == "bad_answer"
    assert provider.calls["token"] == 0


def test_t15_a_code_works_once(provider: Provider) -> None:
    verifier = new_verifier()
    fields = provider.visit(leave(provider, verifier))
    back(provider, fields, verifier=verifier)
    with pytest.raises(identity.SignInRefused) as caught:
        back(provider, fields, verifier=verifier)
    assert caught.value.code == "invalid_grant"


def test_t18_a_code_of_another_browser_is_refused(provider: Provider) -> None:
    stolen = provider.visit(leave(provider, new_verifier()))
    with pytest.raises(identity.SignInRefused) as caught:
        back(provider, stolen, verifier=new_verifier())
    assert caught.value.code == "invalid_grant"


def test_t31_the_code_follows_no_redirect(provider: Provider) -> None:
    with Provider() as sink:
        provider.scripted["token"] = redirect(f"{sink.url}/token", 307)
        with pytest.raises(identity.SignInRefused) as caught:
            sign_in(provider)
        assert sink.requests == []
    assert caught.value.code == "provider_error"


def test_t37_metadata_of_another_issuer_stops_the_sign_in(provider: Provider) -> None:
    provider.metadata["issuer"] = "https://evil.example.com"
    with pytest.raises(errors.ProviderUnavailable):
        sign_in(provider)
    assert provider.calls["authorize"] == 0


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("url", [None, "https://169.254.169.254/x", "http://idp.example.com/x"])
def test_t36_missing_or_inner_endpoints_stop_the_sign_in(provider: Provider, name: str, url: str | None) -> None:
    provider.metadata[name] = url
    with pytest.raises(errors.ProviderUnavailable):
        leave(provider, "v" * 43)


def test_t19_a_provider_without_s256_is_not_used(provider: Provider) -> None:
    provider.metadata["code_challenge_methods_supported"] = ["plain"]
    with pytest.raises(errors.ProviderUnavailable):
        leave(provider, "v" * 43)


def test_t8_a_fresh_sign_in_satisfies_max_age(provider: Provider) -> None:
    assert sign_in(provider, max_age=0).claim.sub == "alice"


def test_t8_an_old_sign_in_is_told_apart(provider: Provider) -> None:
    provider.claims = {"auth_time": int(time.time()) - 400}
    assert sign_in(provider, max_age=600).claim.sub == "alice"
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(provider, max_age=300)
    assert caught.value.code == "stale_login"


def test_t8_time_spent_at_the_provider_does_not_make_a_sign_in_old(provider: Provider) -> None:
    provider.claims = {"auth_time": int(time.time()) - 400}
    assert sign_in(provider, max_age=0, since=time.time() - 420).claim.sub == "alice"


@pytest.mark.parametrize("auth_time", [None, "1700000000", True, 10**11, 10**400])
def test_t8_max_age_needs_a_time_that_makes_sense(provider: Provider, auth_time: object) -> None:
    provider.claims = {"auth_time": auth_time}
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(provider, max_age=300)
    assert caught.value.code == "bad_id_token"


@pytest.mark.parametrize("route", ["metadata", "token", "jwks"])
def test_t48_a_provider_in_trouble_is_unavailable_and_later_works(
    provider: Provider, route: str, clock: list[float]
) -> None:
    provider.scripted[route] = Response(503)
    with pytest.raises(errors.ProviderUnavailable):
        sign_in(provider)
    del provider.scripted[route]
    clock[0] += 2.1
    assert sign_in(provider).claim.sub == "alice"


@pytest.mark.slow
@pytest.mark.parametrize("route", ["jwks_uri", "token_endpoint"])
def test_t48_a_silent_provider_is_given_up_after_five_seconds(provider: Provider, route: str) -> None:
    with listening(dripping(b"HTTP/1.1 200 OK\r\n", b"X", 0.2)) as silent:
        provider.metadata[route] = silent.url
        began = time.monotonic()
        with pytest.raises(errors.ProviderUnavailable):
            sign_in(provider)
        assert 4.5 < time.monotonic() - began < within(6.5)


def test_t48_a_key_set_that_is_none_makes_the_provider_unavailable(provider: Provider) -> None:
    provider.scripted["jwks"] = json_response({"keys": "none"})
    with pytest.raises(errors.ProviderUnavailable):
        sign_in(provider)


def test_t47_a_token_of_another_provider_is_refused(provider: Provider) -> None:
    with Provider() as other:
        other.signing = provider.signing

        def swapped(request: Request) -> Response:
            token = other.id_token({"sub": "alice"}, NONCE, "at")
            return json_response({"access_token": "at", "token_type": "Bearer", "id_token": token})

        provider.scripted["token"] = swapped
        with pytest.raises(identity.SignInRefused) as caught:
            sign_in(provider)
    assert caught.value.code == "bad_id_token"


def test_an_answer_without_id_token_is_refused(provider: Provider) -> None:
    provider.reply = {"id_token": None}
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(provider)
    assert caught.value.code == "bad_id_token"


WITH_NAMES = ("openid", "profile", "email")
SAID = {"sub": "alice", "name": "Alice Example", "email": "alice@example.com", "email_verified": True}


def thin(provider: Provider) -> None:
    """Its ID tokens have no names and no address, as OpenID Connect Core says in section 5.4."""
    provider.user = dict(SAID)
    provider.claims = dict.fromkeys(set(SAID) - {"sub"})


def test_names_and_address_are_asked_for_where_the_id_token_has_none(provider: Provider) -> None:
    thin(provider)
    signed_in = sign_in(provider, scopes=WITH_NAMES)
    assert (signed_in.label, signed_in.email) == ("Alice Example", "alice@example.com")
    assert provider.calls["userinfo"] == 1


@pytest.mark.parametrize(
    ("scopes", "said", "label", "calls"),
    [
        (("openid",), {}, "alice", 0),
        (WITH_NAMES, SAID, "Alice Example", 0),
        (("openid", "email"), {"email": "alice@example.com"}, "alice", 0),
        (("openid", "email"), {}, "alice", 1),
        (("openid", "profile"), {"nickname": "Ali"}, "Ali", 0),
    ],
)
def test_nothing_is_asked_for_that_is_known_or_was_no_scope(
    provider: Provider, scopes: tuple[str, ...], said: dict[str, Any], label: str, calls: int
) -> None:
    thin(provider)
    provider.claims |= said
    assert sign_in(provider, scopes=scopes).label == label
    assert provider.calls["userinfo"] == calls


def test_t159_an_address_is_not_verified_by_what_is_said_of_another(provider: Provider) -> None:
    thin(provider)
    provider.claims |= {"email": "bob@example.com"}
    signed_in = sign_in(provider, scopes=WITH_NAMES)
    assert (signed_in.label, signed_in.email) == ("Alice Example", "")


@pytest.mark.parametrize(
    "answer",
    [
        Response(503),
        Response(204),
        json_response({"error": "invalid_token"}, 401),
        json_response([SAID]),
        json_response({**SAID, "sub": "bob"}),
        json_response({name: value for name, value in SAID.items() if name != "sub"}),
        Response(200, {"content-type": "application/jwt"}, b"eyJhbGciOiJSUzI1NiJ9.e30.c2ln"),
        redirect("https://elsewhere.example.com/"),
    ],
)
def test_t28_without_an_answer_about_them_the_person_is_signed_in_by_the_id_token(
    provider: Provider, answer: Response
) -> None:
    thin(provider)
    provider.scripted["userinfo"] = answer
    signed_in = sign_in(provider, scopes=WITH_NAMES)
    assert (signed_in.claim, signed_in.label, signed_in.email) == (Claim(provider.issuer, "alice"), "alice", "")
    assert provider.calls["userinfo"] == 1


def test_a_provider_without_that_endpoint_signs_in_too(provider: Provider) -> None:
    thin(provider)
    provider.metadata["userinfo_endpoint"] = None
    assert sign_in(provider, scopes=WITH_NAMES).label == "alice"
