"""The service registers itself at a provider: RFC 7591, and client ID metadata documents."""

from __future__ import annotations

import pytest

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Again, Secret
from elicit_flows.kinds.oauth import refresh
from elicit_flows.kinds.oauth.client_metadata import client_document, register
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response
from tests.kinds import connecting
from tests.kinds.connecting import CALLBACK, by_issuer
from tests.kinds.real_drive import BACK, RSA, config, connect
from tests.support.http_user import HttpUser
from tests.support.op import Op

OURS = "https://flows.example.com/oauth/real/client.json"


@pytest.mark.parametrize("auth", ["client_secret_basic", "client_secret_post", "none"])
def test_registered_by_itself_it_connects_and_refreshes(op: Op, http_user: HttpUser, auth: str) -> None:
    told = register(config(op, token_auth=auth, registration="dynamic"), BACK)
    assert told.auth == auth
    assert op.counts()["registration"] == 1
    secret = Secret(told.secret) if told.secret else None
    asked = config(op, client_id=told.client_id, client_secret=secret, token_auth=auth)
    grant = connect(asked, http_user)
    assert grant.account_id == "alice"
    assert grant.refresh_token
    assert refresh(asked, grant.refresh_token, grant.scopes).access_token


@pytest.mark.parametrize("auth", ["none", "private_key_jwt"])
def test_the_provider_reads_who_we_are_at_our_own_address(op: Op, http_user: HttpUser, auth: str) -> None:
    key = RSA.as_pem(private=True).decode() if auth == "private_key_jwt" else None
    ours = OURS.replace("real", auth)
    asked = config(op, client_id=ours, client_secret=Secret(key) if key else None, token_auth=auth)
    said = client_document(asked, BACK)
    assert "PRIVATE" not in str(said)
    assert not any("d" in one for one in said.get("jwks", {}).get("keys", []))
    op.control("documents", **{ours: said})
    assert connect(asked, http_user).account_id == "alice"


@pytest.mark.parametrize(
    "answer",
    [
        Response(503),
        json_response({"error": "invalid_redirect_uri"}, 400),
        json_response({}, 201),
        json_response({"client_id": 7}, 201),
        json_response({"client_id": "a"}, 201),
        json_response({"client_id": "a", "client_secret": "b", "token_endpoint_auth_method": "tls_client_auth"}, 201),
    ],
)
def test_an_answer_that_is_none_registers_nothing(provider: Provider, answer: Response) -> None:
    provider.metadata = {"registration_endpoint": f"{provider.url}/register"}
    provider.scripted["register"] = answer
    with pytest.raises(errors.ProviderUnavailable):
        register(by_issuer(provider, registration="dynamic"), CALLBACK)


def test_where_nobody_may_register_it_is_said(provider: Provider) -> None:
    with pytest.raises(errors.ProviderUnavailable, match="does not offer dynamic client registration"):
        register(by_issuer(provider, registration="dynamic"), CALLBACK)


@pytest.mark.parametrize(("registration", "again"), [("dynamic", True), ("off", False)])
def test_a_client_that_was_forgotten_is_told_where_it_can_be_mended(
    provider: Provider, registration: str, again: bool
) -> None:
    provider.scripted["token"] = json_response({"error": "invalid_client"}, 401)
    outcome = connecting.connect(provider, by_issuer(provider, registration=registration))
    assert isinstance(outcome, Again) is again
    oauth.forget()
