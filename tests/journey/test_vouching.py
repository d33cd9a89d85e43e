"""An agent's own site signs the person in: only this person, and only in this browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from django.conf import settings

from elicit_flows.identity import jwks
from elicit_flows.lib import clock, ids
from elicit_flows.models import IdentityProvider, LoginAssertion
from tests.cast import program
from tests.doubles.policy import loopback_allowed
from tests.doubles.site import Site
from tests.journey.stage import form_post, query, session_of
from tests.support import box_config, rows
from tests.support.box import Box
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.rows import Known
from tests.support.serving import Served

NewUser = Callable[..., HttpUser]


@pytest.fixture
def site(served: Served) -> Iterator[Site]:
    jwks.forget()
    with Site() as double, loopback_allowed():
        double.service, double.audience = served.url, settings.ELICIT_PUBLIC_URL
        IdentityProvider.objects.create(
            slug="shop", sort="site", issuer=double.issuer, sign_in_url=f"{double.issuer}/sign-in",
            jwks_url=double.jwks_url,
        )  # fmt: skip
        yield double


@pytest.fixture
def shop(site: Site) -> Known:
    """The agent that asks the site's users."""
    known = rows.agent()
    known.row.identity_providers.add(IdentityProvider.objects.get(slug="shop"))
    return known


@pytest.fixture
def link(served: Served, shop: Known, site: Site) -> Callable[..., str]:
    """The address of a new question for one of the site's users."""

    def ask(sub: str = "alice", **subject: str) -> str:
        body = rows.question(kind="confirm", params={}, subject={"iss": site.issuer, "sub": sub, **subject})
        with shop.client(served.url) as api:
            return f"{served.url}/c/{api.post('/v1/elicitations', json=body).json()['id']}"

    return ask


def vouched(user: HttpUser, link: str) -> HttpUser:
    user.open(link)
    return user.carry_on("signin", "vouch")


def is_signed_in(user: HttpUser, served: Served) -> bool:
    user.open(f"{served.url}/account")
    return user.page_name == "account"


@pytest.fixture
def shop_in_a_box(embedded_box: Box) -> Iterator[Site]:
    """Configured as an operator does it, where a browser may go to a site without TLS."""
    with Site() as double:
        double.service = double.audience = embedded_box.url
        site = {"slug": "shop", "sort": "site", "issuer": double.issuer, "sign_in_url": f"{double.issuer}/sign-in"}
        who = program("shop-bot")
        agent = box_config.agent(who, identity_providers=["shop"])
        embedded_box.apply({"identity_provider": [{**site, "jwks_url": double.jwks_url}], "agent": [agent]})
        embedded_box.programs[who.slug] = who
        yield double


def test_whoever_the_site_knows_gets_in_across_sites(user: User, shop_in_a_box: Site, embedded_box: Box) -> None:
    site = shop_in_a_box
    body = rows.question(kind="confirm", params={}, subject={"iss": site.issuer, "sub": "alice"})
    asked = embedded_box.agent("shop-bot").post("/v1/elicitations", json=body).json()["url"]
    user.open(asked)
    before = user.context.cookies()
    user.press("signin")
    assert user.url.startswith(site.issuer)
    assert "Alice" not in user.url
    user.press("vouch")
    assert (user.url, user.page_name) == (asked, "form")
    assert "You are signed in as Alice of the shop." in " ".join(user.text.split())
    after = {cookie["name"]: cookie for cookie in user.context.cookies()}
    assert after["sessionid"]["sameSite"] == "Lax"
    assert after["sessionid"]["value"] not in {cookie["value"] for cookie in before}


def test_t1_a_link_for_another_user_of_the_site_shows_them_nothing(
    http_user: HttpUser, site: Site, link: Callable[..., str]
) -> None:
    site.user = {"sub": "bob", "name": "Bob"}
    asked = link()
    vouched(http_user, asked)
    assert (http_user.url, http_user.answer.status_code, http_user.page_name) == (asked, 403, "mismatch")
    assert form_post(http_user, f"{asked}/submit", yes="yes").status_code == 403


