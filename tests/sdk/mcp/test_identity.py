"""Who is asked: the user whom the verified access token names, and nobody else.

The cases are numbered as in docs/explanation/conformance.md.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.domain.status import Status
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Legacy, Modern, text
from tests.sdk.mcp.test_cases import link, name_in

PEOPLE = {
    "alice": ["desk", "alice"], "alice elsewhere": ["phone", "alice"], "bob": ["desk", "bob"],
    "a program": ["robot", "robot"], "nobody": ["desk", None],
}  # fmt: skip


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools], elicit_box: Service) -> Tools:
    settings = {"hold": 1.5, "rounds": 3}
    return new_tools(user=None, people=PEOPLE, issuer=elicit_box.sandbox_url, settings=settings)


@pytest.mark.slow
def test_each_caller_is_asked_for_themselves(tools: Tools, alice: ScriptedUser, bob: ScriptedUser) -> None:
    asked = {name: Modern(tools.url, name).call("wipe") for name in ("alice", "bob")}
    bob.open(link(asked["alice"]))
    assert "submit" not in bob.page.forms, "the link is not his"
    alice.submit(link(asked["alice"]))
    assert text(Modern(tools.url, "alice").retry(asked["alice"], "wipe")) == "done: wiped a"
    later = Modern(tools.url, "bob").retry(asked["bob"], "wipe")
    assert later["result"]["resultType"] == "input_required"


def test_case_13_a_state_is_good_for_who_it_was_given_to_alone(
    tools: Tools, alice: ScriptedUser, elicit_box: Service
) -> None:
    asked = Modern(tools.url, "alice").call("burn")
    alice.submit(link(asked))
    for other in ("bob", "alice elsewhere"):
        error = Modern(tools.url, other).retry(asked, "burn")["error"]
        assert (error["code"], error["message"]) == (-32602, "Invalid or expired requestState")
    with elicit_box.sync_elicit() as elicit:
        assert elicit.get(name_in(link(asked))).status == Status.COMPLETED
        assert elicit.get(name_in(link(asked))).consumed_at is None
    assert text(Modern(tools.url, "alice").retry(asked, "burn")) == "done: burnt a"


def test_case_13_the_same_user_under_another_issuer_is_another(
    new_tools: Callable[..., Tools], tools: Tools, alice: ScriptedUser, elicit_box: Service
) -> None:
    asked = Modern(tools.url, "alice").call("burn", {"disk": "b"})
    alice.submit(link(asked))
    elsewhere = new_tools(user=None, people=PEOPLE, issuer="https://elsewhere.test")
    assert Modern(elsewhere.url, "alice").retry(asked, "burn", {"disk": "b"})["error"]["code"] == -32602


def test_two_clients_of_one_user_are_asked_apart(tools: Tools) -> None:
    links = {link(Modern(tools.url, name).call("wipe", {"disk": "own"})) for name in ("alice", "alice elsewhere")}
    assert len(links) == 2


@pytest.mark.parametrize("token", ["a program", "nobody"])
def test_case_25_a_caller_that_is_no_person_is_refused(tools: Tools, token: str) -> None:
    answer = Modern(tools.url, token).call("wipe")
    assert answer["result"]["isError"] is True
    assert "names no user" in text(answer)
    session = Legacy(tools.url, token=token)
    assert "names no user" in text(session.call("wipe"))
    assert session.asked == []
    assert "plain" in text(session.call("plain")), "what asks nobody runs for everybody"


def test_case_25_without_a_token_nobody_is_asked(new_tools: Callable[..., Tools]) -> None:
    open_to_all = new_tools(user=None)
    answer = Modern(open_to_all.url).call("wipe")
    assert answer["result"]["isError"] is True
    assert "not signed in" in text(answer)
