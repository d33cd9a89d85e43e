"""Kind rating from the agent's question to its answer, alone and as a step."""

from __future__ import annotations

from tests.journey.stage import Stage
from tests.support.http_user import HttpUser


def test_a_rating_is_asked_for_and_given(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(kind="rating", params={"of": "The trip"})
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit")
    assert "Choose one to five stars." in http_user.text
    http_user.press("submit", stars="4")
    assert http_user.page_status == "completed"
    assert stage.look(asked)["result"] == {"stars": 4}


def test_it_may_be_a_step(stage: Stage, http_user: HttpUser) -> None:
    rating = {"kind": "rating", "params": {"of": "The trip"}}
    asked = stage.ask(kind="steps", params={"steps": [rating, {"kind": "confirm", "params": {}}]})
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit", stars="5")
    assert stage.look(asked)["result"]["steps"] == [{"kind": "rating", "result": {"stars": 5}}]
