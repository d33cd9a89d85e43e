"""Token exchange (RFC 8693): a user's own token for the provider's. Some agents get tokens in no other way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from django.conf import settings
from django.db import transaction

from elicit_flows import oauth, vault
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.identity import ACCESS, jwks
from elicit_flows.identity.user_token import ID
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.lib import clock
from elicit_flows.models import Connection, IdentityProvider
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.sdk import ElicitError, SyncElicit
from tests.api.described import Described
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.support import rows
from tests.support.rows import Known

GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"


@pytest.fixture
def op() -> Iterator[Provider]:
    """The identity provider that users' tokens are of."""
    oauth.forget()
    jwks.forget()
    with Provider() as provider, loopback_allowed():
        yield provider


@pytest.fixture
def careful(drive_row: ProviderRow, op: Provider) -> Known:
    """An agent that has to show its users' tokens."""
    return trusting(op, require_user_token=True)


def trusting(op: Provider, **more: Any) -> Known:
    known = rows.agent(**more)
    at = IdentityProvider.objects.get_or_create(slug="op", defaults={"issuer": op.issuer, "client_id": "elicit"})[0]
    known.row.identity_providers.add(at)
    return known


def held(known: Known, op: Provider, drive_row: ProviderRow, sub: str = "alice", **more: Any) -> Connection:
    key = more.pop("dpop_key", None)
    return rows.connection(known, drive_row, replace(rows.grant(**more), dpop_key=key), Claim(op.issuer, sub))


def ours(op: Provider, **claims: Any) -> str:
    """A token of the user's that is meant for this service."""
    return op.jwt(**{"aud": settings.ELICIT_PUBLIC_URL, **claims})


def asking(token: str, **fields: str | None) -> dict[str, str]:
    usual = {"grant_type": GRANT, "subject_token": token, "subject_token_type": ACCESS, "audience": "drive"}
    return {name: value for name, value in {**usual, **fields}.items() if value is not None}


@pytest.fixture
def agent(careful: Known, new_client: Callable[..., httpx2.Client]) -> httpx2.Client:
    return new_client(careful)


def test_t64_a_stolen_api_key_alone_fetches_nothing(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow, described: Described
) -> None:
    row = held(careful, op, drive_row)
    with transaction.atomic():
        typed = vault.keep_credentials(careful.row, row.claim, None, "Key", {"key": Secret("k-1")})
    for path in (f"{row.pk}/token", f"{typed.pk}/secret", f"{row.pk}/secret"):
        answer = agent.post(f"/v1/connections/{path}")
        described.check(answer)
        assert (answer.status_code, answer.json()["code"]) == (403, "user_token_required"), path
    forms = [asking("")] + [asking(token) for token in ("no token", "a.b.c", ours(op, aud="https://other.test"))]
    for form in forms:
        answer = agent.post("/v1/token", data=form)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request"), form
    row.refresh_from_db()
    assert row.last_used_at is None


def test_the_users_own_token_gets_the_providers(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow, described: Described
) -> None:
    given = rows.grant()
    row = rows.connection(careful, drive_row, given, Claim(op.issuer, "alice"))
    for named in ({"audience": "drive"}, {"audience": None, "connection": row.pk}):
        answer = agent.post("/v1/token", data=asking(ours(op), scope="files.read", extra="ignored", **named))
        assert answer.status_code == 200, answer.text
        assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
        described.check(answer)
        body = answer.json()
        assert 3500 < body.pop("expires_in") <= 3600
        assert body == {
            "access_token": given.access_token.reveal(), "issued_token_type": ACCESS, "token_type": "Bearer",
            "scope": "files.read", "connection": row.pk, "metadata": {}, "resource": None,
        }  # fmt: skip
    as_id = asking(op.jwt("JWT", aud="elicit"), subject_token_type=ID)
    assert agent.post("/v1/token", data=as_id).status_code == 200


