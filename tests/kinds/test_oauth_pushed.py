"""Pushed authorization requests (RFC 9126)."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows.domain import errors
from elicit_flows.domain.values import Finish
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response
from tests.kinds import connecting, real_drive
from tests.kinds.connecting import KIND, by_issuer, by_urls, visit
from tests.kinds.real_drive import METHODS
from tests.support.http_user import HttpUser
from tests.support.op import Op


@pytest.fixture
def pushes(provider: Provider) -> Provider:
    """It takes them."""
    provider.metadata = {"pushed_authorization_request_endpoint": f"{provider.url}/par"}
    return provider


@pytest.mark.parametrize("client_id", METHODS)
def test_one_that_takes_nothing_else_connects_an_account(op: Op, http_user: HttpUser, client_id: str) -> None:
    grant = real_drive.connect(real_drive.config(op, client_id, "-strict", dpop="required"), http_user)
    assert grant.account_id == "alice"
    assert op.counts()["par"] == 1


def test_t34_the_browser_carries_our_name_and_a_reference_alone(op: Op) -> None:
    _, url = real_drive.leave(real_drive.config(op))
    assert url.startswith(f"{op.issuer}/auth?")
    assert parse_qs(urlsplit(url).query).keys() == {"client_id", "request_uri"}


def test_what_the_operator_wrote_into_the_address_is_pushed_too(pushes: Provider) -> None:
    config = by_issuer(pushes, authorize_url=f"{pushes.url}/authorize?prompt=consent&empty=")
    leave = KIND.begin(visit(config))
    short = KIND.hand_over(visit(config), leave.url)
    assert "prompt" not in short
    assert pushes.seen("par")[0].form["prompt"] == "consent"
    assert parse_qs(urlsplit(leave.url).query) == {
        name: [value] for name, value in pushes.seen("par")[0].form.items() if value
    }


@pytest.mark.parametrize(
    ("par", "metadata", "pushed"),
    [
        ("auto", {}, True),
        ("required", {}, True),
        ("off", {}, False),
        ("off", {"require_pushed_authorization_requests": True}, True),
        ("auto", {"pushed_authorization_request_endpoint": None}, False),
    ],
)
def test_it_is_done_where_it_is_offered_and_not_switched_off(
    pushes: Provider, par: str, metadata: dict[str, Any], pushed: bool
) -> None:
    pushes.metadata |= metadata
    assert KIND.begin(visit(by_issuer(pushes, par=par))).hand_over is pushed


@pytest.mark.parametrize(
    ("par", "metadata"), [("required", {}), ("auto", {"require_pushed_authorization_requests": True})]
)
def test_nobody_leaves_where_it_is_required_and_not_offered(
    provider: Provider, par: str, metadata: dict[str, Any]
) -> None:
    provider.metadata = metadata
    with pytest.raises(errors.ProviderUnavailable, match="does not offer pushed"):
        KIND.begin(visit(by_issuer(provider, par=par)))


def test_required_asks_the_issuer_even_where_every_address_is_given(pushes: Provider) -> None:
    config = by_urls(pushes, issuer=pushes.issuer, par="required")
    assert KIND.begin(visit(config)).hand_over


@pytest.mark.parametrize(
    "answer",
    [
        Response(503),
        json_response({"error": "invalid_request"}, 400),
        json_response({}, 201),
        json_response({"request_uri": "two words", "expires_in": 60}, 201),
        json_response({"request_uri": ["urn:x"], "expires_in": 60}, 201),
        Response(302, headers={"Location": "https://elsewhere.example.com"}),
    ],
)
def test_an_answer_that_is_none_sends_nobody_away(pushes: Provider, answer: Response) -> None:
    made = visit(by_issuer(pushes))
    leave = KIND.begin(made)
    pushes.scripted["par"] = answer
    with pytest.raises(errors.ProviderUnavailable):
        KIND.hand_over(made, leave.url)
    del pushes.scripted["par"]
    assert isinstance(connecting.connect(pushes, by_issuer(pushes)), Finish)
