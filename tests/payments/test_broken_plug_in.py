"""A payment plug-in raises what nobody foresaw: nothing sticks, and the operator hears of it (section 5, case 35)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.payments import moody
from tests.payments.test_hints import DONE, go_away, run_out
from tests.payments.till import LONG_AGO, Json, Till
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.process import PROJECT, until

pytestmark = pytest.mark.slow

ALERT = "payment account sandbox: the plug-in moody is broken"


@pytest.fixture(scope="module")
def moods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("moods") / "moods"


@pytest.fixture(scope="module")
def moody_box(new_box: Callable[..., Box], moods: Path) -> Iterator[Box]:
    """One process on SQLite, with a plug-in that is not ours."""
    moods.write_text("")
    path = f"{Path(moody.__file__).parent / 'plugged'}:{PROJECT}"
    box = new_box("embedded", settings={"PYTHONPATH": path, moody.MOODS: str(moods)})
    yield box
    box.remove()


@dataclass
class MoodyTill:
    till: Till
    moods: Path

    def be(self, *moods: str) -> None:
        self.moods.write_text("\n".join(moods))


@pytest.fixture
def broken(moody_box: Box, moods: Path, new_till: Callable[..., Till]) -> Iterator[MoodyTill]:
    yield MoodyTill(new_till(moody_box, "moody"), moods)
    moods.write_text("")


@pytest.fixture
def till(broken: MoodyTill) -> Till:
    return broken.till


def ref_of(page: str) -> str:
    return page.rpartition("/")[2]


def complete(till: Till, asked: Json) -> None:
    till.becomes(asked, "completed", timeout=20)
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.slow
@pytest.mark.parametrize("mood", ["start", "start!"])
def test_case_35_at_the_button_there_is_a_page_that_says_so_and_the_next_press_works(
    broken: MoodyTill, till: Till, http_user: HttpUser, mood: str
) -> None:
    before = till.box.logs().count(ALERT)
    broken.be(mood)
    asked = till.ask()
    http_user.connect(asked["url"], "alice")
    assert (http_user.page_name, http_user.answer.status_code) == ("refused", 502)
    assert till.box.logs().count(ALERT) == before + 1
    assert till.stands(asked) == ("pending", "open", ["created"])
    broken.be()
    till.pay(http_user, asked)
    complete(till, asked)
    assert len(till.paid_at_stripe(asked)) == 1


def test_case_35_at_the_return_the_page_is_whole_and_the_sweep_asks_again(
    broken: MoodyTill, till: Till, http_user: HttpUser
) -> None:
    till.stripe.order("weather", drop=True)
    asked = till.ask()
    till.at_stripe(http_user, asked)
    broken.be("fetch")
    http_user.press("pay")
    assert http_user.answer.status_code == 200
    assert till.stands(asked) == ("started", "open", ["created", "started"])
    broken.be()
    till.start()
    complete(till, asked)


@pytest.mark.slow
def test_case_35_the_sweep_goes_on_with_the_others(
    broken: MoodyTill, till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    till.stripe.order("weather", drop=True)
    asks, pages = [till.ask() for _ in range(3)], []
    for asked in asks:
        user = new_http_user()
        pages.append(till.at_stripe(user, asked))
        go_away(till, user)
    before = till.box.logs().count(ALERT)
    broken.be(f"fetch {ref_of(pages[0])}")
    till.start()
    for asked in asks[1:]:
        complete(till, asked)
    assert till.box.logs().count(ALERT) == before + 1
    assert till.stands(asks[0]) == ("started", "open", ["created", "started"])
    broken.be()
    till.start()
    complete(till, asks[0])


def test_case_35_a_webhook_is_taken_and_what_it_hints_at_is_followed_later(
    broken: MoodyTill, till: Till, http_user: HttpUser
) -> None:
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    before = till.box.logs().count(ALERT)
    broken.be("fetch")
    go_away(till, http_user)

    def waiting() -> bool:
        statement = "SELECT count(*) FROM elicit_flows_inbound WHERE ref = %s AND tries > 0 AND try_at IS NOT NULL"
        return bool(till.sql(statement, ref_of(page))[0][0]) and till.box.logs().count(ALERT) > before

    until(waiting, "it was followed, and is to be followed again")
    sent = [one for one in till.stripe.state()["deliveries"] if one["type"] == "checkout.session.completed"]
    assert sent[-1]["tries"][-1]["status"] == 200
    assert till.stands(asked) == ("started", "open", ["created", "started"])
    broken.be()
    till.sql("UPDATE elicit_flows_inbound SET try_at = %s WHERE try_at IS NOT NULL", LONG_AGO)
    complete(till, asked)


def test_case_35_a_webhook_that_the_plug_in_cannot_read_is_sent_again(
    broken: MoodyTill, till: Till, http_user: HttpUser
) -> None:
    till.stripe.order("weather", retry_seconds=[0.2] * 50)
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    broken.be("receive")
    go_away(till, http_user)

    def tries() -> list[Json]:
        sent = [one for one in till.stripe.state()["deliveries"] if one["type"] == "checkout.session.completed"]
        return list(sent[-1]["tries"])

    assert {one["status"] for one in until(tries, "it was tried")} == {500}
    assert till.sql("SELECT count(*) FROM elicit_flows_inbound WHERE ref = %s", ref_of(page)) == [(0,)]
    broken.be()
    complete(till, asked)
    assert tries()[-1]["status"] == 200


@pytest.mark.parametrize("pressed", [True, False])
def test_case_35_time_that_runs_out_ends_what_nobody_could_have_paid(
    broken: MoodyTill, till: Till, http_user: HttpUser, pressed: bool
) -> None:
    broken.be("start", "find", "close")
    asked = till.ask(more={"expires_in": 60})
    if pressed:
        http_user.connect(asked["url"], "alice")
    run_out(till, asked)
    till.becomes(asked, "expired", timeout=20)
    assert till.stands(asked) == ("expired", "closed", ["created", "expired"])


def test_case_35_money_goes_back_once_when_the_plug_in_is_well_again(
    broken: MoodyTill, till: Till, http_user: HttpUser
) -> None:
    asked = till.ask()
    till.pay(http_user, asked)
    complete(till, asked)
    before = till.box.logs().count(ALERT)
    broken.be("refund")
    assert till.agent.post(f"/v1/payments/{till.payment_id(asked)}/refunds", json={}).status_code == 201
    until(lambda: till.box.logs().count(ALERT) > before, "the provider could not be told")
    assert till.payment(asked)["amount_refunded"] == 0
    broken.be()
    until(lambda: till.payment(asked)["status"] == "refunded", "it went back", timeout=20)
    assert till.stands(asked) == ("completed", "refunded", [*DONE, "payment.refunded"])
    intent = till.paid_at_stripe(asked)[0]["payment_intent"]
    assert len([one for one in till.stripe.state()["refunds"] if one["payment_intent"] == intent]) == 1