def test_t213_scopes_of_another_set_get_the_token_of_that_set(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow
) -> None:
    ProviderRow.objects.filter(pk=drive_row.pk).update(preset="slack-bot")
    app, user = rows.grant(), replace(rows.grant(), scopes=("search:read",))
    given = replace(app, scopes=("chat:write", "user/search:read"), sets={"user": user})
    rows.connection(careful, drive_row, given, Claim(op.issuer, "alice"))
    for scope, grant, said in (
        (None, app, "chat:write"),
        ("chat:write", app, "chat:write"),
        ("user/search:read", user, "search:read"),
    ):
        answer = agent.post("/v1/token", data=asking(ours(op), scope=scope)).json()
        assert (answer["access_token"], answer["scope"]) == (grant.access_token.reveal(), said), scope
    both = agent.post("/v1/token", data=asking(ours(op), scope="chat:write user/search:read"))
    assert (both.status_code, both.json()["error"]) == (400, "invalid_scope")


def test_of_two_accounts_the_one_whose_token_is_over_for_good_is_not_given(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow
) -> None:
    good, over = (held(careful, op, drive_row, account=account) for account in ("first", "second"))
    Connection.objects.filter(pk=over.pk).update(refresh_token="", expires_at=over.issued_at, issued_at=clock.now())
    answer = agent.post("/v1/token", data=asking(ours(op)))
    assert (answer.status_code, answer.json().get("connection")) == (200, good.pk)
    Connection.objects.filter(pk=good.pk).update(scopes=[])
    wanting = agent.post("/v1/token", data=asking(ours(op), scope="files.read"))
    assert (wanting.status_code, wanting.json()["code"]) == (400, "reauthorization_required")


def test_a_client_of_the_users_own_gives_its_token_and_the_secret_to_nobody(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow
) -> None:
    house = ProviderRow.objects.create(
        slug="house", sort="credentials", fields=client_credentials.FIELDS, token_url="https://id.example.com/token"
    )
    named = {"client_id": Secret("mine"), "client_secret": Secret("own-secret")}
    given = rows.grant(account=None)
    with transaction.atomic():
        row = vault.keep_credentials(careful.row, Claim(op.issuer, "alice"), house, "", named, given)
    answer = agent.post("/v1/token", data=asking(ours(op), audience="house"))
    assert (answer.status_code, answer.json()["access_token"]) == (200, given.access_token.reveal())
    secret = agent.post(f"/v1/connections/{row.pk}/secret", json={"subject_token": ours(op)})
    assert (secret.status_code, secret.json()["code"]) == (409, "conflict")


def test_t1_a_users_token_gets_nobody_elses_connection(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow
) -> None:
    alices, bobs = held(careful, op, drive_row), held(careful, op, drive_row, "bob")
    answers = [
        agent.post("/v1/token", data=asking(ours(op, sub="bob"), audience=None, connection=connection))
        for connection in (alices.pk, "cn_none")
    ]
    assert {answer.status_code for answer in answers} == {400}
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["error"] == "invalid_target"
    mine = agent.post("/v1/token", data=asking(ours(op, sub="bob"))).json()
    assert mine["connection"] == bobs.pk


@pytest.mark.parametrize("sub", ["Alice", "alice ", "\u0430lice", "alic\u00e9"])
def test_t6_a_user_who_only_looks_alike_gets_nothing(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow, sub: str
) -> None:
    held(careful, op, drive_row)
    answer = agent.post("/v1/token", data=asking(ours(op, sub=sub)))
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")


def test_t6_the_same_subject_of_another_issuer_gets_nothing(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow
) -> None:
    rows.connection(careful, drive_row, rows.grant(), Claim(rows.ISSUER, "alice"))
    assert agent.post("/v1/token", data=asking(ours(op))).json()["code"] == "not_found"
    with Provider() as unknown:
        assert agent.post("/v1/token", data=asking(ours(unknown))).json()["code"] == "user_token_refused"


def test_t13_a_users_token_gets_what_they_gave_this_agent_and_no_other(
    agent: httpx2.Client, op: Provider, drive_row: ProviderRow
) -> None:
    other = trusting(op)
    theirs = held(other, op, drive_row)
    for named in ({"audience": "drive"}, {"audience": None, "connection": theirs.pk}):
        answer = agent.post("/v1/token", data=asking(ours(op), **named))
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")


