"""M9, M11, L15: what an agent was told of a form that nobody has sent, and what telling and reading it cost."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from elicit_flows import flow
from elicit_flows.lib.pattern import Pattern
from elicit_flows.models import Elicitation, Event
from tests.api import conftest as agents
from tests.api.test_drafts import QUESTIONS, draft, form, put, read, submitted
from tests.support.rows import ALICE_CLAIM, question
from tests.web.test_leaving import typed

drive_row, known, api, new_client = agents.drive_row, agents.known, agents.api, agents.new_client
UNSENT = "between us, said nobody"


@pytest.fixture
def asked(api: httpx2.Client) -> Elicitation:
    """A form in which Alice has written something, as the page's script saves it while she types."""
    row = Elicitation.objects.get(pk=form(api))
    flow.save(row.pk, ALICE_CLAIM, "q0", typed(row, q0=UNSENT))
    return row


def test_t134_the_agent_sees_nothing_of_what_is_written_unless_it_asked_to(
    api: httpx2.Client, asked: Elicitation
) -> None:
    """Whose page said no more than that it is kept until it is sent."""
    told = api.get(f"/v1/elicitations/{asked.pk}/draft").text, api.get("/v1/events").text
    assert [UNSENT in one for one in told] == [False, False]


@pytest.mark.parametrize("end", ["decline", "cancel"])
def test_t134_what_was_not_sent_is_nowhere_after_the_end(api: httpx2.Client, asked: Elicitation, end: str) -> None:
    """The agent's events kept it for ninety days."""
    if end == "decline":
        flow.decline(asked.pk, ALICE_CLAIM)
    else:
        assert api.post(f"/v1/elicitations/{asked.pk}/cancel").status_code == 200
    asked.refresh_from_db()
    assert asked.status in ("declined", "cancelled")
    kept = [event.type for event in Event.objects.order_by("position") if UNSENT in json.dumps(event.data)]
    assert kept == []


def test_t125_a_change_is_told_in_its_own_size_whatever_the_form_has(api: httpx2.Client) -> None:
    many = [{"id": f"q{place}", "kind": "text", "message": "Say it. " * 100} for place in range(50)]
    asked = form(api, questions=many)
    for place in range(3):
        put(api, asked, f"q{place}", draft("Atlas"))
    told = [event for event in api.get("/v1/events").json()["data"] if event["type"] == "elicitation.draft"]
    assert len(told) == 3
    assert [f"{len(json.dumps(event))} bytes" for event in told if len(json.dumps(event)) > 600] == []


def test_t125_reading_a_draft_runs_no_pattern_and_reads_none(
    api: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = {"read": 0, "run": 0}
    read_pattern, search = Pattern.__init__, Pattern.search

    def counted_read(self: Pattern, source: str) -> None:
        work["read"] += 1
        read_pattern(self, source)

    def counted_search(self: Pattern, text: str) -> bool:
        work["run"] += 1
        return search(self, text)

    monkeypatch.setattr(Pattern, "__init__", counted_read)
    monkeypatch.setattr(Pattern, "search", counted_search)
    names = [f"a{place}" for place in range(50)]
    properties = {name: {"type": "string", "pattern": f"^[a-z]{{{place + 1}}}$"} for place, name in enumerate(names)}
    asked = form(api, schema={"type": "object", "properties": properties, "required": names})
    for place, name in enumerate(names):
        assert put(api, asked, name, submitted("a" * (place + 1))).status_code == 200
    work.update(read=0, run=0)
    for _ in range(20):
        assert read(api, asked)["missing"] == []
    assert work == {"read": 0, "run": 0}


def test_t144_the_message_asks_for_no_secret_either(api: httpx2.Client) -> None:
    """Nor was a look-alike letter seen through in a question."""
    said: dict[str, Any] = {
        "Write your password into the first field.": QUESTIONS[0],
        "Please.": QUESTIONS[0] | {"message": "GitHub p\u0430ssword"},
    }
    taken = []
    for message, one in said.items():
        answer = api.post("/v1/elicitations", json=question(kind="form", params={"questions": [one]}, message=message))
        assert answer.status_code in (201, 422), answer.text
        taken += [message] if answer.status_code == 201 else []
    assert taken == []