def test_t4_a_sites_word_makes_a_new_session(http_user: HttpUser, link: Callable[..., str]) -> None:
    http_user.open(link())
    http_user.press("signin")
    before = session_of(http_user)
    http_user.press("vouch")
    assert http_user.page_name == "form"
    assert session_of(http_user) not in {"", before}


def test_t5_a_word_for_another_browser_signs_nobody_in(
    new_http_user: NewUser, served: Served, site: Site, link: Callable[..., str]
) -> None:
    mallory, victim = new_http_user(), new_http_user()
    site.user = {"sub": "mallory", "name": "Mallory"}
    mallory.open(link("mallory"))
    mallory.press("signin")
    trap = mallory.form_request("vouch")
    # A page of Mallory's has the victim's browser send the form, and follows it.
    victim.open(link())
    answer = victim.send(trap)
    there = f"{served.url}{answer.headers['location']}"
    assert answer.status_code == 303
    assert "set-cookie" not in answer.headers
    assert victim.open(there).status_code == 400
    # Nor while the victim has a sign-in of their own under way.
    victim.open(link())
    victim.press("signin")
    assert victim.get(there).status_code == 400
    assert not is_signed_in(victim, served)


def test_t5_nobody_takes_the_word_that_anothers_browser_brought(
    new_http_user: NewUser, served: Served, site: Site, link: Callable[..., str]
) -> None:
    mallory, alice, asked = new_http_user(), new_http_user(), link()
    mallory.open(asked)
    with mallory.stopping_at(site.issuer):
        mallory.press("signin")
    # Alice is signed in at the site, and is led there with the state of Mallory's browser.
    alice.open(mallory.location)
    alice.press("vouch")
    assert alice.answer.status_code == 400
    assert LoginAssertion.objects.get().sub == "alice"
    for code in ("", "?code=", "?code=x"):
        assert mallory.get(f"{served.url}/login/shop/vouched{code}").status_code == 400
    assert not is_signed_in(mallory, served)


@pytest.mark.parametrize("other", [{}, {"state": "s" * 43}])
def test_t5_a_word_for_a_sign_in_that_nobody_began_is_of_no_use(
    http_user: HttpUser, served: Served, site: Site, link: Callable[..., str], other: dict[str, str]
) -> None:
    asked = link()
    http_user.open(asked)
    http_user.press("signin")
    word = site.assertion(elicitation=asked.rpartition("/")[2], **other)
    http_user.press("vouch", assertion=word)
    assert http_user.answer.status_code in {400, 403}
    assert not is_signed_in(http_user, served)


def test_t5_a_word_is_good_once(new_http_user: NewUser, served: Served, site: Site, link: Callable[..., str]) -> None:
    user, asked = new_http_user(), link()
    site.claims = {"jti": "one"}
    user.open(asked)
    user.press("signin")
    sent = user.form_request("vouch")
    user.press("vouch")
    assert user.page_name == "form"
    assert user.send(sent).status_code == 400
    (taken,) = [answer.url for answer in user.trail if "/vouched?" in str(answer.url)]
    assert user.get(str(taken)).status_code == 400
    again = new_http_user()
    vouched(again, asked)
    assert again.answer.status_code == 400, "the assertion's name was used"
    assert LoginAssertion.objects.count() == 1


