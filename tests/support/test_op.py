"""The certified provider as the tests use it: strict about codes, verifiers and tokens, and steered from outside."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from authlib.integrations.httpx_client import OAuth2Client
from joserfc import jwt
from joserfc.jwk import KeySet

from tests.support.http_user import HttpUser
from tests.support.op import Op

BACK = "http://127.0.0.1:9/callback/drive"
pytestmark = pytest.mark.slow

SECRET = "a-secret-of-forty-characters-for-the-test"
VERIFIER = "v" * 64


@pytest.fixture(scope="module")
def shared(new_op: Callable[..., Op]) -> Op:
    op = new_op(name="tried", role="oauth", scopes=["files.read"])
    op.add_client("app", BACK, secret=SECRET)
    return op


@pytest.fixture
def op(shared: Op) -> Op:
    shared.reset()
    return shared


@pytest.fixture
def client() -> Iterator[OAuth2Client]:
    with OAuth2Client(
        "app", SECRET, redirect_uri=BACK, scope="openid files.read", code_challenge_method="S256", trust_env=False
    ) as made:
        yield made


def ask(op: Op, client: OAuth2Client, **more: str) -> str:
    url, _ = client.create_authorization_url(f"{op.issuer}/auth", code_verifier=VERIFIER, nonce="n-1", **more)
    return str(url)


def come_back(user: HttpUser, url: str, *presses: str) -> dict[str, str]:
    """Signs in and decides; the query of the address that the person is sent back to."""
    with user.stopping_at(BACK):
        user.open(url)
        user.carry_on(*presses)
        assert user.stopped, user.text
        return {name: values[0] for name, values in parse_qs(urlsplit(user.location).query).items()}


def exchange(op: Op, client: OAuth2Client, code: str, verifier: str = VERIFIER) -> httpx2.Response:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": verifier}
    return op.http.post("/token", data=form, auth=("app", SECRET))


def refresh(op: Op, token: str) -> httpx2.Response:
    return op.http.post("/token", data={"grant_type": "refresh_token", "refresh_token": token}, auth=("app", SECRET))


def test_a_person_signs_in_allows_and_the_code_is_worth_tokens(
    op: Op, client: OAuth2Client, http_user: HttpUser
) -> None:
    answer = come_back(http_user, ask(op, client), "alice", "allow")
    assert answer["iss"] == op.issuer  # RFC 9207
    token = client.fetch_token(f"{op.issuer}/token", code=answer["code"], code_verifier=VERIFIER)
    keys = KeySet.import_key_set(op.http.get("/jwks").json())
    claims = jwt.decode(token["id_token"], keys, algorithms=["RS256"]).claims
    assert (claims["iss"], claims["aud"], claims["sub"], claims["nonce"]) == (op.issuer, "app", "alice", "n-1")
    bearer = {"authorization": f"Bearer {token['access_token']}"}
    assert op.http.get("/me", headers=bearer).json() == {"sub": "alice", "name": "Alice", "email": "alice@example.com"}
    assert op.http.get("/api/whoami", headers=bearer).json()["scope"] == "openid files.read"
    assert op.counts()["token.authorization_code"] == 1


def test_a_wrong_verifier_is_refused(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    code = come_back(http_user, ask(op, client), "alice", "allow")["code"]
    answer = exchange(op, client, code, verifier="w" * 64)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_a_request_without_challenge_is_refused(op: Op, http_user: HttpUser) -> None:
    query = {"client_id": "app", "response_type": "code", "redirect_uri": BACK, "scope": "openid", "state": "s"}
    answer = come_back(http_user, f"{op.issuer}/auth?{urlencode(query)}")
    assert answer["error"] == "invalid_request"


def test_a_code_works_once_and_its_second_use_ends_the_tokens(
    op: Op, client: OAuth2Client, http_user: HttpUser
) -> None:
    code = come_back(http_user, ask(op, client), "alice", "allow")["code"]
    token = exchange(op, client, code).json()["access_token"]
    assert exchange(op, client, code).json()["error"] == "invalid_grant"
    assert op.http.get("/api/whoami", headers={"authorization": f"Bearer {token}"}).status_code == 401


def test_refresh_tokens_rotate_and_an_old_one_ends_them_all(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    code = come_back(http_user, ask(op, client), "alice", "allow")["code"]
    first = exchange(op, client, code).json()["refresh_token"]
    second = refresh(op, first).json()["refresh_token"]
    assert second != first
    assert refresh(op, first).json()["error"] == "invalid_grant"
    assert refresh(op, second).json()["error"] == "invalid_grant"
    assert op.counts()["token.refresh_token"] == 3


def test_refresh_tokens_stay_where_rotation_is_off(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    op.change(rotate_refresh_tokens=False)
    code = come_back(http_user, ask(op, client), "alice", "allow")["code"]
    first = exchange(op, client, code).json()["refresh_token"]
    assert refresh(op, first).json()["refresh_token"] == first
    op.reset()
    assert refresh(op, first).json()["refresh_token"] != first


def test_a_revoked_token_is_dead(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    code = come_back(http_user, ask(op, client), "alice", "allow")["code"]
    token = exchange(op, client, code).json()["refresh_token"]
    assert [one["active"] for one in op.issued("refresh_token") if one["value"] == token] == [True]
    assert op.http.post("/token/revocation", data={"token": token}, auth=("app", SECRET)).status_code == 200
    assert [one["active"] for one in op.issued("refresh_token") if one["value"] == token] in ([False], [])
    assert refresh(op, token).json()["error"] == "invalid_grant"


def test_a_short_lived_token_says_so_and_expires(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    op.change(access_token_ttl=7)
    code = come_back(http_user, ask(op, client), "alice", "allow")["code"]
    assert exchange(op, client, code).json()["expires_in"] == 7


def test_a_person_may_say_no(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    assert come_back(http_user, ask(op, client), "bob", "deny")["error"] == "access_denied"


def test_consent_is_asked_again_but_signing_in_is_not(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    come_back(http_user, ask(op, client), "alice", "allow")
    http_user.open(ask(op, client))
    assert http_user.actions() == ["allow", "deny"]


@pytest.mark.parametrize("prompt", ["login", "select_account"])
def test_a_prompt_brings_the_accounts_back_and_the_other_may_be_chosen(
    op: Op, client: OAuth2Client, http_user: HttpUser, prompt: str
) -> None:
    come_back(http_user, ask(op, client), "alice", "allow")
    http_user.open(ask(op, client, prompt=prompt))
    assert http_user.actions() == ["alice", "bob"]
    code = come_back(http_user, ask(op, client, prompt=prompt), "bob", "allow")["code"]
    exchange(op, client, code)
    assert op.issued("access_token")[-1]["sub"] == "bob"


def test_an_old_sign_in_is_not_good_enough_for_max_age(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    come_back(http_user, ask(op, client), "alice", "allow")
    http_user.open(ask(op, client, max_age="600"))
    assert http_user.actions() == ["allow", "deny"]
    op.age_sign_ins(700)
    http_user.open(ask(op, client, max_age="600"))
    assert http_user.actions() == ["alice", "bob"]


def kids(op: Op) -> list[str]:
    return [key["kid"] for key in op.http.get("/jwks").json()["keys"]]


def test_new_keys_sign_and_the_old_tokens_live_on(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    code = come_back(http_user, ask(op, client), "alice", "allow")["code"]
    (before,) = kids(op)
    assert op.rotate_keys() == kids(op) != [before]
    answer = exchange(op, client, code).json()
    header = json.loads(urlsafe_b64decode(answer["id_token"].split(".")[0] + "=="))
    assert header["kid"] == kids(op)[0]
    newest, *older = op.rotate_keys(keep_old=True)
    assert older == [header["kid"]]
    assert kids(op) == [newest, *older]


def test_a_careless_rotation_keeps_the_name_of_the_key(op: Op) -> None:
    before = op.http.get("/jwks").json()["keys"]
    assert op.rotate_keys(same_kid=True) == [before[0]["kid"]]
    assert op.http.get("/jwks").json()["keys"][0]["n"] != before[0]["n"]


def test_faults_hit_the_endpoint_as_often_as_asked(op: Op) -> None:
    op.fault("jwks", status=503, times=2)
    op.fault("userinfo", drop=True)
    assert [op.http.get("/jwks").status_code for _ in range(3)] == [503, 503, 200]
    with pytest.raises(httpx2.RemoteProtocolError):
        op.http.get("/me")
    assert op.counts()["jwks"] == 3
    op.reset()
    assert op.http.get("/me").status_code == 401


def test_new_accounts_can_sign_in(op: Op, client: OAuth2Client, http_user: HttpUser) -> None:
    op.add_account("carol-1")
    code = come_back(http_user, ask(op, client), "carol-1", "allow")["code"]
    assert exchange(op, client, code).is_success
    assert op.issued("access_token")[-1]["sub"] == "carol-1"


def test_an_identity_provider_asks_who_and_no_more(new_op: Callable[..., Op], http_user: HttpUser) -> None:
    op = new_op(name="ident", role="identity")
    op.add_client("app", BACK, secret=SECRET)
    with OAuth2Client(
        "app", SECRET, redirect_uri=BACK, scope="openid", code_challenge_method="S256", trust_env=False
    ) as made:
        answer = come_back(http_user, ask(op, made), "alice")
        assert "refresh_token" not in exchange(op, made, answer["code"]).json()


def test_it_comes_back_on_its_port_after_being_killed(new_op: Callable[..., Op]) -> None:
    op = new_op(name="mortal")
    op.add_client("app", BACK)
    op.kill9()
    with pytest.raises(httpx2.TransportError):
        op.counts()
    op.restart()
    assert op.http.get("/.well-known/openid-configuration").json()["issuer"] == op.issuer
    query = {"client_id": "app", "response_type": "code", "redirect_uri": "http://127.0.0.1:9/other", "scope": "openid"}
    assert "redirect_uri" in op.http.get("/auth", params=query).text  # the client is known, its address is not


def test_it_says_nothing_of_an_unsupported_runtime(op: Op) -> None:
    assert not re.search("warning|unsupported", op.process.output(), re.IGNORECASE)
