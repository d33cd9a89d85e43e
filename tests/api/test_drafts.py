"""The shared draft of a form, as an agent's clients read and change it (AHP-3 to AHP-10)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from django.db import transaction

from elicit_flows import elicitations
from elicit_flows.domain.errors import Conflict, Invalid
from elicit_flows.domain.values import Answer
from elicit_flows.elicitations import form_drafts
from elicit_flows.kinds.form import secret_detection
from elicit_flows.lib import rate_limits
from elicit_flows.lib.pattern import Pattern
from elicit_flows.lib.rate_limits import RateLimit
from elicit_flows.models import Agent, Delivery, Elicitation
from tests.api.described import Described
from tests.support.rows import Known, question

QUESTIONS = [
    {"id": "name", "kind": "text", "title": "Name", "message": "Of the project", "required": True, "min": 3},
    {"id": "seats", "kind": "integer", "message": "How many seats?", "min": 1, "max": 9},
    {"id": "runtime", "kind": "single-select", "message": "Which runtime?", "allowFreeformInput": True,
     "options": [{"id": "node", "label": "Node"}, {"id": "deno", "label": "Deno"}]},
    {"id": "a/b", "kind": "boolean", "message": "Sure?"},
]  # fmt: skip
Answers = dict[str, Any]


def form(api: httpx2.Client, **params: Any) -> str:
    """One whose draft is shared, unless ``params`` say otherwise."""
    asked = api.post(
        "/v1/elicitations", json=question(kind="form", params={"questions": QUESTIONS, "shared": True} | params)
    )
    assert asked.status_code == 201, asked.text
    return str(asked.json()["id"])


def put(api: httpx2.Client, asked: str, name: str, answer: Answers | None, **more: Any) -> httpx2.Response:
    return api.put(f"/v1/elicitations/{asked}/draft/{name}", json={"answer": answer, **more})


def read(api: httpx2.Client, asked: str, **query: int) -> dict[str, Any]:
    answer = api.get(f"/v1/elicitations/{asked}/draft", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def draft(value: Any) -> Answers:
    return {"state": "draft", "value": value}


def submitted(value: Any) -> Answers:
    return {"state": "submitted", "value": value}


def test_answers_are_merged_by_question_and_each_change_has_a_number(api: httpx2.Client) -> None:
    asked = form(api)
    assert read(api, asked) == {
        "object": "draft", "elicitation": asked, "status": "pending", "seq": 1, "answers": {}, "missing": ["name"],
    }  # fmt: skip
    put(api, asked, "name", draft("At"))
    put(api, asked, "seats", draft(12))
    told = put(api, asked, "name", draft("Atlas")).json()
    assert told == read(api, asked)
    assert told["answers"] == {
        "seats": {"state": "draft", "value": 12, "seq": 3, "by": "agent"},
        "name": {"state": "draft", "value": "Atlas", "seq": 4, "by": "agent"},
    }
    assert told["missing"] == ["name"], "a draft does not count"


def test_a_late_reader_gets_what_is_newer_than_it_has_seen_or_everything(api: httpx2.Client) -> None:
    asked = form(api)
    put(api, asked, "name", draft("Atlas"))
    put(api, asked, "seats", draft(2))
    put(api, asked, "name", None)
    assert list(read(api, asked, after_seq=2)["answers"]) == ["seats", "name"]
    assert read(api, asked, after_seq=3)["answers"] == {"name": {"seq": 4, "by": "agent"}}, "cleared is a change too"
    assert read(api, asked, after_seq=4)["answers"] == {}


def test_each_change_is_told_in_the_feed_and_to_who_waits_and_not_by_webhook(api: httpx2.Client, known: Known) -> None:
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks")
    asked = form(api)
    put(api, asked, "name", draft("Atlas"))
    put(api, asked, "name", None)
    events = api.get("/v1/events").json()["data"]
    assert [one["type"] for one in events] == ["elicitation.created", "elicitation.draft", "elicitation.draft"]
    assert [one["seq"] for one in events] == [1, 2, 3]
    assert [one["data"].get("draft") for one in events] == [
        None,
        {"question": "name", "answer": draft("Atlas"), "by": "agent"},
        {"question": "name", "answer": None, "by": "agent"},
    ]
    assert api.get(f"/v1/elicitations/{asked}", params={"wait": 5, "after_seq": 2}).json()["seq"] == 3
    assert Delivery.objects.count() == 1


def test_t125_a_change_is_told_in_its_own_size_whatever_the_form_has(api: httpx2.Client) -> None:
    many = [{"id": f"q{place}", "kind": "text", "message": "Say it. " * 100} for place in range(50)]
    asked = form(api, questions=many)
    for place in range(3):
        put(api, asked, f"q{place}", draft("Atlas"))
    told = [event for event in api.get("/v1/events").json()["data"] if event["type"] == "elicitation.draft"]
    assert [event["data"] for event in told] == [
        {"id": asked, "object": "elicitation", "status": "pending", "seq": 2 + place,
         "draft": {"question": f"q{place}", "answer": draft("Atlas"), "by": "agent"}}
        for place in range(3)
    ]  # fmt: skip
    assert max(len(json.dumps(event)) for event in told) < 600


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
    monkeypatch.setattr(secret_detection, "asks", counted(work, "scanned", secret_detection.asks))
    names = [f"a{place}" for place in range(50)]
    properties = {name: {"type": "string", "pattern": f"^[a-z]{{{place + 1}}}$"} for place, name in enumerate(names)}
    asked = form(api, questions=None, schema={"type": "object", "properties": properties, "required": names})
    for place, name in enumerate(names):
        assert put(api, asked, name, submitted("a" * (place + 1))).status_code == 200
    assert work["run"] == 50, "each answer is held against its own pattern, once, when it is written"
    work.update(read=0, run=0, scanned=0)
    for _ in range(20):
        assert read(api, asked)["missing"] == []
    assert work == {"read": 0, "run": 0, "scanned": 0}


def counted(work: dict[str, int], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def counting(*args: Any) -> Any:
        work[name] = work.get(name, 0) + 1
        return call(*args)

    return counting


def test_the_same_answer_again_is_no_change(api: httpx2.Client) -> None:
    asked = form(api)
    for _ in range(3):
        assert put(api, asked, "name", draft("Atlas")).json()["seq"] == 2
    assert put(api, asked, "seats", None).json()["seq"] == 2, "nothing was there to be cleared"


def test_whoever_has_not_seen_the_newest_answer_may_not_overwrite_it(api: httpx2.Client) -> None:
    asked = form(api)
    put(api, asked, "name", draft("Atlas"), seq=1)
    put(api, asked, "seats", draft(2), seq=1)
    again = put(api, asked, "name", draft("Atlas"), seq=1)
    assert again.status_code == 200, "the same once more, because its first answer was lost on the way"
    refused = put(api, asked, "name", draft("Mine"), seq=1)
    assert (refused.status_code, refused.json()["code"]) == (409, "draft_changed")
    assert put(api, asked, "name", draft("Mine"), seq=2).status_code == 200, "what changed elsewhere is no reason"
    assert read(api, asked)["answers"]["name"]["value"] == "Mine"


@pytest.mark.parametrize(
    ("name", "answer", "place"),
    [
        ("name", draft(5), "answer.value"),
        ("seats", draft("2"), "answer.value"),
        ("seats", draft(True), "answer.value"),
        ("seats", submitted(12), "answer.value"),
        ("name", submitted("At"), "answer.value"),
        ("name", {"state": "draft"}, "answer.value"),
        ("runtime", draft("bun"), "answer.value"),
        ("name", {"state": "skipped"}, "answer.state"),
        ("name", {"state": "sent", "value": "x"}, "answer.state"),
        ("seats", {"state": "skipped", "value": 2}, "answer.value"),
        ("seats", {"state": "draft", "value": 2, "reason": "x"}, "answer.reason"),
        ("seats", {"state": "skipped", "reason": "x" * 501}, "answer.reason"),
    ],
)
def test_what_cannot_be_an_answer_is_refused_with_its_place(
    api: httpx2.Client, name: str, answer: Answers, place: str
) -> None:
    asked = form(api)
    refused = put(api, asked, name, answer)
    assert refused.status_code == 422, refused.text
    assert [".".join(fault["loc"]) for fault in refused.json()["errors"]] == [place]
    assert read(api, asked)["answers"] == {}


def test_accepting_waits_for_every_required_question_to_be_submitted(api: httpx2.Client) -> None:
    asked = form(api)
    for answer in (None, draft("Atlas")):
        put(api, asked, "name", answer)
        refused = api.post(f"/v1/elicitations/{asked}/complete")
        assert (refused.status_code, refused.json()["code"]) == (409, "not_submitted")
        assert "name" in refused.json()["detail"]
    put(api, asked, "name", submitted("Atlas"))
    put(api, asked, "seats", draft(2))
    put(api, asked, "runtime", {"state": "skipped", "reason": "We have none yet."})
    put(api, asked, "a/b", submitted(False))
    told = api.post(f"/v1/elicitations/{asked}/complete").json()
    assert (told["status"], told["action"]) == ("completed", "accept")
    assert told["result"] == {
        "content": {"name": "Atlas", "a/b": False}, "skipped": {"runtime": "We have none yet."},
    }  # fmt: skip


def test_the_first_completion_wins_and_who_comes_late_is_told(api: httpx2.Client) -> None:
    asked = form(api)
    put(api, asked, "name", submitted("Atlas"))
    api.post(f"/v1/elicitations/{asked}/complete")
    for late in (
        api.post(f"/v1/elicitations/{asked}/complete"),
        put(api, asked, "name", submitted("Other")),
        api.patch(f"/v1/elicitations/{asked}", json={"message": "Again?"}),
        api.post(f"/v1/elicitations/{asked}/cancel"),
    ):
        assert (late.status_code, late.json()["code"]) == (409, "already_over")
        assert "completed" in late.json()["detail"]
    assert read(api, asked)["answers"]["name"]["value"] == "Atlas", "what was answered stays to be read"


def test_asking_again_changes_the_questions_and_keeps_what_still_fits(api: httpx2.Client) -> None:
    asked = form(api)
    put(api, asked, "name", submitted("Atlas"))
    put(api, asked, "seats", draft(12))
    put(api, asked, "runtime", draft({"value": "deno", "freeformValues": []}))
    put(api, asked, "a/b", draft(True))
    fewer = [QUESTIONS[0] | {"message": "Of the whole thing"}, QUESTIONS[1] | {"max": 20},
             QUESTIONS[2] | {"options": [{"id": "node", "label": "Node"}]}]  # fmt: skip
    before = read(api, asked)["seq"]
    again = api.patch(f"/v1/elicitations/{asked}", json={"message": "In other words", "params": {"questions": fewer}})
    assert again.status_code == 200, again.text
    assert (again.json()["id"], again.json()["message"], again.json()["seq"]) == (asked, "In other words", 6)
    assert again.json()["params"]["questions"][0]["message"] == "Of the whole thing"
    kept = read(api, asked)["answers"]
    assert {name: one.get("value") for name, one in kept.items()} == {"name": "Atlas", "seats": 12, "runtime": None}
    newer = read(api, asked, after_seq=before)["answers"]
    assert newer == {"runtime": {"seq": 6, "by": "agent"}}, "who asks for what is newer hears that it is gone"
    assert [one["type"] for one in api.get("/v1/events").json()["data"]][-1] == "elicitation.draft"


def test_what_answers_questions_that_are_not_asked_any_more_is_not_taken(api: httpx2.Client) -> None:
    """The questions are changed right after the answer was checked."""
    asked = form(api)
    row = Elicitation.objects.select_related("agent").get(pk=asked)
    field = form_drafts.questions_of(row).fields[0]
    page = {"q0": ["Atlas"], "seen": ["1"], "asked": [str(elicitations.page_draft(row).asked)]}  # type: ignore[union-attr]
    put(api, asked, "seats", draft(2))
    api.patch(f"/v1/elicitations/{asked}", json={"params": {"questions": [QUESTIONS[3]]}})
    with pytest.raises(Conflict, match="changed"):
        form_drafts.write(row, field, draft("Atlas"), "agent")
    with pytest.raises(Invalid) as refused, transaction.atomic():
        form_drafts.check_unchanged(row, Answer(page))
    assert "The questions were changed" in refused.value.by_field()[""]
    assert read(api, asked)["answers"] == {}


def test_t70_asking_again_may_not_ask_for_secrets_either(api: httpx2.Client) -> None:
    asked = form(api)
    secret = [{"id": "a", "kind": "text", "message": "Your API key?"}]
    refused = api.patch(f"/v1/elicitations/{asked}", json={"params": {"questions": secret}})
    assert refused.status_code == 422
    assert "Use kind credentials" in refused.text
    assert api.get(f"/v1/elicitations/{asked}").json()["params"]["questions"][0]["id"] == "name"


def test_a_form_is_sent_with_the_answers_of_the_agents_client(api: httpx2.Client) -> None:
    asked = form(api, shared=False)
    one = f"/v1/elicitations/{asked}/complete"
    for answers, place in (
        ({"name": submitted("At")}, ["answers", "name", "value"]),
        ({"nobody": submitted("x")}, ["answers", "nobody"]),
        ({"name": {"state": "skipped"}}, ["answers", "name", "state"]),
        ({"name": "Atlas"}, ["answers", "name"]),
    ):
        refused = api.post(one, json={"answers": answers})
        assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, place), refused.text
    assert api.post(one, json={"answers": {"name": draft("Atlas")}}).json()["code"] == "not_submitted"
    given = {"name": submitted("Atlas"), "seats": {"state": "skipped", "reason": "None yet."}}
    told = api.post(one, json={"answers": given}).json()
    assert told["result"] == {"content": {"name": "Atlas"}, "skipped": {"seats": "None yet."}}
    link = {"url": "https://example.com/terms", "completion": "by_agent"}
    other = api.post("/v1/elicitations", json=question(kind="link", params=link)).json()["id"]
    assert api.post(f"/v1/elicitations/{other}/complete", json={"answers": given}).status_code == 422
    assert api.post(f"/v1/elicitations/{other}/complete", json={}).json()["status"] == "completed"


def test_t134_a_reason_that_was_not_sent_is_not_told_with_the_agents_answers(api: httpx2.Client) -> None:
    asked = form(api, shared=False)
    row = Elicitation.objects.select_related("agent").get(pk=asked)
    seats = form_drafts.questions_of(row).fields[1]
    form_drafts.write(row, seats, {"state": "skipped", "reason": "Between us"}, form_drafts.PERSON)
    assert api.get(f"/v1/elicitations/{asked}").json()["seq"] == 1
    told = api.post(f"/v1/elicitations/{asked}/complete", json={"answers": {"name": submitted("Atlas")}}).json()
    assert told["result"] == {"content": {"name": "Atlas"}}


def test_whether_a_draft_is_shared_is_said_once_and_stays(api: httpx2.Client) -> None:
    asked = form(api)
    for shared, status in ((None, 200), (True, 200), (False, 422)):
        changed = api.patch(f"/v1/elicitations/{asked}", json={"params": {"questions": QUESTIONS, "shared": shared}})
        assert changed.status_code == status, changed.text
        assert api.get(f"/v1/elicitations/{asked}").json()["params"]["shared"] is True
    refused = api.post("/v1/elicitations", json=question(kind="form", params={"questions": QUESTIONS, "shared": "yes"}))
    assert refused.json()["errors"][0]["loc"] == ["params", "shared"]


def test_t144_the_message_asks_for_no_secret_either(api: httpx2.Client) -> None:
    text, tick = [QUESTIONS[0]], [QUESTIONS[3]]
    steps = [{"kind": "confirm"}, {"kind": "form", "params": {"questions": text}, "message": "Your p\u0430ssword?"}]
    for message in ("Write your password into the first field.", "The code we sent you, please.", "Your p\u0430ssword"):
        body = question(kind="form", params={"questions": text}, message=message)
        refused = api.post("/v1/elicitations", json=body)
        assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["message"]), message
        fine = api.post("/v1/elicitations", json=body | {"params": {"questions": tick}})
        assert fine.status_code == 201, "a yes or no carries no secret"
        refused = api.patch(f"/v1/elicitations/{fine.json()['id']}", json={"params": {"questions": text}})
        assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["message"]), "and text does"
    refused = api.post("/v1/elicitations", json=question(kind="steps", params={"steps": steps}))
    assert refused.json()["errors"][0]["loc"] == ["params", "steps", 1, "message"]
    asked = form(api)
    refused = api.patch(f"/v1/elicitations/{asked}", json={"message": "Your password, please."})
    assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, ["message"])


def test_t62_another_agents_draft_does_not_exist(api: httpx2.Client, stranger: httpx2.Client) -> None:
    asked = form(api)
    put(api, asked, "name", draft("Atlas"))
    for answer in (
        stranger.get(f"/v1/elicitations/{asked}/draft"),
        put(stranger, asked, "name", draft("Other")),
        stranger.patch(f"/v1/elicitations/{asked}", json={"message": "Mine"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert read(api, asked)["answers"]["name"]["value"] == "Atlas"


def test_only_a_form_has_a_draft_and_only_its_questions(api: httpx2.Client) -> None:
    other = api.post("/v1/elicitations", json=question(kind="confirm", params={})).json()["id"]
    for answer in (
        api.get(f"/v1/elicitations/{other}/draft"),
        put(api, other, "name", draft("x")),
        api.patch(f"/v1/elicitations/{other}", json={"message": "x"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert put(api, form(api), "nobody", draft("x")).status_code == 404


def test_a_flood_of_changes_is_held_back(api: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "DRAFT_CHANGES", RateLimit("draft", 3, 60))
    asked = form(api)
    answers = [put(api, asked, "name", draft("x" * size)) for size in range(1, 6)]
    assert [answer.status_code for answer in answers[:3]] == [200, 200, 200]
    assert (answers[-1].status_code, "retry-after" in answers[-1].headers) == (429, True)


def test_t125_so_is_one_that_goes_on_for_long(api: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "DRAFT_CHANGES_AN_HOUR", RateLimit("drafts", 3, 3600))
    asked = form(api)
    answers = [put(api, asked, "name", draft("x" * size)) for size in range(1, 6)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]


def test_what_is_over_its_time_cannot_be_written(api: httpx2.Client) -> None:
    asked = form(api)
    Elicitation.objects.filter(pk=asked).update(expires_at="2020-01-01T00:00:00Z")
    refused = put(api, asked, "name", draft("x"))
    assert (refused.status_code, "expired" in refused.json()["detail"]) == (409, True)


def test_who_waits_for_the_elicitation_hears_of_a_draft_and_gets_the_elicitation(
    api: httpx2.Client, described: Described
) -> None:
    asked = form(api)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(api.get, f"/v1/elicitations/{asked}", params={"wait": 20, "after_seq": 1})
        time.sleep(0.5)
        put(api, asked, "name", draft("Atlas"))
        told = waiting.result()
    described.check(told)
    assert told.json() == api.get(f"/v1/elicitations/{asked}").json()
    assert told.json()["seq"] == 2
