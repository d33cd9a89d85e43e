"""The service in a box: both shapes come up, can be killed, and come back."""

from __future__ import annotations

from tests.cast import DRIVE_BOT, PHOTO_BOT
from tests.support.box import Box


def test_either_shape_answers_its_agents(box: Box) -> None:
    for program in (DRIVE_BOT, PHOTO_BOT):
        answer = box.agent(program.slug).get("/v1/elicitations")
        assert answer.status_code == 200, answer.text