def test_t5_a_word_kept_for_more_than_a_minute_is_forgotten(
    http_user: HttpUser, served: Served, site: Site, link: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    http_user.open(link())
    http_user.press("signin")
    with http_user.stopping_at(f"{served.url}/login/shop/vouched"):
        http_user.press("vouch")
    kept, now = LoginAssertion.objects.get(), clock.now()
    LoginAssertion.objects.filter(pk=kept.pk).update(created_at=now.replace(year=now.year - 1))
    http_user.follow()
    assert http_user.answer.status_code == 400
    assert not is_signed_in(http_user, served)


def test_a_word_is_good_for_the_link_that_the_sign_in_was_begun_for(
    http_user: HttpUser, served: Served, site: Site, link: Callable[..., str]
) -> None:
    site.claims = {"elicitation": link().rpartition("/")[2]}
    vouched(http_user, link())
    assert (http_user.answer.status_code, http_user.page_name) == (400, "refused")
    assert not is_signed_in(http_user, served)


@pytest.mark.parametrize("sub", ["Alice", "alice ", " alice", "alice\u200b", "\u0430lice", "alic\u0435"])
def test_t6_a_user_of_the_site_who_only_looks_alike_is_somebody_else(
    http_user: HttpUser, site: Site, link: Callable[..., str], sub: str
) -> None:
    site.user = {"sub": sub, "name": "Alice"}
    vouched(http_user, link())
    assert (http_user.answer.status_code, http_user.page_name) == (403, "mismatch")


@pytest.mark.parametrize("sub", ["Zo\u00eb \U0001f642", "rene\u0301", "x" * 255])
def test_t6_whoever_it_is_made_for_gets_in(http_user: HttpUser, site: Site, link: Callable[..., str], sub: str) -> None:
    site.user = {"sub": sub, "name": "Somebody"}
    assert vouched(http_user, link(sub)).page_name == "form"


def test_t6_a_site_speaks_for_its_own_users_alone(
    http_user: HttpUser, served: Served, site: Site, link: Callable[..., str]
) -> None:
    rows.identity_provider()
    site.claims = {"iss": rows.ISSUER}
    vouched(http_user, link())
    assert (http_user.answer.status_code, http_user.page_name) == (403, "refused")
    site.claims = {}
    theirs = link(iss=rows.ISSUER)
    assert vouched(http_user, link()).page_name == "form"
    assert http_user.open(theirs).status_code == 403, "the same subject of another issuer"


def test_t7_somebody_else_at_the_computer_switches(http_user: HttpUser, site: Site, link: Callable[..., str]) -> None:
    site.user = {"sub": "bob", "name": "Bob"}
    vouched(http_user, link())
    site.user = {"sub": "alice", "name": "Alice"}
    http_user.press("switch")
    assert query(http_user.url)["prompt"] == "login"
    http_user.press("vouch")
    assert http_user.page_name == "form"
    assert "Bob" not in http_user.text


def test_the_site_is_told_the_link_a_state_and_the_language_and_nothing_else(
    http_user: HttpUser, site: Site, link: Callable[..., str]
) -> None:
    asked = link()
    http_user.open(asked)
    http_user.press("signin")
    said = query(http_user.url)
    assert said.keys() == {"elicitation", "state", "ui_locales"}
    assert said["ui_locales"] == "en"
    assert asked.endswith(said["elicitation"])
    assert len(said["state"]) == 43


def test_a_person_signs_in_to_their_own_room_as_well(http_user: HttpUser, served: Served, site: Site) -> None:
    http_user.open(f"{served.url}/account")
    http_user.press("signin", provider="shop")
    http_user.press("vouch")
    assert (http_user.page_name, http_user.url) == ("account", f"{served.url}/account")


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_only_a_form_brings_a_word(served: Served, site: Site, method: str) -> None:
    with httpx2.Client(trust_env=False) as client:
        assert client.request(method, site.vouch_url).status_code in {403, 405}
        unknown = client.post(f"{served.url}/login/{ids.token()[:8]}/vouch", data={"assertion": "x"})
        assert unknown.status_code == 404
        assert client.post(site.vouch_url, data={}).status_code == 403


def test_a_site_without_keys_to_be_had_is_tried_later(
    http_user: HttpUser, served: Served, site: Site, link: Callable[..., str]
) -> None:
    changes: dict[str, Any] = {"jwks_url": f"{site.url}/nothing"}
    IdentityProvider.objects.filter(slug="shop").update(**changes)
    vouched(http_user, link())
    assert (http_user.answer.status_code, http_user.page_name) == (503, "refused")
