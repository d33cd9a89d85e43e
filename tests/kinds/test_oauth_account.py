"""The account of a connection is always the one that its tokens are for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from joserfc.util import urlsafe_b64encode

from elicit_flows.domain.values import Finish
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response, redirect
from tests.kinds.connecting import by_issuer, by_urls, connect


def account(provider: Provider, openid: bool = False) -> tuple[str | None, str | None]:
    config = by_issuer(provider, scopes=("openid",)) if openid else by_urls(provider)
    outcome = connect(provider, config)
    assert isinstance(outcome, Finish)
    assert outcome.grant, outcome.error
    return outcome.grant.account_id, outcome.grant.account_label


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"sub": "u-1", "name": "Alice"}, ("u-1", "Alice")),
        ({"id": 42, "login": "octocat", "name": "Mona"}, ("42", "octocat")),
        ({"id": "42", "username": "mona"}, ("42", "mona")),
        ({"login": "octocat"}, ("octocat", "octocat")),
        ({"sub": "u-1", "email": "a@example.com", "name": "a@example.com"}, ("u-1", None)),
        ({"sub": "u-1", "preferred_username": "a@example.com", "nickname": "Al"}, ("u-1", "Al")),
        ({"sub": "u-1", "name": "A\u202el\x00ice\r\n B"}, ("u-1", "Alice B")),
        ({"sub": "", "id": True, "login": "x" * 256}, (None, "x" * 99 + "…")),
        ({"sub": "a\x00b", "id": "7"}, ("7", None)),
        ({"sub": ["u-1"]}, (None, None)),
        ({"email": "a@example.com"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_the_account_has_an_id_and_a_label_without_email(
    provider: Provider, said: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    provider.scripted["userinfo"] = json_response(said)
    assert account(provider) == expected


@pytest.mark.parametrize(
    "answer",
    [
        Response(401),
        Response(403),
        Response(500),
        Response(200, b"<html>", {"Content-Type": "text/html"}),
        json_response([]),
        json_response({"error": "invalid_grant"}, 400),
        redirect("https://elsewhere.example.com/me"),
    ],
)
def test_a_provider_that_does_not_say_leaves_the_account_unnamed(provider: Provider, answer: Response) -> None:
    provider.scripted["userinfo"] = answer
    assert account(provider) == (None, None)


def test_without_userinfo_the_id_token_names_the_account(provider: Provider) -> None:
    provider.metadata["userinfo_endpoint"] = None
    assert account(provider, openid=True) == ("alice", None)
    provider.scripted["userinfo"] = Response(500)
    assert account(provider, openid=True) == ("alice", None)


def test_userinfo_without_sub_is_not_believed_beside_an_id_token(provider: Provider) -> None:
    provider.scripted["userinfo"] = json_response({"id": "7", "name": "Mallory"})
    assert account(provider, openid=True) == ("alice", None)


@pytest.mark.parametrize("sub", ["mallory", "Alice", "alice ", 7, "", ["alice"], None])
def test_t28_userinfo_of_another_subject_fails(provider: Provider, sub: Any) -> None:
    provider.scripted["userinfo"] = json_response({"sub": sub, "name": "Mallory"})
    outcome = connect(provider, by_issuer(provider, scopes=("openid",)))
    assert isinstance(outcome, Finish)
    assert outcome.error
    assert (outcome.status, outcome.error["code"], outcome.grant) == ("failed", "provider_error", None)


@pytest.mark.parametrize(
    "claims",
    [{"aud": "another"}, {"aud": ["another"]}, {"aud": None}, {"iss": "https://evil.example.com"}, {"iss": None}],
)
def test_t28_an_identity_issued_for_or_by_somebody_else_fails(provider: Provider, claims: dict[str, Any]) -> None:
    provider.claims = claims
    outcome = connect(provider, by_issuer(provider, scopes=("openid",)))
    assert isinstance(outcome, Finish)
    assert outcome.error
    assert outcome.error["code"] == "provider_error"


def token(body: bytes) -> str:
    return f"e30.{urlsafe_b64encode(body).decode()}.eA"


@pytest.mark.parametrize(
    "id_token",
    [
        "a.b",
        "a.b.c.d.e",
        "a.!!!.c",
        token(b"[]"),
        token(b"{}"),
        token(b'{"sub": 7}'),
        token(b"\xff"),
        token(json.dumps({"sub": "a", "aud": "elicit"}).encode()[:-1] + b', "sub": "b"}'),
    ],
)
def test_an_id_token_that_cannot_be_read_is_left_aside(provider: Provider, id_token: str) -> None:
    provider.reply = {"id_token": id_token}
    assert account(provider) == ("alice", "Alice Example")
