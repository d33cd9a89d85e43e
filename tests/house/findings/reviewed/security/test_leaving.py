"""L17: a session of any age took everything along, and had it deleted."""

from __future__ import annotations

from elicit_flows.models import Erasure
from tests.support import rows
from tests.web.test_room import browser


def test_t140_an_old_session_takes_nothing_along_and_deletes_nothing(committed: None) -> None:
    """These have signed in at the epoch, with which Unix began to count."""
    rows.agent()
    took = "attachment" in browser().get("/account/export").headers.get("content-disposition", "")
    browser().post("/account/delete")
    assert (took, Erasure.objects.exists()) == (False, False)
