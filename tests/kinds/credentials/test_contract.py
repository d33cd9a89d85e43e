"""Kind credentials passes the contract of every kind, and the typed values appear nowhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from joserfc import jwe
from joserfc.jwk import ECKey, RSAKey

from elicit_flows import kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Answer, Claim, Json, Secret, Visit
from tests.kinds.contract import PageContract

KIND = kinds.get("credentials")
KEY = {"name": "key", "label": "API key"}
TEAM = {"name": "team", "label": "Team", "secret": False, "help": "As in the address."}
AT = "params"
EC = ECKey.generate_key("P-256", private=True)
EC_PUBLIC = EC.as_dict(private=False)


def visit(**more: Json) -> Visit:
    asked = KIND.clean({"fields": [KEY, TEAM], **more})
    return Visit("el_1", Claim("https://idp.test", "alice"), asked, None, "http://127.0.0.1/callback/credentials")


def full(field: Json) -> Json:
    return {"secret": True, "help": None, "pattern": None} | field


def own(*fields: Json, seal_to: Json | None = None) -> Json:
    return {"fields": [full(field) for field in fields], "provider": None, "seal_to": seal_to}


class TestCredentials(PageContract):
    name = "credentials"
    secrets = ("sk-typed",)
    good: list[tuple[Json, Json]] = [
        ({"fields": [KEY]}, own(KEY)),
        ({"fields": [KEY, TEAM]}, own(KEY, TEAM)),
        ({"fields": [KEY | {"pattern": "^sk-"}]}, own(KEY | {"pattern": "^sk-"})),
        ({"fields": [KEY], "seal_to": EC_PUBLIC}, own(KEY, seal_to=EC_PUBLIC)),
        ({"provider": "openai"}, {"fields": None, "provider": "openai", "seal_to": None}),
        ({"provider": "a", "seal_to": EC_PUBLIC}, {"fields": None, "provider": "a", "seal_to": EC_PUBLIC}),
    ]
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({}, [[AT, "fields"]]),
        ({"fields": []}, [[AT, "fields"]]),
        ({"fields": {}}, [[AT, "fields"]]),
        ({"fields": [KEY] * 21}, [[AT, "fields"]]),
        ({"fields": ["key"]}, [[AT, "fields", 0]]),
        ({"fields": [{}]}, [[AT, "fields", 0, "name"], [AT, "fields", 0, "label"]]),
        ({"fields": [KEY, KEY]}, [[AT, "fields", 1, "name"]]),
        ({"fields": [KEY | {"name": "Key"}]}, [[AT, "fields", 0, "name"]]),
        ({"fields": [KEY | {"name": "a" * 41}]}, [[AT, "fields", 0, "name"]]),
        ({"fields": [KEY | {"name": "csrf-token"}]}, [[AT, "fields", 0, "name"]]),
        ({"fields": [KEY | {"name": "csrfmiddlewaretoken"}]}, [[AT, "fields", 0, "name"]]),
        ({"fields": [KEY | {"label": "two\nlines"}]}, [[AT, "fields", 0, "label"]]),
        ({"fields": [KEY | {"secret": 1}]}, [[AT, "fields", 0, "secret"]]),
        ({"fields": [KEY | {"help": "x" * 501}]}, [[AT, "fields", 0, "help"]]),
        ({"fields": [KEY | {"value": "x"}]}, [[AT, "fields", 0, "value"]]),
        ({"fields": [KEY | {"example": "sk-1"}]}, [[AT, "fields", 0, "example"]]),
        ({"fields": [KEY | {"pattern": ""}]}, [[AT, "fields", 0, "pattern"]]),
        ({"fields": [KEY | {"pattern": 7}]}, [[AT, "fields", 0, "pattern"]]),
        ({"fields": [KEY | {"pattern": "("}]}, [[AT, "fields", 0, "pattern"]]),
        ({"fields": [KEY | {"pattern": "(a)\\1"}]}, [[AT, "fields", 0, "pattern"]]),
        ({"fields": [KEY | {"pattern": "a" * 301}]}, [[AT, "fields", 0, "pattern"]]),
        ({"fields": [KEY], "provider": "openai"}, [[AT, "provider"]]),
        ({"fields": [], "provider": "openai"}, [[AT, "provider"]]),
        ({"provider": ""}, [[AT, "provider"]]),
        ({"provider": "a/b"}, [[AT, "provider"]]),
        ({"provider": 7}, [[AT, "provider"]]),
        *[
            ({"fields": [KEY], "seal_to": key}, [[AT, "seal_to"]])
            for key in (
                "key",
                {},
                {"kty": "oct", "k": "AAAA"},
                EC.as_dict(private=True),
                EC_PUBLIC | {"x": "AAAA"},
                EC_PUBLIC | {"crv": "P-1"},
                {"kty": "EC"},
                {"kty": "RSA", "n": "v" * 171, "e": "AQAB"},
                EC_PUBLIC | {"jku": "https://evil.example"},
                {"kty": ["EC"]},
                EC_PUBLIC | {"x": 7},
            )
        ],
    ]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        ({}, "key"), ({"key": ["sk-typed"]}, "team"), ({"key": ["  "], "team": ["blue"]}, "key"),
        ({"key": ["sk-typed", "sk-typed"], "team": ["blue"]}, "key"), ({"key": ["x" * 8193], "team": ["b"]}, "key"),
        ({"key": ["sk\0typed"], "team": ["blue"]}, "key"),
    ]  # fmt: skip
    right = [{"key": ["sk-typed"], "team": ["blue"]}, {"key": [" sk-typed\r\n"], "team": ["blue"]}]

    @pytest.fixture
    def visit(self) -> Visit:
        return visit()


def test_the_values_travel_wrapped_and_are_no_part_of_the_result() -> None:
    outcome = KIND.resume(visit(), Answer({"key": [" sk-typed\n"], "team": ["blue"]}))
    assert outcome.credentials == {"key": Secret("sk-typed"), "team": Secret("blue")}  # type: ignore[union-attr]
    assert "sk-typed" not in repr(outcome)
    assert outcome.result is None  # type: ignore[union-attr]


def test_what_cannot_be_seen_is_not_kept_with_a_key_and_is_no_key() -> None:
    copied = {"key": ["\ufeff sk-typed\u200b\u00a0"], "team": ["\u202ablue\u202c"]}
    outcome = KIND.resume(visit(), Answer(copied))
    assert outcome.credentials == {"key": Secret("sk-typed"), "team": Secret("blue")}  # type: ignore[union-attr]
    with pytest.raises(Invalid) as refused:
        KIND.check_answer(visit(), Answer({**copied, "key": ["\u200b"]}))
    assert list(refused.value.by_field()) == ["key"]


def test_a_refusal_repeats_nothing_of_what_was_typed() -> None:
    with pytest.raises(Invalid) as refused:
        KIND.check_answer(visit(), Answer({"key": ["sk-typed\0"]}))
    assert "sk-typed" not in str(refused.value.errors)


@pytest.mark.parametrize("private", [EC, RSAKey.generate_key(2048, private=True)], ids=["EC", "RSA"])
def test_what_is_sealed_to_the_agents_key_the_agent_alone_can_read(private: ECKey | RSAKey) -> None:
    asked = visit(seal_to=private.as_dict(private=False) | {"kid": "k1"})
    outcome = KIND.resume(asked, Answer({"key": ["sk-typed"], "team": ["blue"]}))
    assert list(outcome.credentials) == ["sealed"]  # type: ignore[union-attr,arg-type]
    text = outcome.credentials["sealed"].reveal()  # type: ignore[union-attr,index]
    assert "sk-typed" not in text
    opened = jwe.decrypt_compact(text, private, algorithms=["ECDH-ES", "RSA-OAEP-256", "A256GCM"])
    assert opened.headers()["kid"] == "k1"
    assert json.loads(opened.plaintext or b"") == {"key": "sk-typed", "team": "blue"}
