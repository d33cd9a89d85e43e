"""A proxy signs who each request comes from: this person is signed in as long as the proxy says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from elicit_flows.identity import jwks
from elicit_flows.models import Elicitation, IdentityProvider
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.journey.stage import form_post, session_of
from tests.support import rows
from tests.support.http_user import HttpUser
from tests.support.rows import Known
from tests.support.serving import Served

HEADER = "cf-access-jwt-assertion"
AUDIENCE = "/projects/7/elicit"
NewUser = Callable[..., HttpUser]


@pytest.fixture
def gate(served: Served) -> Iterator[Provider]:
    """Signs who is there; the test puts its word into the header, as the proxy does."""
    jwks.forget()
    with Provider() as double, loopback_allowed():
        IdentityProvider.objects.create(
            slug="gate", sort="proxy", issuer=double.issuer, header="Cf-Access-Jwt-Assertion", audiences=[AUDIENCE],
            jwks_url=f"{double.url}/jwks",
        )  # fmt: skip
        yield double


@pytest.fixture
def inside(gate: Provider) -> Known:
    known = rows.agent()
    known.row.identity_providers.add(IdentityProvider.objects.get(slug="gate"))
    return known


@pytest.fixture
def link(served: Served, inside: Known, gate: Provider) -> Callable[..., str]:
    def ask(sub: str = "alice", **subject: str) -> str:
        body = rows.question(kind="confirm", params={}, subject={"iss": gate.issuer, "sub": sub, **subject})
        with inside.client(served.url) as api:
            return f"{served.url}/c/{api.post('/v1/elicitations', json=body).json()['id']}"

    return ask


def says(gate: Provider, user: HttpUser, typ: str | None = "JWT", **claims: Any) -> None:
    """From now on the proxy adds this to the user's requests."""
    user.http.headers[HEADER] = gate.jwt(typ, **{"aud": [AUDIENCE], "client_id": None, "name": "Alice", **claims})


def came_in(gate: Provider, user: HttpUser, link: str, **claims: Any) -> HttpUser:
    says(gate, user, **claims)
    user.open(link)
    return user.carry_on("signin")


def test_whoever_the_proxy_lets_in_gets_in_and_can_answer(
    http_user: HttpUser, gate: Provider, link: Callable[..., str]
) -> None:
    asked = link()
    came_in(gate, http_user, asked)
    assert (http_user.url, http_user.page_name) == (asked, "form")
    assert "You are signed in as\nAlice" in http_user.text
    says(gate, http_user, iat=int(time.time()) - 30)  # the proxy signs anew every so often
    http_user.carry_on("submit")
    assert http_user.page_status == "completed"


def test_t1_somebody_else_behind_the_proxy_sees_nothing_of_it(
    http_user: HttpUser, gate: Provider, link: Callable[..., str]
) -> None:
    asked = link()
    came_in(gate, http_user, asked, sub="bob", name="Bob")
    assert (http_user.answer.status_code, http_user.page_name) == (403, "mismatch")
    assert form_post(http_user, f"{asked}/submit").status_code == 403
    http_user.press("switch")
    assert (http_user.answer.status_code, http_user.page_name) == (403, "refused")
    assert Elicitation.objects.get().status == "pending"


def test_t4_coming_in_makes_a_new_session(http_user: HttpUser, gate: Provider, link: Callable[..., str]) -> None:
    http_user.http.cookies.set("sessionid", "a" * 32, domain="127.0.0.1")
    came_in(gate, http_user, link())
    assert http_user.page_name == "form"
    assert session_of(http_user) != "a" * 32


def test_t5_a_session_alone_is_nobodys(new_http_user: NewUser, gate: Provider, link: Callable[..., str]) -> None:
    alice, mallory, asked = new_http_user(), new_http_user(), link()
    came_in(gate, alice, asked)
    mallory.http.cookies.set("sessionid", session_of(alice), domain="127.0.0.1")
    assert mallory.open(asked).status_code == 200
    assert mallory.page_name == "signin"
    mallory.press("signin")
    assert (mallory.answer.status_code, mallory.page_name) == (403, "refused")


def test_t61_the_session_ends_when_the_proxy_names_somebody_else(
    http_user: HttpUser, gate: Provider, link: Callable[..., str]
) -> None:
    asked = link()
    came_in(gate, http_user, asked)
    before = session_of(http_user)
    says(gate, http_user, sub="bob", name="Bob")
    answer = form_post(http_user, f"{asked}/submit")
    assert answer.status_code == 403
    assert 'data-page="signin"' in answer.text
    assert Elicitation.objects.get().status == "pending"
    says(gate, http_user)
    http_user.open(asked)
    assert http_user.page_name == "signin", "the session that was alice's is over"
    http_user.press("signin")
    assert session_of(http_user) != before


WRONG: list[tuple[str | None, dict[str, Any]]] = [
    ("at+jwt", {}), ("logout+jwt", {}), ("JWT", {"aud": None}), ("JWT", {"aud": "/projects/8/other"}),
    ("JWT", {"aud": [AUDIENCE, "/projects/8/other"]}), ("JWT", {"iss": "https://other.test"}), ("JWT", {"exp": 1}),
    ("JWT", {"exp": None}), ("JWT", {"iat": None}), ("JWT", {"sub": ""}), ("JWT", {"sub": None}),
    ("JWT", {"nbf": 4_000_000_000}),
]  # fmt: skip


@pytest.mark.parametrize(("typ", "claims"), WRONG, ids=repr)
def test_t44_a_header_that_is_not_quite_right_lets_nobody_in(
    http_user: HttpUser, gate: Provider, link: Callable[..., str], typ: str | None, claims: dict[str, Any]
) -> None:
    asked = link()
    http_user.open(asked)
    says(gate, http_user, typ, **claims)
    http_user.press("signin")
    assert (http_user.answer.status_code, http_user.page_name) == (403, "refused")


def test_t38_an_unsigned_or_forged_header_lets_nobody_in(
    http_user: HttpUser, gate: Provider, link: Callable[..., str]
) -> None:
    asked = link()
    says(gate, http_user)
    good = http_user.http.headers[HEADER]
    gate.signing = RSAKey.generate_key(2048, {"kid": gate.signing.kid})
    says(gate, http_user)
    forged = http_user.http.headers[HEADER]
    for sent in ("", "alice", "alice@example.com", good.rpartition(".")[0] + ".", forged, f"{good},{good}"):
        http_user.open(asked)
        http_user.http.headers[HEADER] = sent
        http_user.press("signin")
        assert http_user.answer.status_code == 403, sent


@pytest.mark.parametrize("sub", ["Alice", "alice ", "\u0430lice", "accounts.google.com:alice"])
def test_t6_a_person_who_only_looks_alike_is_somebody_else(
    http_user: HttpUser, gate: Provider, link: Callable[..., str], sub: str
) -> None:
    came_in(gate, http_user, link(), sub=sub, email="alice@example.com")
    assert (http_user.answer.status_code, http_user.page_name) == (403, "mismatch")


def test_t6_the_same_subject_of_another_issuer_is_somebody_else(
    http_user: HttpUser, gate: Provider, link: Callable[..., str]
) -> None:
    came_in(gate, http_user, link())
    assert http_user.open(link(iss=rows.ISSUER)).status_code == 403
    assert http_user.page_name == "mismatch"
