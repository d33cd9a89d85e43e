"""Errors that a provider sends to the callback."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.journey.conftest import Doubles
from tests.journey.stage import Stage, changed
from tests.support.http_user import HttpUser

ENDS = {
    "access_denied": "declined",
    "invalid_scope": "failed",
    "unauthorized_client": "failed",
    "temporarily_unavailable": "started",
    "server_error": "started",
    "<script>": "failed",
}


@pytest.mark.parametrize(("error", "status"), ENDS.items(), ids=ENDS.keys())
def test_t33_what_the_provider_says_decides_how_it_ends(
    stage: Stage, http_user: HttpUser, doubles: Doubles, error: str, status: str
):
    asked = stage.ask(provider="bad")
    doubles.bad.decision = error
    http_user.connect(asked["url"], "alice")
    assert stage.status(asked) == status
    assert doubles.bad.calls["token"] == 0
    assert "<script>" not in http_user.answer.text
    stage.check_invariants(asked)
    if status == "started":
        assert (http_user.answer.status_code, http_user.page_name) == (409, "refused")
        doubles.bad.decision = None
        stage.complete(http_user, asked)


def test_t33_the_providers_words_are_shown_as_words(stage: Stage, http_user: HttpUser, doubles: Doubles):
    asked = stage.ask(provider="bad")
    callback = stage.answer(http_user, asked)
    said = "<svg onload=alert(1)>\u202e no"
    http_user.get(changed(callback, code=None, error="invalid_request", error_description=said))
    found = stage.look(asked)
    assert (found["status"], found["error"]["code"]) == ("failed", "provider_error")
    assert "\u202e" not in found["error"]["message"]
    http_user.open(asked["url"])
    assert "<svg onload" not in http_user.answer.text
    assert "&lt;svg onload=alert(1)&gt;" in http_user.answer.text


@pytest.mark.parametrize("both", ["&error=access_denied", "&code=second", "&error=a&error=b"])
def test_t33_an_answer_that_says_two_things_says_nothing(stage: Stage, http_user: HttpUser, both: str):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    stage.refuses(http_user, callback + both)
    assert stage.status(asked) == "started"
    assert dict(parse_qsl(urlsplit(callback).query))["code"]
