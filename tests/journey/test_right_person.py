"""A link works only for the person it was made for: checked when it is opened, at the button, and at the callback."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest

from tests.cast import BOB, Person
from tests.journey.stage import Stage, form_post
from tests.support.http_user import HttpUser
from tests.support.op import Op

NewUser = Callable[..., HttpUser]


def test_t1_a_forwarded_link_shows_the_stranger_nothing_and_leads_nowhere(stage: Stage, new_http_user: NewUser):
    asked = stage.ask(message="Connect the drive of Alice Liddell.")
    bob, alice = new_http_user(), new_http_user()
    bob.open(asked["url"])
    bob.carry_on("signin", "bob")
    assert bob.url == asked["url"]
    assert (bob.answer.status_code, bob.page_name) == (403, "mismatch")
    assert "location" not in bob.answer.headers
    for said in ("alice", "liddell", "drive", stage.agent.slug, "files"):
        assert said not in bob.answer.text.replace(asked["url"], "").lower(), said
    assert bob.actions() == ["switch"]
    assert stage.status(asked) == "pending"
    assert stage.attempts(asked) == 0
    stage.complete(alice, asked)


@pytest.mark.parametrize("button", ["continue", "decline"])
def test_t1_a_stranger_cannot_press_the_button_and_the_agent_hears_of_the_try(
    stage: Stage, http_user: HttpUser, button: str
):
    asked = stage.ask()
    http_user.connect(asked["url"], "bob")
    answer = form_post(http_user, f"{asked['url']}/{button}")
    assert answer.status_code == 403
    assert "location" not in answer.headers
    assert stage.status(asked) == "pending"
    assert stage.attempts(asked) == 0
    assert stage.events(asked) == ["created", "refused"]


def test_t1_a_persistent_stranger_does_not_fill_the_agents_feed(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    http_user.connect(asked["url"], "bob")
    for _ in range(8):
        assert form_post(http_user, f"{asked['url']}/continue").status_code == 403
    assert stage.events(asked) == ["created", *["refused"] * 5]


def test_t1_nobody_sees_the_outcome_of_anothers_link(stage: Stage, new_http_user: NewUser):
    asked, bob = stage.ask(), new_http_user()
    stage.complete(new_http_user(), asked)
    bob.connect(asked["url"], "bob")
    assert (bob.answer.status_code, bob.page_name) == (403, "mismatch")
    assert bob.open(f"{asked['url']}/done").status_code == 403
    assert "completed" not in bob.answer.text


def test_t2_the_providers_address_taken_from_alices_browser_is_of_no_use_to_bob(stage: Stage, new_http_user: NewUser):
    asked, alice, bob = stage.ask(), new_http_user(), new_http_user()
    at_provider = stage.at_provider(alice, asked)
    bob.connect(stage.ask(BOB)["url"], "bob", decide="nothing")
    with stage.nothing_asked():
        bob.open(at_provider)
        bob.carry_on("bob", "allow")
    assert (bob.answer.status_code, bob.page_name) == (403, "mismatch")
    assert "/callback/" in bob.url
    assert stage.status(asked) == "started"
    assert stage.connections() == []
    assert "refused" in stage.events(asked)
    alice.follow()
    alice.carry_on("alice", "allow")
    assert alice.page_status == "completed"


def test_t3_a_callback_without_any_cookie_is_refused_and_costs_nothing(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    with stage.nothing_asked():
        answer = http_user.get(callback, cookies=False)
    assert answer.status_code == 400
    assert stage.status(asked) == "started"
    http_user.follow()
    assert http_user.page_status == "completed"


COMPOSED, DECOMPOSED = "ren\u00e9", "rene\u0301"
OTHERS = {
    "capital": ("alice", "Alice"),
    "upper case": ("alice", "ALICE"),
    "space behind": ("alice", "alice "),
    "space before": ("alice", " alice"),
    "zero width": ("alice", "alice\u200b"),
    "Cyrillic a": ("alice", "\u0430lice"),
    "full width": ("alice", "\uff41lice"),
    "decomposed": (COMPOSED, DECOMPOSED),
    "composed": (DECOMPOSED, COMPOSED),
    "one shorter": ("l" * 255, "l" * 254),
}


@pytest.mark.parametrize(("owner", "visitor"), OTHERS.values(), ids=OTHERS.keys())
def test_t6_a_subject_that_only_looks_alike_is_somebody_else(
    stage: Stage, http_user: HttpUser, partner: Op, owner: str, visitor: str
):
    assert owner != visitor
    partner.add_account(visitor)
    asked = stage.ask(Person(owner, "Owner"), iss=partner.issuer)
    _is_a_stranger(stage, http_user, asked, visitor)


def _is_a_stranger(stage: Stage, user: HttpUser, asked: dict[str, str], visitor: str) -> None:
    """At the page and at the button."""
    user.open(asked["url"])
    user.carry_on("signin", visitor)
    assert (user.url, user.answer.status_code, user.page_name) == (asked["url"], 403, "mismatch")
    assert form_post(user, f"{asked['url']}/continue").status_code == 403
    assert (stage.status(asked), stage.attempts(asked)) == ("pending", 0)


@pytest.mark.parametrize("sub", ["alice", "Zo\u00eb \U0001f642", unicodedata.normalize("NFD", "Zo\u00eb"), "x" * 255])
def test_t6_whoever_it_is_made_for_gets_in(stage: Stage, http_user: HttpUser, partner: Op, sub: str):
    partner.add_account(sub)
    asked = stage.ask(Person(sub, "Owner"), iss=partner.issuer)
    assert asked["subject"]["sub"] == sub
    http_user.connect(asked["url"], sub, decide="nothing")
    assert http_user.url.startswith(stage.drive.issuer)


def test_t6_the_same_subject_at_another_issuer_is_somebody_else(stage: Stage, http_user: HttpUser, partner: Op):
    asked = stage.ask()
    elsewhere = stage.ask(iss=partner.issuer)
    http_user.connect(elsewhere["url"], "alice", decide="nothing")
    _is_a_stranger(stage, http_user, asked, "nobody else")


def test_t6_the_same_mail_address_is_not_the_same_person(stage: Stage, http_user: HttpUser, partner: Op):
    partner.add_account("alice-2", "Alice", email="alice@example.com")
    _is_a_stranger(stage, http_user, stage.ask(iss=partner.issuer), "alice-2")


def test_t6_a_lookalike_does_not_take_the_way_back_either(stage: Stage, new_http_user: NewUser, partner: Op):
    partner.add_account("Alice")
    asked, alice, other = stage.ask(iss=partner.issuer), new_http_user(), new_http_user()
    callback = stage.answer(alice, asked)
    other.open(stage.ask(Person("Alice", "Other"), iss=partner.issuer)["url"])
    other.carry_on("signin", "Alice")
    assert other.page_name == "consent"
    with stage.nothing_asked():
        assert other.get(callback).status_code == 403
    assert stage.status(asked) == "started"


@pytest.mark.parametrize("sub", ["", "x" * 256, "al\x00ice"])
def test_t6_subjects_that_cannot_be_are_refused_when_asked_for(stage: Stage, sub: str):
    assert stage.try_to_ask(Person(sub, "")).status_code in {400, 422}


def test_t13_what_one_agent_was_given_is_asked_for_anew_by_another(
    stage: Stage, new_stage: Callable[..., Stage], http_user: HttpUser
):
    first, other = stage.ask(), new_stage(stage.box)
    stage.complete(http_user, first)
    asked = other.ask()
    for another in (asked, stage.ask(BOB)):
        assert (another["status"], another["reused"]) == ("pending", False)
    http_user.open(asked["url"])
    assert http_user.page_name == "consent"
    assert other.agent.slug.replace("-", " ").title() in http_user.text
    connection = stage.look(first)["result"]["connection"]
    assert other.agent.post(f"/v1/connections/{connection}/token", json={}).status_code == 404
    assert other.connections() == []
    http_user.carry_on("continue", "allow", "alice")
    assert other.look(asked)["result"]["connection"] != connection