def test_t64_a_token_meant_for_one_agent_is_of_no_use_with_anothers_key(
    op: Provider, drive_row: ProviderRow, new_client: Callable[..., httpx2.Client]
) -> None:
    first = trusting(op, require_user_token=True, user_token_audiences=["https://first.test"])
    second = trusting(op, require_user_token=True, user_token_audiences=["https://second.test"])
    held(first, op, drive_row), held(second, op, drive_row)
    token = op.jwt(aud="https://first.test")
    assert new_client(first).post("/v1/token", data=asking(token)).status_code == 200
    assert new_client(second).post("/v1/token", data=asking(token)).json()["code"] == "user_token_refused"
    assert new_client(first).post("/v1/token", data=asking(ours(op))).json()["code"] == "user_token_refused"


def test_what_a_user_typed_is_given_for_their_own_token(
    agent: httpx2.Client, careful: Known, op: Provider, described: Described
) -> None:
    with transaction.atomic():
        row = vault.keep_credentials(careful.row, Claim(op.issuer, "alice"), None, "Key", {"key": Secret("k-1")})
    path = f"/v1/connections/{row.pk}/secret"
    answer = agent.post(path, json={"subject_token": ours(op)})
    described.check(answer)
    assert answer.json() == {"fields": {"key": "k-1"}}
    assert agent.post(path, json={"subject_token": ours(op, sub="bob")}).status_code == 404
    refused = agent.post(path, json={"subject_token": ours(op, aud="other")})
    assert (refused.status_code, refused.json()["code"]) == (400, "user_token_refused")


def test_t139_a_stolen_api_key_signs_no_proof_without_the_users_own_token(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow, described: Described
) -> None:
    row = held(careful, op, drive_row, dpop_key=Secret(oauth.new_dpop_key()))
    path, asked = f"/v1/connections/{row.pk}/proof", {"method": "GET", "url": "https://api.test/files"}
    refused = agent.post(path, json=asked)
    described.check(refused)
    assert (refused.status_code, refused.json()["code"]) == (403, "user_token_required")
    assert "dpop" not in refused.json()
    assert agent.post(path, json={**asked, "subject_token": ours(op, sub="bob")}).status_code == 404
    assert agent.post(path, json={**asked, "subject_token": "no token"}).status_code == 400
    given = agent.post(path, json={**asked, "subject_token": ours(op)})
    described.check(given)
    assert given.json()["dpop"].count(".") == 2
    with SyncElicit(str(agent.base_url), careful.who.api_key) as elicit:
        assert elicit.proof(row.pk, "GET", asked["url"], user_token=ours(op)).count(".") == 2
        with pytest.raises(ElicitError):
            elicit.proof(row.pk, "GET", asked["url"])


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"grant_type": None}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"subject_token": None}, "invalid_request"),
        ({"subject_token_type": None}, "invalid_request"),
        ({"subject_token_type": "urn:ietf:params:oauth:token-type:refresh_token"}, "invalid_request"),
        ({"requested_token_type": ID}, "invalid_request"),
        ({"actor_token": "x"}, "invalid_request"),
        ({"resource": "https://drive.test"}, "invalid_request"),
        ({"audience": None}, "invalid_request"),
        ({"connection": "cn_1"}, "invalid_request"),
        ({"audience": "nothing"}, "invalid_target"),
        ({"scope": "files.read files.write"}, "invalid_scope"),
    ],
    ids=repr,
)
def test_errors_are_those_of_oauth(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow, described: Described,
    fields: dict[str, str | None], error: str,
) -> None:  # fmt: skip
    held(careful, op, drive_row)
    answer = agent.post("/v1/token", data=asking(ours(op), **fields))
    described.check(answer)
    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert answer.headers["content-type"].startswith("application/json")


def test_a_parameter_given_twice_a_wrong_key_and_json_are_refused(
    agent: httpx2.Client, op: Provider, described: Described
) -> None:
    twice = {**asking(ours(op)), "audience": ["drive", "other"]}
    for answer in (agent.post("/v1/token", data=twice), agent.post("/v1/token", json=asking(ours(op)))):
        described.check(answer)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    stranger = agent.post("/v1/token", data=asking(ours(op)), headers={"authorization": "Bearer " + "x" * 40})
    described.check(stranger)
    assert (stranger.status_code, stranger.json()["error"]) == (401, "invalid_client")
    assert stranger.headers["www-authenticate"] == "Bearer"


