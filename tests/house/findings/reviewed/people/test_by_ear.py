"""D13, D15 and D21: what somebody who hears the pages, or sees them in colours of their own, is not told."""

from __future__ import annotations

from typing import Any

from tests.journey.stage import Stage
from tests.journey.test_accessibility import Reader, _sign_in
from tests.support.http_user import HttpUser

FOCUSED = "document.activeElement.tagName + ' ' + document.activeElement.getAttribute('role')"
BORDER = "one => { const s = getComputedStyle(one); return s.borderStyle + ' ' + s.borderWidth; }"


def test_pages_of_forms_are_accessible_and_lead_to_what_was_wrong(
    stage: Stage, reader: Reader, http_user: HttpUser
) -> None:
    """After a refused answer the focus is on the body, and what was wrong is read only by whoever looks for it."""
    _sign_in(stage, http_user, reader, "alice")
    question = {"id": "ref", "kind": "text", "message": "Reference", "required": True}
    reader.user.open(stage.ask(kind="form", params={"questions": [question]})["url"])
    reader.user.press("submit")
    reader.look("form")
    assert reader.user.page.evaluate(FOCUSED).endswith(" alert")


def test_pages_after_an_answer_are_accessible(stage: Stage, reader: Reader, http_user: HttpUser) -> None:
    """Who disconnects an account is back at the top of the list, and nothing says that it was done."""
    asked = stage.ask()
    stage.complete(http_user, asked)
    _sign_in(stage, http_user, reader, "alice")
    [held] = stage.connections()
    reader.user.open(f"{stage.box.url}/account/connections/{held['id']}")
    reader.user.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    reader.user.press("revoke")
    assert stage.agent.get("/v1/connections").json()["data"][0]["status"] == "revoked"
    assert reader.user.page.get_by_role("status").count() == 1
    assert reader.user.page.evaluate(FOCUSED).endswith(" status")


def test_buttons_and_warnings_are_told_apart_in_forced_colours(
    stage: Stage, reader: Reader, http_user: HttpUser
) -> None:
    _sign_in(stage, http_user, reader, "alice")
    page: Any = reader.user.page
    page.emulate_media(forced_colors="active")
    reader.user.open(stage.ask(kind="confirm", params={"danger": True, "confirm_label": "Delete"})["url"])
    yes, no, warning = (
        page.eval_on_selector(one, BORDER) for one in (".danger", "[data-action=decline] button", ".warning")
    )
    assert yes != no, "the button that deletes looks like the one beside it"
    assert warning.startswith("solid"), "what cannot be undone has no box"
