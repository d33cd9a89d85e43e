"""A process is killed between a webhook's arrival and its effect (payments.md, section 5, case 11; T110)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.payments.racing import waiting_for_locks
from tests.payments.test_cancellation import CHANGE, DETACH, at_stripe, card_of, methods
from tests.payments.test_hints import DONE, go_away, settled
from tests.payments.test_method_replacement import attached, finished, leave, look_now
from tests.payments.test_modes import subscribed
from tests.payments.till import LONG_AGO, Json, Till
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.process import until

FETCH = "GET /v1/checkout/sessions/*"


@pytest.fixture(scope="module")
def mortal_box(new_box: Callable[..., Box]) -> Iterator[Box]:
    """A web process, a worker and beat of its own."""
    box = new_box("full")
    yield box
    box.remove()


@pytest.fixture
def till(new_till: Callable[..., Till], mortal_box: Box) -> Till:
    return new_till(mortal_box)


def kept(till: Till, page: str) -> list[tuple[int, bool]]:
    """The webhooks about that page that are kept: how often each was tried, and whether it is done."""
    statement = "SELECT tries, done_at IS NOT NULL FROM elicit_flows_inbound WHERE ref = %s"
    return [(int(tries), bool(done)) for tries, done in till.sql(statement, page.rpartition("/")[2])]


def let_leases_run_out(till: Till) -> None:
    till.sql("UPDATE elicit_flows_inbound SET try_at = %s WHERE try_at IS NOT NULL", LONG_AGO)


@pytest.mark.slow
def test_case_11_what_a_worker_was_at_when_it_was_killed_another_finishes(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(item="report")
    page = till.at_stripe(http_user, asked)
    till.stripe.order("fault", name="hang", on=FETCH, hang=30.0)
    go_away(till, http_user)
    until(lambda: kept(till, page) == [(1, False)], "a worker has claimed it")
    until(lambda: [one for one in till.stripe.state()["requests"] if one["fault"] == "hang"], "and asks the provider")
    till.box.kill9("worker")
    till.stripe.order("calm")
    assert till.stands(asked) == ("started", "open", ["created", "started"])
    assert kept(till, page) == [(1, False)]
    let_leases_run_out(till)
    till.box.restart("worker")
    till.becomes(asked, "completed", timeout=20)
    until(lambda: kept(till, page) == [(2, True)], "it is done")
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.slow
def test_case_11_webhooks_that_came_while_there_was_no_worker_are_done_by_the_next(
    till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    till.box.kill9("worker")
    asks, pages = [till.ask() for _ in range(3)], []
    for asked in asks:
        user = new_http_user()
        pages.append(till.at_stripe(user, asked))
        go_away(till, user)
    settled(till)
    assert [kept(till, page) for page in pages] == [[(0, False)]] * 3
    till.box.restart("worker")
    for asked in asks:
        till.becomes(asked, "completed", timeout=20)
        assert till.stands(asked) == ("completed", "paid", DONE)


def completions(till: Till) -> list[Json]:
    """Stripe's tries to tell of the newest payment."""
    sent = [one for one in till.stripe.state()["deliveries"] if one["type"] == "checkout.session.completed"]
    return list(sent[-1]["tries"])


def test_t110_a_webhook_that_is_not_kept_yet_is_not_answered_and_comes_again(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("weather", timing="after", retry_seconds=[0.5] * 60)
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    with psycopg.connect(till.box.database_url) as holder:
        holder.execute("LOCK TABLE elicit_flows_inbound IN SHARE MODE")
        go_away(till, http_user)
        until(lambda: waiting_for_locks(till) == 1, "it is about to be kept")
        assert completions(till) == [], "nothing is said before it is"
        till.box.kill9("web")
        holder.rollback()
    first = until(lambda: completions(till), "the provider has noticed")[0]
    assert (first["status"], bool(first["error"])) == (None, True)
    assert kept(till, page) == []
    till.box.restart("web")
    till.becomes(asked, "completed", timeout=20)
    settled(till)
    assert completions(till)[-1]["status"] == 200
    until(lambda: kept(till, page) == [(1, True)], "it is done with")
    assert till.stands(asked) == ("completed", "paid", DONE)


def late(till: Till) -> int:
    """How many requests were answered late so far."""
    return len([one for one in till.stripe.state()["requests"] if one["fault"] == "late_reply"])


@pytest.mark.slow
@pytest.mark.parametrize("on", [CHANGE, DETACH])
def test_a_worker_that_is_killed_while_a_card_is_replaced_leaves_the_new_one_alone(
    till: Till, http_user: HttpUser, on: str
) -> None:
    asked, subscription = subscribed(till, http_user)
    found = at_stripe(till, subscription)
    former, before = found["default_payment_method"], methods(till, found["customer"])
    card_of(till, http_user, asked)
    leave(till, http_user, till.payment_id(asked))
    asked_late = late(till)
    till.stripe.order("fault", name="late_reply", on=on, hang=30.0)
    go_away(till, http_user)
    until(lambda: late(till) > asked_late, "it is asked")
    till.box.kill9("worker")
    till.stripe.order("calm")
    let_leases_run_out(till)
    look_now(till)
    till.box.restart("worker")
    until(lambda: finished(till, asked), "there is nothing left to do", timeout=30)
    now = at_stripe(till, subscription)["default_payment_method"]
    assert (now != former, attached(till, now), attached(till, former)) == (True, True, False)
    assert methods(till, found["customer"]) == before
    assert till.stands(asked) == ("completed", "active", DONE)
