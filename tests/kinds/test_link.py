"""Kind link passes the contract of every kind. Only a page that leads back here is told the address."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows import kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Answer, Claim, Finish, Json, Leave, Visit
from tests.doubles.policy import loopback_allowed
from tests.kinds.contract import KindContract

LINK = kinds.get("link")
PAGE = "https://agent.example/terms?a=1#two"
BACK = "https://flows.example/callback/link"


def visit(url: str = PAGE, completion: str = "on_return") -> Visit:
    asked = LINK.clean({"url": url, "completion": completion})
    return Visit("el_1", Claim("https://idp.test", "alice"), asked, None, BACK, state="s&t")


class TestLink(KindContract):
    name = "link"
    good: list[tuple[Json, Json]] = [
        ({"url": PAGE, "completion": "on_return"}, {"url": PAGE, "completion": "on_return"}),
        (
            {"url": "https://x.example:9000/", "completion": "by_agent"},
            {"url": "https://x.example:9000/", "completion": "by_agent"},
        ),
    ]
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({}, [["params", "url"], ["params", "completion"]]),
        ({"url": PAGE, "completion": "later"}, [["params", "completion"]]),
        *[
            ({"url": url, "completion": "by_agent"}, [["params", "url"]])
            for url in (
                None, 7, "", "x", "/c/el_1", "//evil.example", "javascript:alert(1)", "data:text/html,x", "ftp://x.example",
                "http://agent.example", "http://127.0.0.1:8000/", "https://", "https:///x", "https://u:p@agent.example/",
                "https://user@agent.example/", "https://agent.example\\@evil.example", "https://a b.example", "https://[::1",
                "https://agent.example/\n", "https://agent.example/" + "x" * 2000,
            )
        ],
    ]  # fmt: skip

    @pytest.fixture
    def visit(self) -> Visit:
        return visit()


def test_a_page_that_leads_back_is_told_where_to_and_nothing_else_of_its_address_changes() -> None:
    step = LINK.begin(visit())
    assert isinstance(step, Leave)
    parts = urlsplit(step.url)
    assert (parts.netloc, parts.path, parts.fragment) == ("agent.example", "/terms", "two")
    assert parse_qs(parts.query) == {"a": ["1"], "elicit_return": [f"{BACK}?state=s%26t"]}
    assert LINK.resume(visit(), Answer({"state": ["s"]})) == Finish("completed", result={})


def test_a_page_whose_end_the_agent_sees_is_told_nothing() -> None:
    assert LINK.begin(visit(completion="by_agent")) == Leave(PAGE, {})


def test_a_name_that_imitates_another_is_warned_of() -> None:
    said = LINK.describe(LINK.clean({"url": "https://exаmple.com/", "completion": "by_agent"}), None)
    assert said["host"].startswith("xn--")
    assert said["host_warning"]


def test_addresses_of_this_machine_are_for_development() -> None:
    near = {"url": "http://127.0.0.1:8000/x", "completion": "by_agent"}
    with pytest.raises(Invalid):
        LINK.clean(near)
    with loopback_allowed():
        assert LINK.clean(near) == near
