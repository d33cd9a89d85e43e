"""Where the last page goes by itself, and where it only has a button."""

from __future__ import annotations

import pytest
from django.test import Client

from elicit_flows import elicitations
from elicit_flows.domain.values import Json, Question
from elicit_flows.elicitations import decline
from elicit_flows.models import Elicitation
from tests.support import money, rows
from tests.support.rows import ALICE_CLAIM, ISSUER, Known
from tests.web.samples import Page

BACK = "https://shop.example/done"
CONFIRM: Json = {"confirm_label": "Tidy up"}


@pytest.fixture
def bot(db: None) -> Known:
    known = rows.agent("shop-bot")
    known.row.return_urls = [BACK]
    known.row.save()
    return known


@pytest.fixture
def alice(client: Client, bot: Known) -> Client:
    session = client.session
    session["person"] = {"iss": ISSUER, "sub": "alice", "label": "Alice", "auth_time": 0, "browser": "b"}
    session.save()
    return client


def ask(bot: Known, kind: str, params: Json, mode: str = "auto") -> Elicitation:
    row, _ = elicitations.create(bot.row, Question(kind, ALICE_CLAIM, "Why.", params, 900, BACK, mode))
    return row


def goes_by_itself(alice: Client, row: Elicitation) -> bool:
    """Whether the last page goes back; it has a button for it in any case."""
    page = Page(alice.get(f"/c/{row.pk}/done").text)
    [back] = [link for link in page.all("a") if link["href"] == BACK]
    scripts = [src for one in page.all("script") if (src := str(one["src"])).endswith("done.js")]
    assert ("data-returns" in back) == bool(scripts) == ("Stay on this page" in page.text())
    return "data-returns" in back


def paper(bot: Known) -> Json:
    account = money.account()
    bot.row.payment_accounts.add(account)
    return {"account": account.slug, "amount": 990, "currency": "eur", "description": "The paper"}


@pytest.mark.parametrize("answer", ["submit", "decline"])
def test_the_page_goes_back_after_an_answer_if_the_agent_wants_it_to(alice: Client, bot: Known, answer: str) -> None:
    auto, button = ask(bot, "confirm", CONFIRM), ask(bot, "confirm", CONFIRM, "button")
    for row in (auto, button):
        alice.post(f"/c/{row.pk}/{answer}", {"confirm": "yes"})
    assert goes_by_itself(alice, auto)
    assert not goes_by_itself(alice, button)


def test_who_says_no_to_money_stays(alice: Client, bot: Known) -> None:
    row = ask(bot, "payment", paper(bot))
    decline(row.pk, ALICE_CLAIM)
    assert not goes_by_itself(alice, row)


def test_who_says_no_to_money_among_other_steps_stays(alice: Client, bot: Known) -> None:
    steps = [{"kind": "confirm", "params": CONFIRM}, {"kind": "payment", "params": paper(bot)}]
    row = ask(bot, "steps", {"steps": steps})
    first, second = row.steps.order_by("place")
    alice.post(f"/c/{first.pk}/submit", {"confirm": "yes"})
    decline(second.pk, ALICE_CLAIM)
    row.refresh_from_db()
    assert row.status == "declined"
    assert not goes_by_itself(alice, row)


def test_who_says_no_to_steps_without_money_goes_back(alice: Client, bot: Known) -> None:
    row = ask(bot, "steps", {"steps": [{"kind": "confirm", "params": CONFIRM}] * 2})
    decline(row.steps.order_by("place")[0].pk, ALICE_CLAIM)
    assert goes_by_itself(alice, row)


@pytest.mark.parametrize(("said", "status"), [("auto", 201), ("button", 201), ("never", 422), (None, 422), (True, 422)])
def test_the_api_takes_auto_and_button(client: Client, bot: Known, said: object, status: int) -> None:
    body = {"kind": "confirm", "subject": {"iss": ISSUER, "sub": "alice"}, "message": "Why.", "params": CONFIRM}
    answer = client.post(
        "/v1/elicitations", body | {"return": said}, "application/json",
        headers={"authorization": f"Bearer {bot.who.api_key}"},
    )  # fmt: skip
    assert answer.status_code == status, answer.text
    if status == 201:
        assert answer.json()["return"] == said
    else:
        assert answer.json()["errors"][0]["loc"] == ["return"]
