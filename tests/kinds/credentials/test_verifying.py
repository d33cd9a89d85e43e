"""Credentials are checked at their provider before they are stored."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from joserfc import jwe
from joserfc.jwk import ECKey

from elicit_flows import http, kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Again, Answer, Finish, Json, Secret
from elicit_flows.kinds.credentials import verification
from elicit_flows.kinds.credentials.config import CredentialsProvider
from tests.doubles.key_provider import ACCOUNT, KEY, PASSWORD, KeyProvider
from tests.doubles.policy import dialing, loopback_allowed
from tests.doubles.raw import dripping, listening
from tests.doubles.server import Response, redirect
from tests.kinds.credentials import providers

KIND = kinds.get("credentials")


@pytest.fixture
def house() -> Iterator[KeyProvider]:
    with loopback_allowed(), KeyProvider() as house:
        yield house


def sent(config: CredentialsProvider, seal_to: Json | None = None, **typed: str) -> Finish | Again:
    """What comes of what was typed; the check of its form passes."""
    visit = providers.visit(config, **({"seal_to": seal_to} if seal_to else {}))
    answer = Answer({name: [value] for name, value in typed.items()})
    KIND.check_answer(visit, answer)
    outcome = KIND.resume(visit, answer)
    assert not any(value in repr(outcome) for value in typed.values())
    return outcome


def test_a_good_key_is_kept_after_one_request(house: KeyProvider) -> None:
    outcome = sent(providers.by_header(f"{house.url}/check"), api_key=KEY)
    assert isinstance(outcome, Finish)
    assert outcome.credentials == {"api_key": Secret(KEY)}
    (request,) = house.seen("check")
    assert (request.method, request.headers["x-key"], request.body) == ("GET", KEY, b"")


def test_a_user_name_and_a_password_are_escaped_where_they_go(house: KeyProvider) -> None:
    config = providers.by_password(f"{house.url}/accounts/{{account}}.json")
    outcome = sent(config, account=ACCOUNT, password=PASSWORD)
    assert isinstance(outcome, Finish)
    assert list(house.calls) == ["account"]


def test_a_key_that_is_refused_is_said_beside_its_field_and_not_kept(house: KeyProvider) -> None:
    outcome = sent(providers.by_header(f"{house.url}/check"), api_key="key_wrong")
    assert isinstance(outcome, Again)
    assert (outcome.code, outcome.field) == ("refused", "api_key")
    assert "Key House does not accept this." in outcome.reason
    config = providers.by_password(f"{house.url}/accounts/{{account}}.json")
    outcome = sent(config, account=ACCOUNT, password="wrong")
    assert isinstance(outcome, Again)
    assert outcome.field == "password", "the secret is more likely wrong than the name"


@pytest.mark.parametrize(
    ("status", "said", "came"),
    [
        (200, {}, "completed"), (204, {}, "completed"), (401, {}, "refused"), (403, {}, "refused"),
        (400, {}, "provider_unavailable"), (404, {}, "provider_unavailable"), (429, {}, "provider_unavailable"),
        (500, {}, "provider_unavailable"), (503, {}, "provider_unavailable"),
        (400, {"refused": [400]}, "refused"), (404, {"refused": [400, 404]}, "refused"),
        (403, {"accepted": [403]}, "completed"), (401, {"accepted": [403]}, "refused"),
    ],
)  # fmt: skip
def test_what_each_status_means(house: KeyProvider, status: int, said: Json, came: str) -> None:
    house.scripted["check"] = Response(status)
    outcome = sent(providers.by_header(f"{house.url}/check", **said), api_key=KEY)
    assert came == (outcome.code if isinstance(outcome, Again) else outcome.status)


def test_who_cannot_be_asked_is_named_and_it_can_be_tried_again(house: KeyProvider) -> None:
    house.scripted["check"] = Response(503)
    outcome = sent(providers.by_password(f"{house.url}/check"), account="our account", password="pass word")
    assert isinstance(outcome, Again)
    assert outcome.field == "account"
    assert "Key House is not available to check" in outcome.reason
    assert "Try again." in outcome.reason


def test_t31_no_key_follows_a_redirect(house: KeyProvider) -> None:
    with KeyProvider() as evil:
        house.scripted["check"] = redirect(f"{evil.url}/check", 307)
        outcome = sent(providers.by_header(f"{house.url}/check"), api_key=KEY)
        assert isinstance(outcome, Again)
        assert outcome.code == "provider_unavailable"
        assert evil.requests == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/check", "https://localhost:{port}/check"])
def test_t89_no_key_goes_to_this_machine(house: KeyProvider, url: str) -> None:
    with dialing(http.Policy()):
        outcome = sent(providers.by_header(url.replace("{port}", str(house.port))), api_key=KEY)
    assert isinstance(outcome, Again)
    assert outcome.code == "provider_unavailable"
    assert house.requests == []


def test_nobody_there_is_not_a_wrong_key(house: KeyProvider) -> None:
    house.close()
    outcome = sent(providers.by_header(f"{house.url}/check"), api_key=KEY)
    assert isinstance(outcome, Again)
    assert outcome.code == "provider_unavailable"


def test_a_provider_that_takes_its_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "DEADLINE", 0.3)
    with loopback_allowed(), listening(dripping(b"HTTP/1.1 200 OK\r\n", b"x", 0.05)) as slow:
        outcome = sent(providers.by_header(f"{slow.url}check"), api_key=KEY)
    assert isinstance(outcome, Again)
    assert outcome.code == "provider_unavailable"


def test_a_long_answer_is_as_good_as_a_short_one(house: KeyProvider) -> None:
    house.scripted["check"] = Response(200, b"[" + b"1," * 200_000 + b"1]")
    assert isinstance(sent(providers.by_header(f"{house.url}/check"), api_key=KEY), Finish)


@pytest.mark.parametrize(
    ("config", "typed", "beside"),
    [
        ("header", {"api_key": "key_1\r\nx-admin: yes"}, "api_key"), ("header", {"api_key": "key_ä"}, "api_key"),
        ("header", {"api_key": "key_\x7f1"}, "api_key"), ("header", {"api_key": "key_\udc80"}, "api_key"),
        ("password", {"account": "..", "password": "p"}, "account"),
        ("password", {"account": "a" * 1001, "password": "p"}, "account"),
        ("password", {"account": "a\nb", "password": "p"}, "account"),
        ("password", {"account": "a:b", "password": "p"}, "account"),
        ("password", {"account": "a", "password": "p\x00"}, "password"),
        ("password", {"account": "a", "password": "p\nq"}, "password"),
    ],
)  # fmt: skip
def test_t54_what_cannot_stand_in_a_request_is_refused_before_it_is_made(
    house: KeyProvider, config: str, typed: dict[str, str], beside: str
) -> None:
    url = f"{house.url}/accounts/{{account}}.json"
    made = providers.by_header(f"{house.url}/check") if config == "header" else providers.by_password(url)
    with pytest.raises(Invalid) as refused:
        sent(made, **typed)
    assert list(refused.value.by_field()) == [beside]
    assert not any(value in str(refused.value.errors) for value in typed.values() if len(value) > 2)
    assert house.requests == []


def test_a_value_with_braces_names_no_other_field(house: KeyProvider) -> None:
    config = providers.by_password(f"{house.url}/accounts/{{account}}.json")
    assert isinstance(sent(config, account="{password}", password=PASSWORD), Again)
    assert house.requests[0][1].path == "/accounts/%7Bpassword%7D.json"


def test_what_is_sealed_to_the_agent_is_tried_before(house: KeyProvider) -> None:
    private = ECKey.generate_key("P-256", private=True)
    config = providers.by_header(f"{house.url}/check")
    assert isinstance(sent(config, private.as_dict(private=False), api_key="key_wrong"), Again)
    outcome = sent(config, private.as_dict(private=False), api_key=KEY)
    assert isinstance(outcome, Finish)
    assert outcome.credentials is not None
    opened = jwe.decrypt_compact(outcome.credentials["sealed"].reveal(), private, algorithms=["ECDH-ES", "A256GCM"])
    assert json.loads(opened.plaintext or b"") == {"api_key": KEY}
