"""How old a sign-in may be, and when that counts."""

from __future__ import annotations

import time

from tests.journey.conftest import Doubles
from tests.journey.stage import Stage
from tests.support.http_user import HttpUser


def test_t8_a_slow_way_through_the_provider_does_not_undo_a_fresh_sign_in(
    stage: Stage, http_user: HttpUser, doubles: Doubles
) -> None:
    """The age counts when the button is pressed; the way back may take its ten minutes."""
    asked = stage.ask(iss=doubles.strict.url)
    doubles.strict.claims["auth_time"] = int(time.time()) - 57
    http_user.open(asked["url"])
    http_user.carry_on("signin")
    assert http_user.page_name == "consent"
    with http_user.stopping_at(stage.drive.issuer):
        http_user.press("continue")
    time.sleep(5)
    http_user.follow()
    http_user.carry_on("alice", "allow")
    assert stage.look(asked)["status"] == "completed"