def test_a_body_of_another_sort_is_refused_in_the_form_of_oauth(agent: httpx2.Client, described: Described) -> None:
    """Also one that Django itself could not read: it must not be what answers."""
    for kind in ("multipart/form-data", "multipart/form-data; boundary=", "application/json", ""):
        answer = agent.post("/v1/token", content=b"grant_type=x", headers={"content-type": kind})
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request"), kind
        described.check(answer)


def test_the_best_connection_is_taken_and_a_dead_one_says_so(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow
) -> None:
    first, second = (held(careful, op, drive_row, account=account) for account in ("a", "b"))
    assert agent.post("/v1/token", data=asking(ours(op))).json()["connection"] == second.pk
    Connection.objects.filter(pk=second.pk).update(scopes=[])
    wanting = asking(ours(op), scope="files.read")
    assert agent.post("/v1/token", data=wanting).json()["connection"] == first.pk
    Connection.objects.update(status=Connection.Status.REAUTHORIZATION_REQUIRED)
    answer = agent.post("/v1/token", data=wanting)
    said = answer.json()
    assert (answer.status_code, said["error"], said["code"]) == (400, "invalid_target", "reauthorization_required")


def test_an_identity_provider_that_is_away_is_tried_again(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow, described: Described
) -> None:
    held(careful, op, drive_row)
    token = ours(op)
    IdentityProvider.objects.filter(slug="op").update(issuer="http://127.0.0.1:9")
    answer = agent.post("/v1/token", data=asking(op.jwt(aud=settings.ELICIT_PUBLIC_URL, iss="http://127.0.0.1:9")))
    described.check(answer)
    assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")
    assert "retry-after" in answer.headers
    assert token not in answer.text


def test_the_sdk_shows_the_users_token(
    agent: httpx2.Client, careful: Known, op: Provider, drive_row: ProviderRow
) -> None:
    row = held(careful, op, drive_row)
    with SyncElicit(str(agent.base_url), careful.who.api_key) as elicit:
        token = elicit.token(row.pk, user_token=ours(op))
        assert token.access_token == vault.token(careful.row, row.pk)["access_token"]
        assert token.expires_at
        assert abs((token.expires_at - Connection.objects.get(pk=row.pk).expires_at).total_seconds()) < 5  # type: ignore[operator]
        with pytest.raises(ElicitError) as caught:
            elicit.token(row.pk)
        assert caught.value.code == "user_token_required"
        with pytest.raises(ElicitError) as caught:
            elicit.token(row.pk, user_token=ours(op, sub="bob"))
        assert caught.value.code == "not_found"
        with pytest.raises(ElicitError) as caught:
            elicit.secret(row.pk, user_token=ours(op))
        assert caught.value.code == "conflict"


def test_metadata_comes_with_every_answer_about_a_connection(
    drive_row: ProviderRow, op: Provider, described: Described, new_client: Callable[..., httpx2.Client]
) -> None:
    known = trusting(op)
    api = new_client(known)
    said = {"instance_url": "https://na1.example.com", "hub_id": 7, "trial": False, "cloud_ids": ["a", "b"]}
    row = rows.connection(known, drive_row, replace(rows.grant(), metadata=said), Claim(op.issuer, "alice"))
    path = f"/v1/connections/{row.pk}"
    answers = [
        api.get(path), api.post(f"{path}/token"), api.post(f"{path}/token", json={"min_ttl": 1}),
        api.post("/v1/token", data=asking(ours(op))),
    ]  # fmt: skip
    for answer in answers:
        described.check(answer)
        assert answer.json()["metadata"] == said, answer.text
    (listed,) = api.get("/v1/connections").json()["data"]
    assert listed["metadata"] == said
    with SyncElicit(str(api.base_url), known.who.api_key) as elicit:
        assert (elicit.connection(row.pk).metadata, elicit.token(row.pk).metadata) == (said, said)
        assert elicit.token(row.pk, user_token=ours(op)).metadata == said
