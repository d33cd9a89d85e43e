"""A person's own OAuth client is checked by requesting its first token, at the certified provider or the double."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from elicit_flows import http, kinds
from elicit_flows.domain.errors import Invalid, ProviderUnavailable
from elicit_flows.domain.values import Again, Answer, Finish, Json, Secret, Visit
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.kinds.credentials.config import CredentialsProvider, TokenRequest
from tests.doubles.policy import dialing, loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response
from tests.kinds import real_drive
from tests.kinds.contract import PageContract
from tests.kinds.credentials import providers
from tests.support.op import Op

KIND = kinds.get("credentials")
SECRET = "s3cret: with/signs+%&="


def made(url: str, **more: Any) -> CredentialsProvider:
    return CredentialsProvider("house", "House", tuple(client_credentials.FIELDS), token=TokenRequest(url, **more))


def sent(config: CredentialsProvider, client_id: str, client_secret: str) -> Finish | Again:
    """What comes of what was typed; the check of its form passes."""
    visit, answer = providers.visit(config), Answer({"client_id": [client_id], "client_secret": [client_secret]})
    KIND.check_answer(visit, answer)
    outcome = KIND.resume(visit, answer)
    assert client_secret not in repr(outcome)
    return outcome


@pytest.fixture
def double() -> Iterator[Provider]:
    with loopback_allowed(), Provider("mine", SECRET) as running:
        yield running


class TestWithTokens(PageContract):
    name = "credentials"
    secrets = ("typed-secret",)
    good: list[tuple[Json, Json]] = [({"provider": "keys"}, {"fields": None, "provider": "keys", "seal_to": None})]
    bad: list[tuple[Json, list[list[Any]]]] = [({"provider": ["keys"]}, [["params", "provider"]])]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        ({}, "client_id"), ({"client_id": ["a"]}, "client_secret"),
        ({"client_id": ["a"], "client_secret": ["typed-secret\u00e4"]}, "client_secret"),
        ({"client_id": ["a\tb"], "client_secret": ["typed-secret"]}, "client_id"),
    ]  # fmt: skip
    right = [{"client_id": ["a"], "client_secret": ["typed-secret"]}]

    @pytest.fixture
    def visit(self, double: Provider) -> Visit:
        double.client_id, double.client_secret = "a", "typed-secret"
        return providers.visit(made(f"{double.url}/token"))


@pytest.mark.parametrize("auth", client_credentials.AUTHS)
def test_the_certified_provider_gives_a_client_its_token(op: Op, auth: str) -> None:
    mine = f"mine-{secrets.token_hex(4)}"
    grants = {"grant_types": ["client_credentials"], "response_types": [], "scope": "files.read"}
    op.add_client(mine, secret=SECRET, **grants | {"token_endpoint_auth_method": auth})
    back = f"{op.issuer}/token/revocation"
    config = made(f"{op.issuer}/token", auth=auth, scopes=("files.read",), revocation_url=back)
    outcome = sent(config, f" {mine}\n", SECRET)
    assert isinstance(outcome, Finish)
    assert outcome.credentials == {"client_id": Secret(mine), "client_secret": Secret(SECRET)}
    assert outcome.grant
    assert (outcome.grant.scopes, outcome.grant.token_type, outcome.grant.refresh_token) == (
        ("files.read",), "Bearer", None,
    )  # fmt: skip
    (issued,) = [one for one in op.issued("client_credentials") if one["value"] == outcome.grant.access_token.reveal()]
    assert issued["active"] is True
    assert config.token
    assert client_credentials.revoke(config.token, outcome.credentials, outcome.grant.access_token)
    assert [one["active"] for one in op.issued("client_credentials") if one["value"] == issued["value"]] == [False]
    for client_id, client_secret in ((mine, "another"), ("nobody", SECRET)):
        refused = sent(config, client_id, client_secret)
        assert isinstance(refused, Again)
        assert (refused.code, refused.field) == ("refused", "client_secret")
        assert "House does not accept this." in refused.reason
    beyond = sent(made(f"{op.issuer}/token", auth=auth, scopes=("offline_access",)), mine, SECRET)
    assert isinstance(beyond, Again)
    assert (beyond.code, beyond.field) == ("refused", "client_secret")
    assert "and its permissions" in beyond.reason


def test_a_token_is_for_the_resource_that_the_operator_names(op: Op) -> None:
    mine = f"mine-{secrets.token_hex(4)}"
    op.add_client(mine, secret=SECRET, grant_types=["client_credentials"], response_types=[])
    assert isinstance(sent(made(f"{op.issuer}/token", resources=(real_drive.FILES,)), mine, SECRET), Finish)
    assert op.issued("client_credentials")[-1]["aud"] == real_drive.FILES


@pytest.mark.parametrize(
    "answer", [Response(503), Response(429), Response(404), Response(302, headers={"Location": "/token"})]
)
def test_who_cannot_be_asked_now_refuses_nobody(double: Provider, answer: Response) -> None:
    double.scripted["token"] = answer
    outcome = sent(made(f"{double.url}/token"), "mine", SECRET)
    assert isinstance(outcome, Again)
    assert (outcome.code, outcome.field) == ("provider_unavailable", "client_id")
    assert "Try again." in outcome.reason
    assert double.calls["token"] == 1


def test_what_the_provider_says_of_a_client_is_not_repeated(double: Provider) -> None:
    double.scripted["token"] = json_response({"error": "invalid_client", "error_description": SECRET}, 401)
    outcome = sent(made(f"{double.url}/token"), "mine", SECRET)
    assert isinstance(outcome, Again)
    assert outcome.code == "refused"


def test_t89_no_secret_goes_to_this_machine(double: Provider) -> None:
    with dialing(http.Policy()):
        outcome = sent(made(f"{double.url}/token"), "mine", SECRET)
    assert isinstance(outcome, Again)
    assert outcome.code == "provider_unavailable"
    assert double.requests == []


@pytest.mark.parametrize("typed", ["p\r\nq", "p\x00", "p\x7f", "pä", "p\u202eq"])
def test_t54_what_can_be_no_clients_secret_is_refused_before_it_is_sent(double: Provider, typed: str) -> None:
    with pytest.raises(Invalid) as refused:
        sent(made(f"{double.url}/token"), "mine", typed)
    assert list(refused.value.by_field()) == ["client_secret"]
    assert double.requests == []


def test_the_page_is_told_who_is_asked_and_what_for() -> None:
    shown = KIND.describe(
        {"fields": None, "provider": "house"}, made("https://id.example.com/token", scopes=("meters.read",))
    )
    assert (shown["checked_at"], shown["tokens"], shown["scopes"]) == ("id.example.com", True, ["meters.read"])
    assert [field["name"] for field in shown["fields"]] == ["client_id", "client_secret"]


def test_a_provider_that_gives_tokens_by_now_seals_nothing_to_anybody(double: Provider) -> None:
    """The operator changed it while the page was open."""
    seal_to = {"kty": "EC", "crv": "P-256", "x": "A" * 43, "y": "A" * 43}
    visit = providers.visit(made(f"{double.url}/token"))
    outcome = KIND.resume(
        Visit(visit.elicitation, visit.claim, visit.params | {"seal_to": seal_to}, visit.config, visit.redirect_uri),
        Answer({"client_id": ["mine"], "client_secret": [SECRET]}),
    )
    assert isinstance(outcome, Finish)
    assert (outcome.status, outcome.credentials, double.requests) == ("failed", None, [])


def test_t73_what_was_typed_for_tokens_alone_is_not_kept_for_the_agent_to_read(double: Provider) -> None:
    """The operator took the token endpoint away while the page was open."""
    plain = CredentialsProvider("house", "House", tuple(client_credentials.FIELDS))
    answer = Answer({"client_id": ["mine"], "client_secret": [SECRET], "for-tokens": ["yes"]})
    with pytest.raises(ProviderUnavailable, match="Open the link again"):
        KIND.check_answer(providers.visit(plain), answer)
    outcome = KIND.resume(providers.visit(plain), answer)
    assert isinstance(outcome, Again)
    KIND.check_answer(providers.visit(made(f"{double.url}/token")), answer)
    assert isinstance(KIND.resume(providers.visit(made(f"{double.url}/token")), answer), Finish)


@pytest.mark.parametrize("code", ["unauthorized_client", "invalid_scope", "invalid_grant"])
def test_a_client_that_may_not_do_what_is_asked_for_is_said_so(double: Provider, code: str) -> None:
    double.scripted["token"] = json_response({"error": code}, 400)
    outcome = sent(made(f"{double.url}/token"), "mine", SECRET)
    assert isinstance(outcome, Again)
    assert (outcome.code, outcome.field) == ("refused", "client_secret")
    assert "and its permissions" in outcome.reason
