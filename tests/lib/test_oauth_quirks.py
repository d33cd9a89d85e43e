"""Requests adapted to what a provider wants, and its answers to what RFC 6749 says."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from elicit_flows import catalogue
from elicit_flows.http import Reply
from elicit_flows.oauth import PLAIN, Quirks, adapt_url, value_at
from elicit_flows.oauth.quirks import adapt_request, normalize_response
from elicit_flows.oauth.responses import read_tokens

ASKED = "https://p.example.com/authorize?client_id=us&scope=a+b&state=s&prompt=login"


def query(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def answer(body: Any, kind: str = "application/json", status: int = 200) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status, {"content-type": kind}, raw)


def test_a_provider_without_quirks_gets_and_gives_everything_as_it_is() -> None:
    reply = answer({"access_token": "x"})
    assert adapt_url(ASKED, PLAIN) is ASKED
    assert adapt_request({"a": "b"}, "c=d", PLAIN) == ({"a": "b"}, b"c=d")
    assert normalize_response(reply, PLAIN) is reply


def test_scopes_are_joined_and_parameters_named_as_the_provider_has_them() -> None:
    odd = Quirks(scope_separator=",", scope_param="user_scope", client_id_param="client_key")
    assert query(adapt_url(ASKED, odd)) == {"client_key": "us", "user_scope": "a,b", "state": "s", "prompt": "login"}


def test_a_fixed_parameter_is_added_unless_the_operators_address_says_it() -> None:
    odd = Quirks(authorize_params={"prompt": "consent", "access_type": "offline"})
    assert query(adapt_url(ASKED, odd)) == query(ASKED) | {"access_type": "offline"}


def test_a_request_is_sent_as_json_under_the_providers_names() -> None:
    odd = Quirks(request_body="json", client_secret_param="key", request_headers={"user-agent": "us"})
    headers, body = adapt_request({"accept": "a"}, urlencode({"client_secret": "s +&", "code": "c"}), odd)
    assert headers == {"accept": "a", "user-agent": "us", "content-type": "application/json"}
    assert json.loads(body) == {"key": "s +&", "code": "c"}


LIVES = [
    ("seconds", 3600, 3600),
    ("seconds", "3600", 3600),
    ("milliseconds", 3_600_000, 3600),
    ("timestamp", lambda now: (now + timedelta(hours=1)).timestamp(), 3600),
    ("timestamp", 1000, 1),  # it ran out: not a token that lives for ever
    ("rfc3339", lambda now: (now + timedelta(hours=1)).isoformat(), 3600),
    ("rfc3339", lambda now: f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}", 3600),
    ("rfc3339", "tomorrow", None),
    ("rfc3339", 12, None),
    ("seconds", True, None),
]


@pytest.mark.parametrize(("unit", "said", "expected"), LIVES, ids=map(str, range(len(LIVES))))
def test_a_life_is_read_in_the_unit_that_the_provider_has(unit: Any, said: Any, expected: int | None) -> None:
    said = said(datetime.now(UTC)) if callable(said) else said
    odd = Quirks(expires_field="ends", expires_unit=unit)
    tokens = read_tokens(normalize_response(answer({"access_token": "x", "token_type": "bearer", "ends": said}), odd))
    assert tokens.expires_in == (pytest.approx(expected, abs=60) if expected and expected > 1 else expected)


ANSWERS = [
    (Quirks(answer_path=("user",)), answer({"ok": True, "token_type": "bearer", "user": {"access_token": "x"}})),
    (Quirks(answer_path=("data", "0")), answer({"token_type": "bearer", "data": [{"access_token": "x"}]})),
    (Quirks(answer_path=("data",)), answer({"token_type": "bearer", "access_token": "x"})),
    (Quirks(token_type="unsaid"), answer({"access_token": "x"})),
    (Quirks(token_type="unsaid"), answer({"access_token": "x", "token_type": "user"})),
    (Quirks(answer_format="untyped_json"), answer({"access_token": "x", "token_type": "bearer"}, "text/plain")),
    (Quirks(answer_format="form"), answer(b"access_token=x&token_type=bearer", "text/plain")),
    (Quirks(answer_format="form"), answer({"access_token": "x", "token_type": "bearer"})),
]


@pytest.mark.parametrize(("odd", "reply"), ANSWERS)
def test_tokens_are_found_where_and_as_the_provider_has_them(odd: Quirks, reply: Reply) -> None:
    assert read_tokens(normalize_response(reply, odd)).access_token == "x"


def test_scopes_of_an_answer_are_split_as_they_were_joined() -> None:
    reply = answer({"access_token": "x", "token_type": "bearer", "scope": "a|b"})
    assert read_tokens(normalize_response(reply, Quirks(scope_separator="|"))).scopes == ("a", "b")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"permissions": "instagram_business_basic,instagram_business_manage_comments"},
         ("instagram_business_basic", "instagram_business_manage_comments")),
        ({"permissions": ["instagram_business_basic"]}, ("instagram_business_basic",)),
        ({}, None),
    ],
)  # fmt: skip
def test_t30_the_permissions_that_instagram_names_are_its_scopes(said: Any, kept: tuple[str, ...] | None) -> None:
    """developers.facebook.com, "Business Login for Instagram": a list of the permissions granted by the app user."""
    odd = catalogue.entries()["instagram"].oddities()
    reply = answer({"data": [{"access_token": "x", "user_id": 1, **said}]})
    assert read_tokens(normalize_response(reply, odd)).scopes == kept


@pytest.mark.parametrize("body", [b"\xff", b"[1]", b"{", b"<html>"])
def test_what_cannot_be_read_is_left_as_it_came(body: bytes) -> None:
    for form in ("json", "untyped_json", "form"):
        reply = answer(body, "text/html")
        assert normalize_response(reply, Quirks(answer_format=form, token_type="unsaid")) is reply  # type: ignore[arg-type]


def test_a_way_into_json_ends_where_there_is_none() -> None:
    said = {"a": [{"b": 1}]}
    assert [value_at(said, steps) for steps in [("a", "0", "b"), ("a", "1"), ("a", "b"), ("x", "y"), ()]] == [
        1, None, None, None, said,
    ]  # fmt: skip
