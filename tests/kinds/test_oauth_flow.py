"""Connecting an account: the request, the callback, and the outcome of each error."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Again, Answer, Finish
from elicit_flows.lib import clock
from tests.doubles.provider import Provider
from tests.doubles.raw import dripping, listening
from tests.doubles.server import Request, Response, json_response, redirect
from tests.kinds.connecting import KIND, away, by_issuer, by_urls, connect, visit
from tests.kinds.contract import KindContract


def query(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def failed(outcome: Finish | Again, code: str = "provider_error") -> str:
    assert isinstance(outcome, Finish)
    assert (outcome.status, outcome.grant) == ("failed", None)
    assert outcome.error
    assert outcome.error["code"] == code
    return str(outcome.error["message"])


def again(outcome: Finish | Again, code: str) -> None:
    assert isinstance(outcome, Again)
    assert outcome.code == code


@pytest.mark.parametrize("configured", [by_issuer, by_urls])
def test_an_account_is_connected(provider: Provider, configured: Any) -> None:
    outcome = connect(provider, configured(provider))
    assert isinstance(outcome, Finish)
    assert outcome.grant
    assert outcome.status == "completed"
    assert outcome.grant.scopes == ("files.read",)
    assert (outcome.grant.account_id, outcome.grant.account_label) == ("alice", "Alice Example")
    assert provider.live(outcome.grant.access_token.reveal())
    left = outcome.grant.expires_at - clock.now() if outcome.grant.expires_at else timedelta()
    assert timedelta(seconds=3590) < left <= timedelta(seconds=3600)
    assert outcome.result == {
        "provider": "acme",
        "scopes": ["files.read"],
        "account": {"id": "alice", "label": "Alice Example"},
    }
    assert outcome.grant.access_token.reveal() not in repr(outcome)


def test_the_scopes_of_the_operator_are_always_asked_for(provider: Provider) -> None:
    leave = KIND.begin(visit(by_issuer(provider, scopes=("read", "files.read")), ("files.read", "write")))
    assert query(leave.url)["scope"] == "read files.read write"


def test_no_scope_at_all_asks_for_the_providers_default(provider: Provider) -> None:
    outcome = connect(provider, by_issuer(provider), ())
    assert isinstance(outcome, Finish)
    assert outcome.grant
    assert outcome.grant.scopes == ("openid",)


@pytest.mark.parametrize("configured", [by_issuer, by_urls])
def test_t19_every_authorization_url_carries_s256(provider: Provider, configured: Any) -> None:
    made = visit(configured(provider))
    asked = [query(KIND.begin(made).url) for _ in range(50)]
    assert {each["code_challenge_method"] for each in asked} == {"S256"}
    assert len({each["code_challenge"] for each in asked}) == 50


def test_t19_metadata_without_s256_is_refused(provider: Provider) -> None:
    provider.metadata["code_challenge_methods_supported"] = ["plain"]
    with pytest.raises(errors.ProviderUnavailable, match="PKCE"):
        KIND.begin(visit(by_issuer(provider)))


def test_t19_the_operator_may_switch_pkce_off(provider: Provider) -> None:
    provider.metadata["code_challenge_methods_supported"] = ["plain"]
    outcome = connect(provider, by_issuer(provider, pkce="off"))
    assert isinstance(outcome, Finish)
    assert outcome.status == "completed"
    assert "code_challenge" not in provider.seen("authorize")[0].query
    assert "code_verifier" not in provider.seen("token")[0].form


def test_t18_a_code_of_another_attempt_opens_nothing(provider: Provider) -> None:
    config = by_issuer(provider)
    _, stolen = away(provider, visit(config))
    mine, _ = away(provider, visit(config))
    again(KIND.resume(mine, stolen), "invalid_grant")
    assert not provider.tokens


@pytest.mark.parametrize("nonce", [None, "", "another", 7])
def test_t18_an_identity_of_another_attempt_fails(provider: Provider, nonce: object) -> None:
    config = by_issuer(provider, scopes=("openid",), pkce="off")
    asked = [query(KIND.begin(visit(config)).url)["nonce"] for _ in range(2)]
    assert asked[0] != asked[1]
    provider.claims = {"nonce": nonce}
    failed(connect(provider, config))


@pytest.mark.parametrize("iss", [[], ["{}/"], ["{}x"], ["https://evil.example.com"], ["{}", "{}"], [""]])
def test_t20_an_answer_of_another_issuer_costs_no_token_request(provider: Provider, iss: list[str]) -> None:
    back, answer = away(provider, visit(by_issuer(provider)))
    mixed = Answer({**answer.fields, "iss": [each.format(provider.issuer) for each in iss]})
    with pytest.raises(errors.BadCallback):
        KIND.check_answer(back, mixed)
    assert provider.calls["token"] == 0


def test_t20_an_error_of_another_issuer_is_no_answer(provider: Provider) -> None:
    back, _ = away(provider, visit(by_issuer(provider)))
    with pytest.raises(errors.BadCallback):
        KIND.check_answer(back, Answer({"error": ["access_denied"], "iss": ["https://evil.example.com"]}))


def test_t20_a_provider_that_does_not_promise_iss_need_not_send_it(provider: Provider) -> None:
    provider.sends_iss = False
    outcome = connect(provider, by_issuer(provider))
    assert isinstance(outcome, Finish)
    assert outcome.status == "completed"


def test_t21_a_code_goes_to_nobody_but_the_one_that_was_asked(provider: Provider) -> None:
    with Provider() as other:
        back, answer = away(provider, visit(by_issuer(provider)))
        here = {"client_id": "another"}, {"token_url": f"{other.url}/token"}
        for changed in (by_issuer(other), by_urls(other), *(by_issuer(provider, **one) for one in here)):
            moved = KindContract.returning(back, KIND.begin(back), config=changed, stash=back.stash)
            again(KIND.resume(moved, answer), "provider_changed")
        assert other.calls["token"] == provider.calls["token"] == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_t31_the_code_follows_no_redirect(provider: Provider, status: int) -> None:
    with Provider() as sink:
        provider.scripted["token"] = redirect(f"{sink.url}/token", status)
        failed(connect(provider, by_issuer(provider)))
        assert sink.requests == []


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ("access_denied", "declined"),
        ("user_cancelled_login", "declined"),  # LinkedIn's
        ("user_cancelled_authorize", "declined"),  # LinkedIn's and Apple's
        ("temporarily_unavailable", "again"),
        ("server_error", "again"),
        ("invalid_request", "failed"),
        ("unauthorized_client", "failed"),
        ("unsupported_response_type", "failed"),
        ("invalid_scope", "failed"),
        ("made_up", "failed"),
    ],
)
def test_t33_each_error_of_the_provider_has_its_end(provider: Provider, decision: str, expected: str) -> None:
    provider.decision = decision
    outcome = connect(provider, by_issuer(provider))
    assert (outcome.status if isinstance(outcome, Finish) else "again") == expected
    assert provider.calls["token"] == 0
    if expected == "failed":
        assert decision in failed(outcome)


def test_t33_the_description_is_cleaned_and_short(provider: Provider) -> None:
    back, _ = away(provider, visit(by_issuer(provider)))
    said = "Bad\u202e scope\r\n\x00\x1b[31m " + "x" * 1000
    message = failed(KIND.resume(back, Answer({"error": ["invalid_scope"], "error_description": [said]})))
    assert message.startswith('The provider answered invalid_scope: "Bad scope [31m xxx')
    assert message.isprintable()
    assert len(message) < 260


def test_t33_an_error_code_that_is_not_one_is_not_repeated(provider: Provider) -> None:
    back, _ = away(provider, visit(by_issuer(provider)))
    assert failed(KIND.resume(back, Answer({"error": ["<svg onload=x>"]}))) == "The provider answered unknown_error."


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Response(500), "provider_unavailable"),
        (Response(503), "provider_unavailable"),
        (Response(429), "provider_unavailable"),
        (json_response({"error": "temporarily_unavailable"}, 400), "provider_unavailable"),
        (json_response({"error": "invalid_grant"}, 400), "invalid_grant"),
        (json_response({"error": "bad_verification_code"}), "invalid_grant"),
    ],
)
def test_f16_trouble_at_the_token_endpoint_lets_the_user_try_again(
    provider: Provider, answer: Response, code: str
) -> None:
    provider.scripted["token"] = answer
    again(connect(provider, by_issuer(provider)), code)
    assert provider.calls["token"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        Response(200, b"<html>", {"Content-Type": "text/html"}),
        json_response({"access_token": "", "token_type": "bearer"}),
        json_response({"access_token": "a", "token_type": "MAC"}),
        json_response({"error": "invalid_client"}, 401),
        Response(404),
    ],
)
def test_t32_an_unusable_token_response_fails_the_elicitation(provider: Provider, answer: Response) -> None:
    provider.scripted["token"] = answer
    failed(connect(provider, by_issuer(provider)))


def test_f16_a_reset_after_the_request_is_not_repeated(provider: Provider) -> None:
    with listening(dripping(b"nonsense\r\n\r\n", b"", 0.05)) as broken:
        again(connect(provider, by_urls(provider, token_url=f"{broken.url}token")), "provider_unavailable")
        assert len(broken.heard) == 1


def test_f16_metadata_that_cannot_be_had_leaves_everything_as_it_was(provider: Provider) -> None:
    back, answer = away(provider, visit(by_issuer(provider)))
    oauth.forget()
    provider.scripted["metadata"] = Response(503)
    again(KIND.resume(back, answer), "provider_unavailable")
    with pytest.raises(errors.ProviderUnavailable):
        KIND.begin(back)
    assert provider.calls["token"] == 0


@pytest.mark.parametrize("field", ["authorize_url", "token_url"])
@pytest.mark.parametrize("url", ["http://provider.example.com/x", "https://10.0.0.1/x", None])
def test_t36_endpoints_that_are_refused_or_missing_stop_the_way_out(
    provider: Provider, field: str, url: str | None
) -> None:
    with pytest.raises(errors.ProviderUnavailable):
        KIND.begin(visit(by_urls(provider, **{field: url})))


@pytest.mark.parametrize(
    ("granted", "kept"),
    [
        ("files.read", ("files.read",)),
        ("files.read,admin", ("files.read", "admin")),
        ("", ()),
        (None, ("files.read", "w")),
    ],
)
def test_t30_the_scopes_that_were_granted_are_the_ones_kept(
    provider: Provider, granted: str | None, kept: tuple[str, ...]
) -> None:
    provider.reply = {"scope": granted}
    outcome = connect(provider, by_issuer(provider), ("files.read", "w"))
    assert isinstance(outcome, Finish)
    assert outcome.grant
    assert outcome.result
    assert outcome.grant.scopes == kept
    assert outcome.result["scopes"] == list(kept)


@pytest.mark.parametrize(
    ("ticked", "kept"),
    [
        ("read,files.read", ("files.read",)),
        ("files.read w x", ("files.read", "w")),
        ("FilesRead", ("files.read", "w")),
        ("", ("files.read", "w")),
    ],
)
def test_t30_what_the_person_left_ticked_is_read_beside_the_code_where_the_tokens_say_nothing(
    provider: Provider, ticked: str, kept: tuple[str, ...]
) -> None:
    """As at Strava (developers.strava.com/docs/authentication, "Details About Requesting Access")."""
    provider.reply = {"scope": None}
    back, answer = away(provider, visit(by_urls(provider), ("files.read", "w")))
    outcome = KIND.resume(back, Answer({**answer.fields, "scope": [ticked]}))
    assert isinstance(outcome, Finish)
    assert outcome.grant
    assert outcome.grant.scopes == kept
    provider.reply = {}
    back, answer = away(provider, visit(by_urls(provider), ("files.read", "w")))
    told = KIND.resume(back, Answer({**answer.fields, "scope": ["w"]}))
    assert isinstance(told, Finish)
    assert told.grant
    assert told.grant.scopes == ("files.read", "w"), "the token endpoint knows better"


def test_a_callback_with_both_code_and_error_is_no_answer(provider: Provider) -> None:
    back, answer = away(provider, visit(by_issuer(provider)))
    with pytest.raises(errors.BadCallback):
        KIND.check_answer(back, Answer({**answer.fields, "error": ["access_denied"]}))


def test_the_page_is_told_the_host_that_comes_next(provider: Provider) -> None:
    words = {"read": "Read your files"}
    config = by_issuer(provider, issuer="https://accounts.example.com", scopes=("read",), scope_words=words)
    said = KIND.describe({"provider": "acme", "scopes": ["write"]}, config)
    assert said == {
        "title": "Acme Drive",
        "host": "accounts.example.com",
        "host_warning": "",
        "scopes": ["read", "write"],
        "scope_words": words,
        "reasons": {},
        "by_device": False,
        "mcp": "",
        "issuer_host": "",
        "seen": "",
    }
    assert KIND.describe({"provider": "acme", "scopes": []}, replace(config, grant="device_code"))["host"] == ""
    spoofed = by_urls(provider, authorize_url="https://xn--pple-43d.com/authorize")
    assert KIND.describe({"provider": "acme", "scopes": []}, spoofed)["host_warning"]


def test_the_page_asks_nobody(provider: Provider) -> None:
    KIND.describe({"provider": "acme", "scopes": []}, by_issuer(provider))
    assert provider.requests == []


def test_t86_a_token_that_cannot_be_kept_is_given_back(provider: Provider) -> None:
    def mallory(request: Request) -> Response:
        return json_response({"sub": "mallory"})

    provider.scripted["userinfo"] = mallory
    failed(connect(provider, by_issuer(provider, scopes=("openid",))))
    assert provider.calls["revoke"] == 1
    assert not any(issued.live for issued in provider.tokens.values())
