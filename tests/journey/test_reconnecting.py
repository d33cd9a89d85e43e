"""T29 in the pages: the person connected another account than the one that was to be connected again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.journey.conftest import Doubles
from tests.journey.stage import Stage, form_post
from tests.support.http_user import HttpUser


@pytest.mark.slow
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


def connect_unnamed(stage: Stage, http_user: HttpUser, doubles: Doubles, **asked: object) -> dict[str, object]:
    """To where the double, which does not say whose account it is, sends them back to."""
    doubles.bad.opens, doubles.bad.user = False, {"plan": "free"}
    row = stage.ask(provider="bad", reuse="never", **asked)
    http_user.connect(row["url"], "alice")
    return row


@pytest.mark.slow
@pytest.mark.parametrize("press", ["same", "both", "replace", "back"])
def test_t137_where_no_account_is_named_the_person_is_asked_which_it_is(
    stage: Stage, new_http_user: Callable[..., HttpUser], doubles: Doubles, press: str
) -> None:
    first = connect_unnamed(stage, new_http_user(), doubles)
    was = stage.look(first)["result"]
    assert was["account"] is None
    token = stage.token(first).json()["access_token"]
    http_user = new_http_user()
    asked = connect_unnamed(stage, http_user, doubles)
    assert (http_user.page_name, http_user.page_status) == ("account_unknown", "started")
    assert "does not say which account it is" in http_user.text
    assert stage.token(first).json()["access_token"] == token, "nothing has changed"
    assert form_post(http_user, f"{asked['url']}/account", choice="same").status_code == 409
    http_user.open(str(asked["url"]))
    http_user.press(press)
    by_status = [one["status"] for one in stage.connections()]
    if press == "back":
        assert (http_user.page_name, stage.status(asked), by_status) == ("consent", "started", ["active"])
    else:
        became = stage.look(asked)["result"]
        assert stage.status(asked) == "completed"
        assert (became["connection"] == was["connection"]) == (press == "same")
        assert (
            sorted(by_status) == {"same": ["active"], "both": ["active"] * 2, "replace": ["active", "revoked"]}[press]
        )


def test_two_of_no_name_stand_at_account_with_when_they_were_connected(
    stage: Stage, new_http_user: Callable[..., HttpUser], doubles: Doubles
) -> None:
    connect_unnamed(stage, new_http_user(), doubles)
    http_user = new_http_user()
    connect_unnamed(stage, http_user, doubles)
    http_user.press("both")
    http_user.open(f"{stage.box.url}/account")
    assert http_user.text.count("The account that you connected on") >= 2
    assert all(one["label"].startswith("connected on ") for one in stage.connections())
