"""What a call says, and whose an answer is, on both majors and in both eras: as in Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Json, Legacy, Modern, text
from tests.sdk.mcp.test_cases import _nothing_ran_before, called, link, link_in, name_in, played  # noqa: F401
from tests.sdk.mcp.test_outcomes import (  # noqa: F401
    MARK,
    lost,
    mark,
    test_a_client_that_wants_to_know_hears_that_the_call_goes_on,
    test_all_guards_of_a_call_share_its_time,
    test_t142_a_service_that_is_away_is_said_without_its_address,
    test_t142_neither_is_what_a_tool_asks_of_it_itself,
    test_the_second_of_two_calls_with_one_answer_is_told_not_to_call_again,
    test_what_runs_has_no_mark,
    test_who_declined_is_not_asked_again_by_the_same_call_for_a_while,
    tools,
)
from tests.sdk.mcp.test_servers import (  # noqa: F401
    crm,
    payroll,
    test_a_name_in_the_settings_is_the_servers,
    test_t122_a_yes_to_one_server_runs_no_other_servers_tool,
    test_t122_another_client_of_the_same_user_is_asked_anew,
    test_two_processes_of_one_server_ask_the_same_question,
)
from tests.sdk.typescript.mcp.conftest import Built

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]

# The major, and whether the client is of the newer era, which 1.x does not know.
LIBRARIES = {"1": (1, False), "2-older": (2, False), "2-newer": (2, True)}
# Whether an output schema leaves no room for the mark. Who said no to the first two is not asked again at once.
TOOLS = {"wipe": False, "as_model": True, "burn": False, "as_dict": True}


@pytest.fixture(scope="module", params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> tuple[int, bool]:
    return LIBRARIES[request.param]


@pytest.fixture(scope="module")
def program(built: Built, library: tuple[int, bool]) -> list[str]:
    return built.program(library[0])


@pytest.fixture
def newer(library: tuple[int, bool]) -> bool:
    return library[1]


def check(answer: Json, tool: str, verdict: str) -> Json:
    """The mark of a result that says ``verdict`` in all the ways that its tool leaves it."""
    result, marked = answer["result"], mark(answer)
    assert text(answer).startswith(f"{verdict}: ")
    assert marked["outcome"] == verdict
    assert result.get("isError", False) is TOOLS[tool]
    assert result.get("structuredContent") == (None if TOOLS[tool] else marked)
    return marked


@pytest.mark.parametrize("tool", ["wipe", "as_model"])
def test_a_program_reads_how_a_call_ended(tools: Tools, alice: ScriptedUser, newer: bool, tool: str) -> None:  # noqa: F811
    first = called(tools, newer, tool, can={})
    url = link_in(text(first))
    assert check(first, tool, "waiting") == {"outcome": "waiting", "elicitation": name_in(url), "url": url}
    alice.decline(url)
    assert check(called(tools, newer, tool, can={}), tool, "declined")["elicitation"] == name_in(url)
    assert tools.ran == []


@pytest.mark.parametrize("tool", ["burn", "as_dict"])
def test_a_program_reads_that_it_was_taken_back(tools: Tools, newer: bool, tool: str) -> None:  # noqa: F811
    if newer:
        asked = Modern(tools.url).call(tool)
        no = {key: {"action": "cancel"} for key in asked["result"]["inputRequests"]}
        answer = Modern(tools.url).retry(asked, tool, inputResponses=no)
    else:
        answer = Legacy(tools.url).call(tool, action="cancel")
    assert check(answer, tool, "cancelled")["reason"] == "cancelled"


# Who is asked, and by whom.

PEOPLE = {
    "alice": ["desk", "alice"], "alice elsewhere": ["phone", "alice"], "bob": ["desk", "bob"],
    "a program": ["robot", "robot"], "nobody": ["desk", None],
}  # fmt: skip


@pytest.fixture(scope="module")
def many(new_tools: Callable[..., Tools], elicit_box: Service) -> Tools:
    return new_tools(user=None, people=PEOPLE, issuer=elicit_box.sandbox_url, settings={"hold": 1.5})


def said(server: Tools, newer: bool, token: str) -> str:
    if newer:
        modern = Modern(server.url, token)
        return text(modern.call("wipe", can={}))
    return text(Legacy(server.url, {}, token=token).call("wipe"))


def test_each_caller_is_asked_for_themselves(many: Tools, alice: ScriptedUser, bob: ScriptedUser, newer: bool) -> None:
    links = {name: link_in(said(many, newer, name)) for name in ("alice", "alice elsewhere", "bob")}
    assert len(set(links.values())) == 3
    bob.open(links["alice"])
    assert "submit" not in bob.page.forms, "the link is not his"
    alice.submit(links["alice"])
    assert said(many, newer, "alice") == "done: wiped a"
    for other in ("alice elsewhere", "bob"):
        assert link_in(said(many, newer, other)) == links[other]


def test_the_author_may_read_the_user_from_elsewhere(
    new_tools: Callable[..., Tools], elicit_box: Service, bob: ScriptedUser, newer: bool
) -> None:
    owned = new_tools(user=None, people=PEOPLE, issuer=elicit_box.sandbox_url, owners=True)
    bob.submit(link_in(said(owned, newer, "alice")))
    assert said(owned, newer, "alice") == "done: wiped a"


@pytest.mark.parametrize("token", ["a program", "nobody"])
def test_case_25_a_caller_that_is_no_person_is_refused(many: Tools, newer: bool, token: str) -> None:
    assert said(many, newer, token).startswith("refused: ")
    assert "names no user" in said(many, newer, token)


def test_case_25_without_a_token_nobody_is_asked(new_tools: Callable[..., Tools], newer: bool) -> None:
    answer = called(new_tools(user=None), newer, "wipe")
    assert answer["result"]["isError"] is True
    assert "not signed in" in text(answer)


@pytest.mark.parametrize("name", ["", None])
def test_t122_a_server_without_a_name_asks_nobody_until_it_has_one(
    new_tools: Callable[..., Tools], newer: bool, name: str | None
) -> None:
    nameless = new_tools(name=name)
    answer = called(nameless, newer, "wipe")
    assert answer["result"]["isError"] is True
    assert text(answer).startswith("refused: This server has no name")
    assert nameless.ran == []


def test_a_guard_that_does_not_know_its_tools_name_asks_nobody(tools: Tools, newer: bool) -> None:  # noqa: F811
    answer = called(tools, newer, "unnamed")
    assert answer["result"]["isError"] is True
    assert "flows.registerTool" in text(answer)
    assert tools.ran == []


def test_t158_a_yes_to_some_arguments_is_none_to_others_that_json_has_no_form_for(
    tools: Tools,  # noqa: F811
    alice: ScriptedUser,
    newer: bool,
) -> None:
    """As a schema may make them: sets, and instances of classes whose contents cannot be read."""
    one, other = ({"names": [f"{name} {newer}"]} for name in ("one", "other"))
    alice.submit(link_in(text(called(tools, newer, "named", one, can={}))))
    assert text(called(tools, newer, "named", other, can={})).startswith("waiting:")
    assert text(called(tools, newer, "named", one, can={})) == f"done: named one {newer}"
    refused = called(tools, newer, "hidden", {"name": "one"}, can={})
    assert mark(refused) == {"outcome": "refused", "reason": "arguments"}
    assert tools.ran == [f"named one {newer}"]
