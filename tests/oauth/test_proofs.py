"""Tokens bound to a key that never leaves: what agents get instead (RFC 9449)."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from elicit_flows import oauth, vault
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.oauth.journey import connect
from tests.support import dump, rows
from tests.support.rows import Known
from tests.support.serving import Served

URL = "https://api.example.com/files?page=2#top"


@pytest.fixture
def bound(known: Known, double: Provider, drive_row: ProviderRow) -> Connection:
    ProviderRow.objects.filter(pk=drive_row.pk).update(dpop="required")
    double.reply = {"token_type": "DPoP"}
    assert connect(double, known).status == "completed"
    return Connection.objects.get()


def ask(api: httpx2.Client, row: Connection, **said: Any) -> httpx2.Response:
    return api.post(f"/v1/connections/{row.pk}/proof", json={"method": "GET", "url": URL, **said})


def read(proof: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Its header and its claims, the signature checked with the key in the header."""
    header = json.loads(_decoded(proof.partition(".")[0]))
    assert "d" not in header["jwk"]
    return header, jwt.decode(proof, ECKey.import_key(header["jwk"]), algorithms=["ES256"]).claims


def _decoded(part: str) -> bytes:

    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_the_vault_signs_and_the_key_stays(known: Known, bound: Connection, served: Served) -> None:
    with known.client(served.url) as api:
        token = api.post(f"/v1/connections/{bound.pk}/token").json()
        answers = [ask(api, bound).json(), ask(api, bound, nonce="n-1").json()]
    assert token["token_type"] == "DPoP"
    (header, plain), (_, with_nonce) = (read(answer["dpop"]) for answer in answers)
    assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256")
    assert (plain["htm"], plain["htu"]) == ("GET", "https://api.example.com/files")
    assert plain["ath"] == oauth.access_token_hash(token["access_token"])
    assert with_nonce["nonce"] == "n-1"
    assert plain["jti"] != with_nonce["jti"]
    key = vault.connections.opened(bound, "dpop_key")
    assert key is not None
    assert ECKey.import_key(header["jwk"]).thumbprint() == oauth.thumbprint(key.reveal())


def test_a_proof_may_be_for_a_token_of_before(known: Known, bound: Connection, served: Served) -> None:
    ath = oauth.access_token_hash("the-token-that-i-hold")
    with known.client(served.url) as api:
        assert read(ask(api, bound, ath=ath).json()["dpop"])[1]["ath"] == ath


def test_a_refresh_keeps_the_key(known: Known, bound: Connection, double: Provider) -> None:
    before = vault.connections.opened(bound, "dpop_key")
    rows.expire(bound)
    assert vault.token(known.row, bound.pk)["token_type"] == "DPoP"
    bound.refresh_from_db()
    assert vault.connections.opened(bound, "dpop_key") == before
    proof = double.seen("token")[-1].headers["dpop"]
    assert read(proof)[1]["htu"] == f"{double.url}/token"


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"method": "get it"}, "method"), ({"url": "/files"}, "url"), ({"url": "ftp://x"}, "url"),
        ({"url": "https://a b"}, "url"), ({"nonce": "two words"}, "nonce"), ({"ath": "short"}, "ath"),
        ({"more": 1}, "more"),
    ],
)  # fmt: skip
def test_what_no_request_can_be_is_refused(
    known: Known, bound: Connection, served: Served, said: dict[str, Any], place: str
) -> None:
    with known.client(served.url) as api:
        answer = ask(api, bound, **said)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == [place]


def test_t62_a_proof_is_for_the_agent_whose_connection_it_is(known: Known, bound: Connection, served: Served) -> None:
    with rows.agent().client(served.url) as stranger:
        assert ask(stranger, bound).status_code == 404
    vault.revoke(bound)
    with known.client(served.url) as api:
        assert ask(api, bound).status_code == 410
    bound.refresh_from_db()
    assert bound.dpop_key == ""


def test_a_token_that_is_not_bound_needs_none(known: Known, drive_row: ProviderRow, served: Served) -> None:
    row = rows.connection(known, drive_row)
    with known.client(served.url) as api:
        answer = ask(api, row)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_t75_the_key_is_sealed_wherever_it_is_kept(bound: Connection, committed_database: str) -> None:
    key = json.loads(vault.connections.opened(bound, "dpop_key").reveal())["d"]  # type: ignore[union-attr]
    assert key not in dump.database(committed_database)
