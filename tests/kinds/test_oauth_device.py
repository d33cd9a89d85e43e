"""Device codes (RFC 8628) at the certified provider, with each method of client authentication."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows.domain import errors
from elicit_flows.domain.values import Claim, Finish, Leave, Show, Visit, Wait
from elicit_flows.kinds.oauth import refresh
from elicit_flows.kinds.oauth.client_metadata import client_metadata
from tests.doubles.provider import Provider
from tests.kinds import real_drive
from tests.kinds.connecting import KIND, by_issuer, by_urls, visit
from tests.kinds.real_drive import METHODS
from tests.support.http_user import HttpUser
from tests.support.op import Op

GRANTS = ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]
CLAIM = Claim("https://idp.example.com", "u-1")


def asked(made: Visit) -> tuple[Visit, Show]:
    """The visit while the code is on the page."""
    leave = KIND.begin(made)
    assert (leave.url, leave.hand_over) == ("", True)
    step = KIND.hand_over(replace(made, stash=leave.stash), leave.url)
    assert isinstance(step, Show)
    return replace(made, stash=step.stash), step


@pytest.mark.parametrize("method", METHODS)
def test_every_way_of_proving_who_we_are_and_bound_tokens_work(op: Op, http_user: HttpUser, method: str) -> None:
    real_drive.add_clients(op, "-device", redirect_uris=[], grant_types=GRANTS, response_types=[])
    config = real_drive.config(
        op, method, "-device", grant="device_code", dpop="required", resources=(real_drive.FILES,)
    )
    made = Visit("el_1", CLAIM, {"provider": "real", "scopes": ["files.read"]}, config, real_drive.BACK, "st4te")
    back, step = asked(made)
    assert (step.seconds, step.shown["address"]) == (1, f"{op.issuer}/device")
    assert isinstance(KIND.poll(back), Wait)
    http_user.open(step.shown["address"])
    http_user.press("enter", user_code=step.shown["code"])
    http_user.carry_on("same", "alice", "allow")
    outcome = KIND.poll(back)
    assert isinstance(outcome, Finish)
    grant = outcome.grant
    assert grant, outcome.error
    assert (grant.account_id, grant.token_type) == ("alice", "DPoP")
    [issued] = [one for one in op.issued("access_token") if one["value"] == grant.access_token.reveal()]
    assert (issued["aud"], bool(issued["jkt"])) == (real_drive.FILES, True)
    assert grant.refresh_token
    assert refresh(config, grant.refresh_token, grant.scopes, "alice", grant.dpop_key).account_id == "alice"


def test_all_addresses_may_be_the_operators_and_none_but_those_for_codes_are_needed(provider: Provider) -> None:
    config = by_urls(
        provider, grant="device_code", authorize_url=None, device_authorization_url=f"{provider.url}/device"
    )
    back, step = asked(visit(config))
    assert parse_qs(urlsplit(step.shown["complete"]).query) == {"user_code": [step.shown["code"]]}
    provider.enter(step.shown["code"])
    assert isinstance(KIND.poll(back), Finish)
    assert provider.calls["metadata"] == 0


def test_pkce_and_pushed_requests_are_not_of_this_grant(provider: Provider) -> None:
    provider.metadata = {
        "device_authorization_endpoint": f"{provider.url}/device",
        "authorization_endpoint": None,
        "code_challenge_methods_supported": ["plain"],
    }
    config = by_issuer(provider, grant="device_code", par="required")
    assert asked(visit(config))[1].shown["code"]


def test_a_provider_without_codes_is_not_begun_with(provider: Provider) -> None:
    with pytest.raises(errors.ProviderUnavailable, match="does not offer the device grant"):
        KIND.begin(visit(by_issuer(provider, grant="device_code")))


def test_t21_a_code_is_redeemed_nowhere_but_where_it_was_asked_for(provider: Provider) -> None:
    provider.metadata = {"device_authorization_endpoint": f"{provider.url}/device"}
    back, step = asked(visit(by_issuer(provider, grant="device_code")))
    provider.enter(step.shown["code"])
    elsewhere = replace(back, config=by_issuer(provider, grant="device_code", token_url=f"{provider.url}/revoke"))
    assert getattr(KIND.poll(elsewhere), "code", "") == "provider_changed"
    assert (provider.calls["token"], provider.calls["revoke"]) == (0, 0)


def test_a_service_that_registers_itself_says_what_it_will_do(provider: Provider) -> None:
    said = client_metadata(by_issuer(provider, grant="device_code"), "https://flows.example.com/callback/acme")
    assert (said["grant_types"], said["redirect_uris"], said["response_types"]) == (GRANTS, [], [])


def test_begin_asks_nobody_for_a_code(provider: Provider) -> None:
    provider.metadata = {"device_authorization_endpoint": f"{provider.url}/device"}
    assert isinstance(KIND.begin(visit(by_issuer(provider, grant="device_code"))), Leave)
    assert provider.calls["device"] == 0
