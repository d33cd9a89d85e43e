"""An agent's own note on an elicitation: merged, encrypted, readable by this agent only, deleted after a day."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import httpx2
import pytest

from elicit_flows.jobs.purge import purge
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Event
from tests.support.rows import question

SECRET = "what the tool said"


@pytest.fixture
def noted(api: httpx2.Client) -> str:
    """The path of a note that holds a secret."""
    asked = api.post("/v1/elicitations", json=question()).json()["id"]
    path = f"/v1/elicitations/{asked}/note"
    assert api.get(path).json() == {"object": "note", "elicitation": asked, "note": {}}
    change(api, path, {"result": SECRET})
    return path


def change(api: httpx2.Client, path: str, members: object) -> httpx2.Response:
    return api.patch(path, json={"note": members})


def held(api: httpx2.Client, path: str) -> object:
    return api.get(path).raise_for_status().json()["note"]


def test_what_is_not_named_stays_and_null_takes_out(api: httpx2.Client, noted: str) -> None:
    assert change(api, noted, {"at": "el_2", "call": "{}"}).json()["note"] == {
        "result": SECRET, "at": "el_2", "call": "{}",
    }  # fmt: skip
    change(api, noted, {"call": None, "never was": None})
    assert held(api, noted) == {"result": SECRET, "at": "el_2"}


def test_of_two_that_note_at_once_none_undoes_the_other(api: httpx2.Client, noted: str) -> None:
    names = [f"of {number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        assert all(answer.is_success for answer in pool.map(lambda name: change(api, noted, {name: "1"}), names))
    assert held(api, noted) == {"result": SECRET, **dict.fromkeys(names, "1")}


def test_t76_it_is_sealed_and_nobody_else_is_told(api: httpx2.Client, noted: str) -> None:
    row = Elicitation.objects.get()
    assert row.note.startswith("v1.")
    assert SECRET not in row.note
    assert (row.seq, Event.objects.count()) == (1, 1), "nothing happened to the user"
    told = [api.get(path).text for path in (noted.removesuffix("/note"), "/v1/elicitations", "/v1/events")]
    assert not [text for text in told if SECRET in text or '"note"' in text]


def test_t76_a_note_copied_onto_another_elicitation_opens_nothing(api: httpx2.Client, noted: str) -> None:
    other = api.post("/v1/elicitations", json=question()).json()["id"]
    Elicitation.objects.filter(pk=other).update(note=Elicitation.objects.get(pk=noted.split("/")[3]).note)
    assert api.get(f"/v1/elicitations/{other}/note").status_code == 503


def test_it_is_kept_for_a_day_after_the_end(api: httpx2.Client, noted: str) -> None:
    api.post(noted.replace("/note", "/cancel")).raise_for_status()
    for hours, left in ((23, {"result": SECRET}), (25, {})):
        Elicitation.objects.update(finished_at=clock.now() - timedelta(hours=hours))
        purge()
        assert held(api, noted) == left


def test_that_of_an_open_question_stays(api: httpx2.Client, noted: str) -> None:
    Elicitation.objects.update(created_at=clock.now() - timedelta(days=29))
    purge()
    assert held(api, noted) == {"result": SECRET}


@pytest.mark.parametrize("members", [{"a": 1}, {"a": {"b": "c"}}, ["a"], "a", None])
def test_members_are_texts(api: httpx2.Client, noted: str, members: object) -> None:
    answer = change(api, noted, members)
    assert (answer.status_code, answer.json()["errors"][0]["loc"][0]) == (422, "note")
    assert held(api, noted) == {"result": SECRET}


def test_it_has_128_kib_in_all(api: httpx2.Client, noted: str) -> None:
    long = "x" * 60_000
    assert [change(api, noted, {name: long}).status_code for name in "abc"] == [200, 200, 422]
    assert held(api, noted) == {"result": SECRET, "a": long, "b": long}
    assert "131072 bytes" in change(api, noted, {"c": long}).json()["detail"]
