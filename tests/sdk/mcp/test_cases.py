"""What an MCP client of either era sees of a guarded tool, message by message.

The cases are numbered as in docs/explanation/conformance.md.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx2
import pytest

from elicit_flows.domain.status import Status
from elicit_flows.sdk import Elicitation, SyncElicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import OLD, URL, Json, Legacy, Modern, text
from tests.support.machine import within

pytestmark = pytest.mark.slow

NOTHING: list[Json] = [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}]


@pytest.fixture(scope="module")
def tools(new_tools: Callable[..., Tools]) -> Tools:
    """For alice alone; a call waits a second and a half for her, four times."""
    return new_tools(settings={"hold": 1.5, "rounds": 4, "ask_again_after": 0})


@pytest.fixture(autouse=True)
def _nothing_ran_before(tools: Tools) -> None:
    assert tools.ran is not None


@pytest.fixture
def elicit(elicit_box: Service) -> Iterator[SyncElicit]:
    with elicit_box.sync_elicit() as client:
        yield client


def link(answer: Json) -> str:
    assert "inputRequests" in answer["result"], answer
    (asked,) = answer["result"]["inputRequests"].values()
    return str(asked["params"]["url"])


def link_in(words: str) -> str:
    return next(word for word in words.split() if word.startswith("http"))


def called(tools: Tools, newer: bool, tool: str, arguments: Json | None = None, *, can: Json = URL) -> Json:
    """The first answer, whether anything was asked or not."""
    return Modern(tools.url).call(tool, arguments, can=can) if newer else Legacy(tools.url, can).call(tool, arguments)


def played(tools: Tools, newer: bool, tool: str, then: Callable[[str], object], arguments: Json | None = None) -> Json:
    """The last answer, where the user did ``then`` with each link."""
    if not newer:
        return Legacy(tools.url).call(tool, arguments, then=then)
    modern = Modern(tools.url)
    answer = modern.call(tool, arguments)
    while "inputRequests" in answer["result"]:
        then(link(answer))
        answer = modern.retry(answer, tool, arguments)
    return answer


def name_in(url: str) -> str:
    return url.rpartition("/")[2]


def seen(elicit: SyncElicit, url: str) -> Elicitation:
    return elicit.get(name_in(url))


# The older era.


def test_case_1_what_is_pushed_has_its_four_members_and_an_id_of_its_own(tools: Tools, alice: ScriptedUser) -> None:
    session = Legacy(tools.url)
    for disk in ("one", "two"):
        session.call("wipe", {"disk": disk}, then=alice.submit)
    assert [set(asked) for asked in session.asked] == [{"mode", "message", "url", "elicitationId"}] * 2
    ids = [asked["elicitationId"] for asked in session.asked]
    assert len(set(ids)) == 2
    assert all(len(one.removeprefix("el_")) >= 22 for one in ids), "128 bits in base64url"
    assert tools.ran == ["wiped one", "wiped two"]


def test_case_2_and_7_a_refusal_names_all_that_is_needed_and_a_plain_retry_succeeds_afterwards(
    new_tools: Callable[..., Tools], alice: ScriptedUser
) -> None:
    refusing = new_tools(settings={"push": False})
    session = Legacy(refusing.url)
    error = session.call("both")["error"]
    OLD.check("URLElicitationRequiredError", {"jsonrpc": "2.0", "id": 1, "error": error})
    assert error["code"] == -32042
    form, confirm = (one["url"] for one in error["data"]["elicitations"])
    alice.submit(form, plan="pro")
    again = session.call("both")["error"]["data"]["elicitations"]
    assert [one["url"] for one in again] == [confirm]
    alice.submit(confirm)
    assert text(session.call("both")) == "done: form confirm"
    assert refusing.ran == ["form confirm"]


@pytest.mark.parametrize("can", NOTHING)
def test_case_3_a_client_that_opens_no_links_gets_it_in_words(
    tools: Tools, alice: ScriptedUser, can: Json, newer: bool
) -> None:
    disk = {"disk": json.dumps(can)}
    told = text(called(tools, newer, "wipe", disk, can=can))
    assert told.startswith("waiting:")
    alice.submit(link_in(told))
    assert text(called(tools, newer, "wipe", disk, can=can)).startswith("done:")


def test_of_the_same_user_both_eras_ask_the_same_question(tools: Tools) -> None:
    session, modern = Legacy(tools.url, {}), Modern(tools.url)
    assert text(session.call("wipe", {"disk": "same"})) == text(modern.call("wipe", {"disk": "same"}, can={}))
    assert session.asked == []


@pytest.fixture(scope="module")
def strict(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools(settings={"otherwise": "refuse"})


@pytest.mark.parametrize("can", NOTHING)
def test_case_3_or_the_call_is_refused(strict: Tools, can: Json, newer: bool) -> None:
    if newer:
        modern = Modern(strict.url)
        error = modern.call("wipe", can=can)["error"]
        assert (modern.status, error["code"]) == (400, -32021)
        assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}
    else:
        answer = called(strict, newer, "wipe", can=can)
        assert answer["result"]["isError"] is True
        assert "url mode" in text(answer)


@pytest.fixture(scope="module")
def knowing(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools(settings={"clients": {"shy": "url", "boastful": "link"}})


def test_a_client_that_can_more_or_less_than_it_declares_is_known_by_its_name(knowing: Tools, newer: bool) -> None:
    if newer:
        modern = Modern(knowing.url)
        assert modern.call("wipe", can={}, name="shy")["result"]["resultType"] == "input_required"
        assert text(modern.call("wipe", name="boastful")).startswith("waiting:")
    else:
        shy, boastful = Legacy(knowing.url, {}, name="shy"), Legacy(knowing.url, name="boastful")
        shy.call("wipe", {"disk": "shy"}, action="cancel")
        assert text(boastful.call("wipe")).startswith("waiting:")
        assert (len(shy.asked), len(boastful.asked)) == (1, 0)


def test_case_4_what_a_client_can_is_read_from_each_request(tools: Tools) -> None:
    modern = Modern(tools.url)
    assert modern.call("wipe")["result"]["resultType"] == "input_required"
    assert text(modern.call("wipe", can={})).startswith("waiting:")


def test_case_5_to_agree_to_open_a_link_is_not_to_have_done_it(tools: Tools, elicit: SyncElicit) -> None:
    session = Legacy(tools.url)
    assert text(session.call("wipe", {"disk": "agreed"})).startswith("waiting:")
    assert seen(elicit, session.asked[0]["url"]).status == Status.PENDING
    assert tools.ran == []


def test_case_6_the_notification_comes_once_and_only_to_who_was_asked(tools: Tools, alice: ScriptedUser) -> None:
    asker, other = Legacy(tools.url), Legacy(tools.url)
    assert text(asker.call("wipe", {"disk": "told"})).startswith("waiting:")
    url = asker.asked[0]["url"]
    ears = [threading.Thread(target=one.listen, args=(within(2),)) for one in (asker, other)]
    for ear in ears:
        ear.start()
    alice.submit(url)
    for ear in ears:
        ear.join()
    assert text(asker.call("wipe", {"disk": "told"})) == "done: wiped told"
    asker.listen(0.5)
    told = {"method": "notifications/elicitation/complete", "params": {"elicitationId": name_in(url)}}
    assert asker.told == [{"jsonrpc": "2.0", **told}]
    assert other.told == []


def test_case_6_within_a_call_it_comes_before_the_answer(tools: Tools, alice: ScriptedUser) -> None:
    session = Legacy(tools.url)
    assert text(session.call("wipe", {"disk": "at once"}, then=alice.submit)).startswith("done:")
    assert [one["params"]["elicitationId"] for one in session.told] == [session.asked[0]["elicitationId"]]


def test_case_8_called_again_it_is_the_same_question_until_that_expires(tools: Tools, elicit_box: Service) -> None:
    session = Legacy(tools.url, {})
    asked = {text(session.call("delete", {"size": 80})) for _ in range(3)}
    assert len(asked) == 1
    assert text(session.call("delete", {"size": 5})) == "done: deleted 5", "of which nothing is asked"
    (told,) = asked
    elapse(elicit_box, name_in(link_in(told)))
    assert text(session.call("delete", {"size": 80})) not in asked


def elapse(service: Service, elicitation: str) -> None:
    """Its time is over."""
    with closing(sqlite3.connect(service._home / "elicit.sqlite3", timeout=20)) as lite, lite:
        past = "UPDATE elicit_flows_elicitation SET expires_at = '2020-01-01 00:00:00' WHERE id = ?"
        assert lite.execute(past, [elicitation]).rowcount == 1


def test_an_account_that_was_given_up_before_the_call_came_back_is_asked_for_again(
    tools: Tools, elicit: SyncElicit, alice: ScriptedUser
) -> None:
    modern = Modern(tools.url)

    def give_up() -> None:
        for one in elicit.connections(alice.claim, provider="acme"):
            if one.status == "active":
                elicit.revoke(one)

    give_up()
    asked = modern.call("files")
    alice.allow(link(asked))
    give_up()
    assert link(modern.call("files")) != link(asked)


def test_l_3_who_is_through_before_the_client_answers_is_not_missed(tools: Tools, alice: ScriptedUser) -> None:
    session = Legacy(tools.url)
    assert text(session.call("wipe", {"disk": "quick"}, then=alice.submit, action=None)) == "done: wiped quick"


def test_l_8_what_was_connected_in_one_session_is_not_asked_for_in_another(tools: Tools, alice: ScriptedUser) -> None:
    assert text(Legacy(tools.url).call("files", then=alice.allow)) == "done: listed"
    for session in (Legacy(tools.url), Legacy(tools.url, {})):
        assert text(session.call("files")) == "done: listed"
        assert session.asked == []
    assert text(Modern(tools.url).call("files")) == "done: listed"


def test_case_8_a_call_that_comes_again_asks_and_waits_like_the_first(tools: Tools, alice: ScriptedUser) -> None:
    session = Legacy(tools.url)
    assert text(session.call("wipe", {"disk": "later"})).startswith("waiting:")
    began = time.monotonic()
    assert text(session.call("wipe", {"disk": "later"})).startswith("waiting:")
    assert time.monotonic() - began > 1.4
    assert text(session.call("wipe", {"disk": "later"}, then=alice.submit)) == "done: wiped later"
    assert len(session.asked) == 3
    assert len({asked["url"] for asked in session.asked}) == 1
    assert [one["params"]["elicitationId"] for one in session.told] == [session.asked[0]["elicitationId"]]


# The newer era.


def test_case_9_the_call_is_answered_with_what_is_needed(tools: Tools) -> None:
    result = Modern(tools.url).call("wipe")["result"]
    ((key, asked),) = result["inputRequests"].items()
    assert asked.keys() == {"method", "params"}
    assert asked["params"].keys() == {"mode", "message", "url"}
    assert name_in(asked["params"]["url"]) == key
    assert key not in result["requestState"], "sealed"


def test_case_10_a_refusal_of_the_older_era_never_reaches_a_client_of_the_newer(
    tools: Tools, alice: ScriptedUser
) -> None:
    modern = Modern(tools.url)
    asked = modern.call("raises")
    alice.submit(link(asked))
    answer = modern.retry(asked, "raises")
    assert "https://elsewhere.test/x" in text(answer)
    assert answer["result"]["isError"] is True


def test_a_refusal_of_the_authors_own_reaches_a_client_of_the_older_era(tools: Tools, alice: ScriptedUser) -> None:
    assert Legacy(tools.url).call("raises", then=alice.submit)["error"]["code"] == -32042


def test_case_12_a_state_that_was_tampered_with_is_refused_in_one_sentence(tools: Tools, elicit: SyncElicit) -> None:
    modern = Modern(tools.url)
    asked = modern.call("wipe")
    state = asked["result"]["requestState"]
    said = set()
    for at in (0, len(state) // 2, len(state) - 2):
        flipped = state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :]
        error = modern.retry(asked, "wipe", requestState=flipped)["error"]
        said.add((modern.status, error["code"], error["message"]))
    assert said == {(400, -32602, "Invalid or expired requestState")}
    assert seen(elicit, link(asked)).status == Status.PENDING


def test_case_14_a_state_belongs_to_one_tool_and_its_arguments(tools: Tools, alice: ScriptedUser) -> None:
    modern = Modern(tools.url)
    asked = modern.call("wipe", {"disk": "a"})
    alice.submit(link(asked))
    for tool, arguments in (("burn", {"disk": "a"}), ("wipe", {"disk": "b"})):
        assert modern.retry(asked, tool, arguments)["error"]["code"] == -32602
    assert text(modern.retry(asked, "wipe", {"disk": "a"})) == "done: wiped a"
    assert tools.ran == ["wiped a"]


def test_case_15_another_process_with_the_same_key_takes_the_state_and_one_that_is_old_is_refused(
    new_tools: Callable[..., Tools], tools: Tools, alice: ScriptedUser
) -> None:
    twin = new_tools(ttl=0.5)
    asked = Modern(tools.url).call("wipe", {"disk": "twin"})
    alice.submit(link(asked))
    assert text(Modern(twin.url).retry(asked, "wipe", {"disk": "twin"})) == "done: wiped twin"
    old = Modern(twin.url).call("wipe", {"disk": "old"})
    time.sleep(0.6)
    assert Modern(twin.url).retry(old, "wipe", {"disk": "old"})["error"]["code"] == -32602


def test_case_16_the_last_retry_sent_again_runs_nothing_again(tools: Tools, alice: ScriptedUser) -> None:
    modern = Modern(tools.url)
    asked = modern.call("wipe")
    alice.submit(link(asked))
    assert text(modern.retry(asked, "wipe")).startswith("done:")
    for _ in range(2):
        assert text(modern.retry(asked, "wipe")).startswith("cancelled:")
    assert tools.ran == ["wiped a"]
    assert link(modern.call("wipe")) != link(asked), "a call of its own asks anew"


def test_case_16_sent_twice_at_once_it_runs_once(tools: Tools, alice: ScriptedUser) -> None:
    asked = Modern(tools.url).call("wipe", {"disk": "race"})
    alice.submit(link(asked))
    said: list[str] = []
    gate = threading.Barrier(4)

    def retry() -> None:
        modern = Modern(tools.url)
        gate.wait()
        said.append(text(modern.retry(asked, "wipe", {"disk": "race"}))[:5])

    racing = [threading.Thread(target=retry) for _ in range(4)]
    for one in racing:
        one.start()
    for one in racing:
        one.join()
    assert sorted(said) == ["cance", "cance", "cance", "done:"]
    assert tools.ran == ["wiped race"]


def test_case_17_an_accept_without_a_visit_comes_to_nothing(tools: Tools) -> None:
    modern = Modern(tools.url)
    answer = modern.call("wipe", {"disk": "forged"})
    while answer["result"]["resultType"] == "input_required":
        answer = modern.retry(answer, "wipe", {"disk": "forged"})
    assert text(answer).startswith("waiting:")
    assert tools.ran == []


def test_case_18_a_retry_that_is_early_waits_a_while_and_asks_nobody_again(tools: Tools, alice: ScriptedUser) -> None:
    modern = Modern(tools.url)
    asked = modern.call("wipe", {"disk": "slow"})
    began = time.monotonic()
    later = modern.retry(asked, "wipe", {"disk": "slow"})
    assert 1.4 < time.monotonic() - began < within(6)
    assert later["result"].keys() >= {"requestState"}
    assert "inputRequests" not in later["result"]
    person = threading.Timer(0.5, alice.submit, [link(asked)])
    person.start()
    assert text(modern.retry(later, "wipe", {"disk": "slow"})) == "done: wiped slow"
    person.join()


def test_case_18_it_ends_before_clients_give_up_and_the_question_stays(
    tools: Tools, elicit: SyncElicit, alice: ScriptedUser
) -> None:
    modern = Modern(tools.url)
    answer, rounds = modern.call("wipe", {"disk": "never"}), 0
    url = link(answer)
    while answer["result"]["resultType"] == "input_required":
        answer, rounds = modern.retry(answer, "wipe", {"disk": "never"}), rounds + 1
    assert rounds == 4
    assert text(answer).startswith("waiting:")
    alice.submit(url)
    assert text(modern.call("wipe", {"disk": "never"})) == "done: wiped never"


def test_case_18_a_client_that_hangs_up_meanwhile_loses_nothing(tools: Tools, alice: ScriptedUser) -> None:
    modern = Modern(tools.url)
    asked = modern.call("wipe", {"disk": "cut"})
    modern.http.timeout = httpx2.Timeout(0.4)
    with pytest.raises(httpx2.ReadTimeout):
        modern.retry(asked, "wipe", {"disk": "cut"})
    modern.http.timeout = httpx2.Timeout(30)
    alice.submit(link(asked))
    assert text(modern.retry(asked, "wipe", {"disk": "cut"})) == "done: wiped cut"


@pytest.mark.parametrize(("action", "said"), [("decline", "declined:"), ("cancel", "cancelled:")])
def test_case_19_a_no_in_the_client_ends_it(
    tools: Tools, elicit: SyncElicit, alice: ScriptedUser, newer: bool, action: str, said: str
) -> None:
    if newer:
        modern = Modern(tools.url)
        asked = modern.call("wipe", {"disk": action})
        no = {key: {"action": action} for key in asked["result"]["inputRequests"]}
        answer, url = modern.retry(asked, "wipe", {"disk": action}, inputResponses=no), link(asked)
    else:
        session = Legacy(tools.url)
        answer = session.call("wipe", {"disk": action}, action=action)
        (url,) = (asked["url"] for asked in session.asked)
    assert text(answer).startswith(said)
    assert seen(elicit, url).status == Status.CANCELLED
    alice.open(url)
    assert "submit" not in alice.page.forms
    assert tools.ran == []


def test_case_19_a_no_on_the_page_ends_it(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    assert text(played(tools, newer, "wipe", alice.decline, {"disk": "page"})).startswith("declined:")
    assert tools.ran == []


def test_case_20_what_is_missing_is_asked_again_and_what_is_malformed_is_refused(tools: Tools) -> None:
    modern = Modern(tools.url)
    asked = modern.call("wipe", {"disk": "missing"})
    for given in ({}, {"inputResponses": {}}, {"inputResponses": {"another": {"action": "accept"}}}):
        again = modern.call("wipe", {"disk": "missing"}, requestState=asked["result"]["requestState"], **given)
        assert link(again) == link(asked)
    for given in ([{"id": "x", "value": True}], "yes", {name_in(link(asked)): {"action": "perhaps"}}):
        error = modern.retry(asked, "wipe", {"disk": "missing"}, inputResponses=given)["error"]
        assert (modern.status, error["code"]) == (400, -32602)


# What an author may do.


def test_two_guards_are_asked_one_after_the_other(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    ways = [alice.submit, lambda url: alice.submit(url, plan="free")]

    def act(url: str) -> None:
        ways.pop()(url)

    assert text(played(tools, newer, "both", act)) == "done: form confirm"
    assert ways == []
    assert tools.ran == ["form confirm"]


def test_what_was_done_of_two_is_not_asked_again(tools: Tools, alice: ScriptedUser) -> None:
    modern, arguments = Modern(tools.url), {"name": "half"}
    form = modern.call("both", arguments)
    alice.submit(link(form), plan="free")
    confirm = modern.retry(form, "both", arguments)
    alice.decline(link(confirm))
    assert text(modern.retry(confirm, "both", arguments)).startswith("declined:")
    again = modern.call("both", arguments)
    assert link(again) not in {link(form), link(confirm)}
    alice.submit(link(again))
    assert text(modern.retry(again, "both", arguments)) == "done: form confirm"


def test_a_tool_that_answers_with_no_text_has_its_schema_and_says_no_by_an_error(
    tools: Tools, alice: ScriptedUser, newer: bool
) -> None:
    counted = played(tools, newer, "count", lambda url: alice.submit(url, plan="free"))
    assert counted["result"]["structuredContent"] == {"result": 4}
    refused = played(tools, newer, "count", alice.decline)
    assert refused["result"]["isError"] is True
    assert "declined:" in text(refused)


def test_a_hook_runs_before_the_tool_and_words_can_be_its_own(tools: Tools, alice: ScriptedUser, newer: bool) -> None:
    assert text(played(tools, newer, "hooked", alice.submit)) == "done: after the hook"
    assert tools.ran == ["hooked confirm", "after the hook"]
    assert text(played(tools, newer, "hooked", alice.decline)) == "declined: as told"
    assert tools.ran == []


@pytest.mark.slow
def test_a_service_that_cannot_be_reached_is_said_and_runs_nothing(new_tools: Callable[..., Tools]) -> None:
    lost = new_tools(at="http://127.0.0.1:9", retry_for=1)
    answer = Modern(lost.url).call("wipe")
    assert answer["result"]["isError"] is True
    assert "unreachable" in text(answer)
    assert lost.ran == []
