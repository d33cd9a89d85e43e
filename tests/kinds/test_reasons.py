"""T221: why an agent needs a scope is said in its own words, which nobody takes for ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from elicit_flows import elicitations
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json, Question
from elicit_flows.kinds.oauth import params
from tests.doubles.policy import loopback_allowed
from tests.support import rows
from tests.support.rows import ALICE_CLAIM
from tests.web.samples import Page
from tests.web.test_room import browser

WHY = "<b>To find</b> the contract with Globex."


@pytest.fixture(autouse=True)
def loopback() -> Iterator[None]:
    with loopback_allowed():
        yield


@pytest.mark.parametrize(
    ("reasons", "at"),
    [
        ({"files.write": "It is not asked for."}, ["params", "reasons", "files.write"]),
        ({"files.read": "two\nlines"}, ["params", "reasons", "files.read"]),
        ({"files.read": "hid\u200bden"}, ["params", "reasons", "files.read"]),
        ({"files.read": "turned \u202eround"}, ["params", "reasons", "files.read"]),
        ({"files.read": "x" * 201}, ["params", "reasons", "files.read"]),
        ({"files.read": ""}, ["params", "reasons", "files.read"]),
        ({"files.read": 1}, ["params", "reasons", "files.read"]),
        (["files.read"], ["params", "reasons"]),
    ],
)
def test_t221_a_reason_is_one_visible_line_for_a_scope_that_is_asked_for(reasons: object, at: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        params.clean({"provider": "drive", "scopes": ["files.read"], "reasons": reasons})
    assert [one["loc"] for one in refused.value.errors] == [at]


def test_t221_it_stands_below_its_scope_as_the_agents_words(committed: None) -> None:
    rows.provider()
    asked: Json = {"provider": "drive", "scopes": ["files.read", "files.list"], "reasons": {"files.read": WHY}}
    question = Question(claim=ALICE_CLAIM, kind="oauth", message="Connect your drive.", params=asked)
    row, _ = elicitations.create(rows.agent("bot").row, question)
    assert row.params["reasons"] == {"files.read": WHY}
    html = browser().get(f"/c/{row.pk}").text
    quotes = [one.split("</figure>")[0] for one in html.split('<figure class="quote">')[1:]]
    [quote] = [one for one in quotes if "contract" in one]
    assert "Bot</bdi> says" in quote
    assert "&lt;b&gt;To find" in quote
    assert html.index("files.read") < html.index(quote) < html.index("files.list")
    assert Page(html).text().count("contract with Globex") == 1
