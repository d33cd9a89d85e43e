"""What is told of an elicitation that somebody else has changed after it was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from elicit_flows import elicitations
from elicit_flows.domain.errors import WrongUser
from elicit_flows.domain.values import Claim
from elicit_flows.elicitations import outcomes, transitions
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation
from tests.support.rows import question

Json = dict[str, Any]
ENDS: dict[str, Callable[[Elicitation], object]] = {
    "cancelled": elicitations.cancel,
    "declined": lambda row: elicitations.decline(row.pk, row.claim),
    "expired": elicitations.expire,
}


def form(*names: str) -> Json:
    return {"schema": {"type": "object", "properties": {name: {"type": "string"} for name in names}}}


def told(api: httpx2.Client) -> Json:
    """The data of the newest event."""
    return dict(api.get("/v1/events").json()["data"][-1]["data"])


@pytest.mark.parametrize("status", ENDS)
def test_the_end_of_a_form_that_was_just_changed_tells_what_was_asked(
    api: httpx2.Client, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    asked = api.post("/v1/elicitations", json=question(kind="form", params=form("plan"))).json()["id"]
    row = Elicitation.objects.select_related("agent").get(pk=asked)
    changed = api.patch(f"/v1/elicitations/{asked}", json={"message": "Or so?", "params": form("plan", "seats")})
    assert changed.status_code == 200, changed.text
    if status == "expired":
        row.expires_at = clock.now()
        Elicitation.objects.filter(pk=asked).update(expires_at=row.expires_at)
    monkeypatch.setattr(outcomes, "find_for", lambda *_: row)
    ENDS[status](row)
    now = api.get(f"/v1/elicitations/{asked}").json()
    assert (now["status"], now["message"], list(now["params"]["schema"]["properties"])) == (
        status, "Or so?", ["plan", "seats"],
    )  # fmt: skip
    assert told(api) == now
    assert row.snapshot() == now


def test_other_words_keep_the_questions_that_were_just_changed(api: httpx2.Client) -> None:
    made = question(kind="form", params=form("plan") | {"shared": True})
    asked = api.post("/v1/elicitations", json=made).json()["id"]
    row = Elicitation.objects.select_related("agent").get(pk=asked)
    api.patch(f"/v1/elicitations/{asked}", json={"params": form("plan", "seats")})
    said = {"answer": {"state": "submitted", "value": "two"}}
    assert api.put(f"/v1/elicitations/{asked}/draft/seats", json=said).status_code == 200
    elicitations.ask_again(row, "Or so?", None)
    now = api.get(f"/v1/elicitations/{asked}").json()
    assert (now["message"], list(now["params"]["schema"]["properties"])) == ("Or so?", ["plan", "seats"])
    assert api.get(f"/v1/elicitations/{asked}/draft").json()["answers"]["seats"]["value"] == "two"


def test_a_refusal_tells_the_result_that_came_meanwhile(api: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = api.post(
        "/v1/elicitations",
        json=question(kind="link", params={"url": "https://example.com", "completion": "by_agent"}),
    ).json()["id"]
    row = Elicitation.objects.select_related("agent").get(pk=asked)
    assert api.post(f"/v1/elicitations/{asked}/complete").status_code == 200
    monkeypatch.setattr(transitions, "find", lambda _: row)
    with pytest.raises(WrongUser):
        transitions.find_for(asked, Claim(row.iss, "somebody-else"))
    now = api.get(f"/v1/elicitations/{asked}").json()
    assert (now["status"], now["result"]) == ("completed", {})
    assert told(api) == now


def test_whoever_completes_the_last_step_again_is_told_that_it_is_over(api: httpx2.Client) -> None:
    link = {"kind": "link", "params": {"url": "https://example.com/terms", "completion": "by_agent"}}
    asked = api.post("/v1/elicitations", json=question(kind="steps", params={"steps": [link, link]})).json()["id"]
    answers = [api.post(f"/v1/elicitations/{asked}/complete") for _ in range(3)]
    assert [one.json().get("status") for one in answers] == ["started", "completed", 409]
    assert answers[2].json()["code"] == "already_over"
    assert "completed already" in answers[2].json()["detail"]
