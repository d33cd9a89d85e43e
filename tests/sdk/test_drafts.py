"""A form that several people fill in, through the client and the real service."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from elicit_flows.sdk import Completed, Draft, DraftAnswer, Elicit, Elicitation, ElicitError, SyncElicit, outcome_of
from tests.sdk.fake import ELICITATION, FakeService, Reply
from tests.support import rows
from tests.support.serving import Served

ALICE = (rows.ALICE_CLAIM.iss, rows.ALICE_CLAIM.sub)
QUESTIONS: list[dict[str, Any]] = [
    {"id": "name", "kind": "text", "message": "Which name?", "required": True},
    {"id": "a/b", "kind": "boolean", "message": "Sure?"},
]


@pytest.fixture
def key(served: Served) -> str:
    rows.provider()
    return rows.agent().who.api_key


@pytest.fixture
def elicit(served: Served, key: str) -> Iterator[SyncElicit]:
    with SyncElicit(served.url, key) as client:
        yield client


@pytest.fixture
def form(elicit: SyncElicit) -> Elicitation:
    return elicit.create("form", ALICE, {"questions": QUESTIONS, "shared": True}, message="Tell me.")


def test_a_draft_is_written_read_and_sent(elicit: SyncElicit, form: Elicitation) -> None:
    assert elicit.draft(form) == Draft(form.id, form.status, 1, {}, ("name",))
    elicit.answer(form, "a/b", {"state": "draft", "value": True})
    told = elicit.answer(form, "name", {"state": "submitted", "value": "Atlas"}, seq=2)
    assert told == elicit.draft(form.id)
    assert told.answers == {
        "a/b": DraftAnswer(2, "agent", "draft", True),
        "name": DraftAnswer(3, "agent", "submitted", "Atlas"),
    }
    assert told.missing == ()
    assert list(elicit.draft(form, after_seq=2).answers) == ["name"]
    elicit.answer(form, "a/b", {"state": "skipped", "reason": "Nobody knows."})
    outcome = outcome_of(elicit.complete(form))
    assert isinstance(outcome, Completed)
    assert outcome.result == {"content": {"name": "Atlas"}, "skipped": {"a/b": "Nobody knows."}}


def test_an_answer_is_cleared_with_none(elicit: SyncElicit, form: Elicitation) -> None:
    elicit.answer(form, "name", {"state": "draft", "value": "Atlas"})
    assert elicit.answer(form, "name", None).answers["name"] == DraftAnswer(3, "agent")


def test_who_has_not_seen_the_newest_answer_is_told(elicit: SyncElicit, form: Elicitation) -> None:
    elicit.answer(form, "name", {"state": "draft", "value": "Atlas"})
    with pytest.raises(ElicitError) as refused:
        elicit.answer(form, "name", {"state": "draft", "value": "Mine"}, seq=1)
    assert refused.value.code == "draft_changed"
    with pytest.raises(ElicitError) as early:
        elicit.complete(form)
    assert early.value.code == "not_submitted"


def test_it_is_asked_again_in_other_words_and_with_other_questions(elicit: SyncElicit, form: Elicitation) -> None:
    other = elicit.ask_again(form, "In other words.")
    assert (other.id, other.message, other.params) == (form.id, "In other words.", form.params)
    other = elicit.ask_again(form.id, params={"questions": QUESTIONS[1:]})
    assert (other.message, other.params["questions"][0]["id"]) == ("In other words.", "a/b")


def test_a_viewer_waits_for_the_next_change(elicit: SyncElicit, form: Elicitation, served: Served, key: str) -> None:
    async def together() -> Draft:
        async with Elicit(served.url, key) as viewer:
            change = asyncio.create_task(viewer.get(form, wait=20, after_seq=form.seq))
            await asyncio.to_thread(elicit.answer, form, "name", {"state": "draft", "value": "Atlas"})
            return await viewer.draft(form, after_seq=(await change).seq - 1)

    assert asyncio.run(together()).answers == {"name": DraftAnswer(2, "agent", "draft", "Atlas")}


def test_what_a_later_service_adds_is_left_out(service: FakeService) -> None:
    answer = {"state": "draft", "value": 1, "seq": 2, "by": "person", "new": 1}
    body = {"elicitation": "el_1", "status": "pending", "seq": 2, "answers": {"a": answer}, "missing": [], "new": 1}
    service.on("GET", "/v1/elicitations/el_1/draft", Reply(body))
    with SyncElicit(service.url, "key") as elicit:
        draft = elicit.draft(Elicitation.read(ELICITATION))
    assert draft.answers == {"a": DraftAnswer(2, "person", "draft", 1)}
