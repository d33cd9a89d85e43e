"""T162: only who has the link of a message or is signed in decides what a person hears of; opening it does nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from elicit_flows import vault
from elicit_flows.domain.values import Claim
from elicit_flows.models import Agent, Elicitation, NotificationSettings, OptOut
from elicit_flows.people import contacts
from tests.notifications.telling import outcomes, signs_in
from tests.support import jobs, rows
from tests.support.mail import MailServer
from tests.support.rows import ALICE_CLAIM, ISSUER, Known
from tests.web.samples import Page
from tests.web.test_room import browser

Ask = Callable[..., Elicitation]
BOB = Claim(ISSUER, "bob")
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def link(mail: MailServer, ask: Ask) -> str:
    """The path of the link in an e-mail to alice."""
    signs_in()
    ask()
    jobs.notify()
    [got] = mail.received()
    found = re.search(r"/unsubscribe/[\w.-]+", got["List-Unsubscribe"])
    assert found
    mail.forget()
    return found[0]


def strict() -> Client:
    return Client(enforce_csrf_checks=True)


def told(ask: Ask) -> dict[str, str]:
    row = ask()
    jobs.notify()
    return outcomes(row)


def test_a_mail_program_unsubscribes_with_one_post_and_no_cookie(link: str, mail: MailServer, ask: Ask) -> None:
    answer = strict().post(link, ONE_CLICK)
    assert answer.status_code == 200, "it follows no redirect (RFC 8058)"
    assert told(ask) == {"email": "opted_out"}
    assert mail.received() == []
    assert strict().post(link, ONE_CLICK).status_code == 200


def test_t162_opening_the_link_changes_nothing(link: str, ask: Ask) -> None:
    for method in ("get", "head"):
        assert getattr(strict(), method)(link).status_code == 200
    assert not OptOut.objects.exists()
    assert told(ask) == {"email": "sent"}


def test_a_person_stops_one_agent_or_all(link: str, ask: Ask) -> None:
    other = rows.agent("other", notify=True)
    page = Page(strict().get(link).text)
    ours = [one["data-action"] for one in page.all("form") if "data-action" in one]
    assert ours == ["stop-messages", "stop-all-messages"]
    strict().post(link)
    assert told(ask) == {"email": "opted_out"}
    assert told(lambda: ask(of=other)) == {"email": "sent"}
    strict().post(link, {"all": "yes"})
    assert told(lambda: ask(of=other)) == {"email": "opted_out"}


def test_each_page_says_that_it_is_about_messages_of_charges_too(link: str) -> None:
    said = "This includes messages about charges that you allowed."
    pages = [browser().get("/account/security"), strict().get(link)]
    pages += [strict().post(link), strict().post(link, {"all": "yes"})]
    for page in pages:
        assert said in Page(page.text).text()


def test_it_ends_the_messages_of_its_person_and_agent_alone(link: str, ask: Ask) -> None:
    signs_in("bob@example.com", claim=BOB)
    strict().post(link, ONE_CLICK)
    assert told(lambda: ask(claim=BOB)) == {"email": "sent"}


@pytest.mark.parametrize("change", ["cut", "flip", "other seal", "nothing", "long"])
def test_t162_a_link_that_this_service_did_not_make_does_nothing(link: str, ask: Ask, change: str) -> None:
    signs_in()
    forged = {
        "cut": link[:-4],
        "flip": link[:-12] + ("A" if link[-12] != "A" else "B") + link[-11:],
        "other seal": f"/unsubscribe/{Agent.objects.get(slug='bot').webhook_secret}",
        "nothing": "/unsubscribe/x",
        "long": "/unsubscribe/" + "v1.k1." + "A" * 5000,
    }[change]
    for client in (strict(), browser("bob")):
        answer = client.post(forged, ONE_CLICK)
        assert answer.status_code == 404
        assert Page(answer.text).all("body")[0]["data-page"] == "refused"
    assert not OptOut.objects.exists()


def test_the_link_of_an_agent_that_is_gone_stops_everything(link: str, known: Known) -> None:
    Agent.objects.filter(pk=known.row.pk).delete()
    assert "Stop all messages" in strict().get(link).text
    strict().post(link, ONE_CLICK)
    assert OptOut.objects.get().agent is None


def test_the_account_page_shows_and_changes_it(link: str, ask: Ask, known: Known) -> None:
    alice = browser()
    text = Page(alice.get("/account/security").text).text()
    assert "alice@example.com" in text
    assert "Bot" in text
    answer = alice.post("/account/notifications", {"told": "yes", "shown": ["bot"]})  # the box is not ticked
    assert answer["Location"] == "/account/security?saved=notifications"
    assert told(ask) == {"email": "opted_out"}
    alice.post("/account/notifications", {"told": "yes", "shown": ["bot"], "agent": ["bot"]})
    assert told(ask) == {"email": "sent"}
    alice.post("/account/notifications", {"shown": ["bot"], "agent": ["bot"]})
    assert told(ask) == {"email": "opted_out"}
    alice.post("/account/notifications", {"told": "yes", "shown": ["bot"], "agent": ["bot"]})
    assert not OptOut.objects.exists()


def test_an_agent_that_asked_since_the_page_was_opened_was_not_chosen_against(link: str, ask: Ask) -> None:
    page = Page(browser().get("/account/security").text)
    sent = {name: [one["value"] for one in page.all("input") if one.get("name") == name] for name in ("shown", "agent")}
    other = rows.agent("other", notify=True)
    assert told(lambda: ask(of=other)) == {"email": "sent"}
    browser().post("/account/notifications", {"told": "yes", **sent})
    assert told(lambda: ask(of=other)) == {"email": "sent"}


def test_t162_nobody_else_changes_it(link: str, ask: Ask) -> None:
    browser("bob").post("/account/notifications", {"shown": ["bot"]})
    assert Client().post("/account/notifications", {"shown": ["bot"]}).status_code == 403
    assert contacts.wants(ALICE_CLAIM, Agent.objects.get(slug="bot"))
    assert told(ask) == {"email": "sent"}


def test_where_nobody_is_told_the_account_page_says_nothing_of_it(committed: None) -> None:
    rows.agent()
    assert "notifications" not in browser().get("/account/security").text
    NotificationSettings.objects.create()
    assert "/account/notifications" not in browser().get("/account/security").text


def test_the_link_names_nobody(link: str) -> None:
    token = link.rpartition("/")[2]
    assert vault.contacts.open_unsubscribe(token)
    assert len(token) < 400
