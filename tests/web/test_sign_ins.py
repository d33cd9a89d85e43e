"""T125: a sign-in that is only begun leaves little behind, however often it is begun."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client

from elicit_flows import people
from elicit_flows.domain.values import Claim
from elicit_flows.identity import SignedIn
from elicit_flows.identity.site import Vouched
from elicit_flows.jobs import purge
from elicit_flows.lib import clock, ids, rate_limits
from elicit_flows.lib.rate_limits import RateLimit
from elicit_flows.models import IdentityProvider
from elicit_flows.web import pending_logins
from tests.support.moving import MovingClock

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def accounts(settings: object) -> None:
    cache.clear()
    IdentityProvider.objects.create(slug="here", sort=IdentityProvider.Sort.ACCOUNTS, issuer="https://flows.test/here")


def begin(address: str, path: str = "/login") -> int:
    answer = Client().post(path, {"provider": "here"}, REMOTE_ADDR=address)
    if answer.status_code == 429:
        assert answer["Retry-After"] == "60"
        assert b"Try again in a minute." in answer.content
    return answer.status_code


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/login", "/switch"])
def test_t125_one_address_begins_so_many_sign_ins_a_minute(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "SIGN_INS", RateLimit("sign-ins", 10, 60))
    statuses = [begin("203.0.113.7", path) for _ in range(50)]
    assert set(statuses) == {303, 429}
    assert 10 <= statuses.count(303) <= 20, "a minute may have ended meanwhile"
    assert Session.objects.count() == statuses.count(303)
    assert begin("203.0.113.8", path) == 303, "from another address it goes on"


def test_t125_all_together_begin_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "ALL_SIGN_INS", RateLimit("sign-ins", 5, 60))
    statuses = [begin(f"203.0.113.{number}") for number in range(20)]
    assert 5 <= statuses.count(303) <= 10
    assert Session.objects.count() == statuses.count(303)


def test_t125_the_session_of_a_sign_in_that_was_only_begun_is_gone_soon(moving_clock: MovingClock) -> None:
    begin("203.0.113.7")
    ends = Session.objects.get().expire_date
    assert ends <= clock.now() + timedelta(seconds=pending_logins.STATE_SECONDS)
    moving_clock.forward(seconds=pending_logins.STATE_SECONDS + 1)
    purge.purge()
    assert not Session.objects.exists()


@pytest.mark.postgres
def test_a_site_that_names_the_link_and_not_its_id_is_no_fault_of_ours() -> None:
    """PostgreSQL takes no longer text than the column."""
    site = IdentityProvider.objects.create(slug="shop", sort="site", issuer="https://shop.example.com")
    link = f"https://elicit-flows.example.com/c/{ids.name('el')}"
    who = SignedIn(Claim(site.issuer, "alice"), None, "Alice")
    code = people.store_login_assertion(site, Vouched(who, "a", "state", link))
    found = people.redeem_login_assertion(site, code, [ids.digest("state")])
    assert found
    assert len(link) > len(found[0].elicitation) > len(ids.name("el"))
