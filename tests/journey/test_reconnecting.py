"""T29 in the pages: another account came back than was to be connected again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.journey.stage import Stage, form_post
from tests.support.http_user import HttpUser


@pytest.mark.parametrize(("press", "status"), [("both", "completed"), ("replace", "completed"), ("back", "started")])
def test_t29_the_person_is_asked_before_anything_changes(
    stage: Stage, new_http_user: Callable[..., HttpUser], press: str, status: str
) -> None:
    first = stage.ask()
    stage.complete(new_http_user(), first)
    was = stage.look(first)["result"]
    params = {"provider": first["params"]["provider"], "scopes": [], "connection": was["connection"]}
    asked = stage.ask(params=params, reuse="never")
    http_user = new_http_user()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert "Alice" in http_user.text
    with http_user.stopping_at(stage.drive.issuer):
        http_user.press("continue")
    http_user.follow()
    http_user.carry_on("bob", "allow")
    assert (http_user.page_name, http_user.page_status) == ("account_changed", "started")
    assert "Alice" in http_user.text
    assert "Bob" in http_user.text
    assert len(stage.connections()) == 1
    assert form_post(http_user, f"{asked['url']}/account", choice="all").status_code == 400
    http_user.press(press)
    assert stage.status(asked) == status
    if press == "back":
        assert http_user.page_name == "consent"
    else:
        assert stage.look(asked)["result"]["account"]["id"] == "bob"
        by_status = {one["account"]["id"]: one["status"] for one in stage.connections()}
        assert by_status == {"alice": "active" if press == "both" else "revoked", "bob": "active"}
