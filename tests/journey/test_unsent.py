"""Form input that was not sent: nobody else sees it unless the page says so, and it is deleted at the end."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.journey.stage import Json, Stage, form_post
from tests.support import canary, dump
from tests.support.http_user import HttpUser
from tests.support.process import until

QUESTIONS = [
    {"id": "why", "kind": "text", "message": "Why?", "required": True},
    {"id": "seats", "kind": "integer", "message": "How many?"},
]
ENDS = ["decline", "cancel", "expire", "send", "complete"]


def ask(stage: Stage, *, shared: bool, **more: Json) -> Json:
    return stage.ask(kind="form", message="For the report.", params={"questions": QUESTIONS, "shared": shared}, **more)


def write(user: HttpUser, asked: Json, text: str) -> None:
    """As the page's script does half a second after somebody stopped typing."""
    told = form_post(user, f"{asked['url']}/draft", question="q0", q0=text, asked=_asked(user))
    assert told.status_code == 200, told.text
    skipped = form_post(user, f"{asked['url']}/draft", question="q1", **{"q1-why": f"no {text}"}, asked=_asked(user))
    assert skipped.status_code == 200, skipped.text


def _asked(user: HttpUser) -> str:
    return next(value for name, value in user.page.forms["submit"].fields if name == "asked")


def places(stage: Stage, user: HttpUser) -> dict[str, str]:
    """Everywhere that what was written could be found."""
    found = {
        "database": dump.database(stage.box.database_url),
        "feed": str(stage.feed()),
        "stream": _streamed(stage),
        "export": user.get(f"{stage.box.url}/account/export").text,
        "logs": stage.box.logs(),
    }
    return found | ({"redis": dump.redis_database(stage.box.redis_url)} if stage.box.redis_url else {})


def _streamed(stage: Stage, after: str = "", events: int = 0) -> str:
    """What a stream tells behind ``after``: that many events, or as many as the feed has."""
    said = ""
    asked = {"headers": {"accept": "text/event-stream"}, "params": {"after": after}}
    with stage.agent.stream("GET", "/v1/events", **asked) as stream:
        for chunk in stream.iter_text():
            said += chunk
            if said.count("event:") >= (events or len(stage.feed())):
                return said
    return said


def stands_in(stage: Stage, user: HttpUser, text: str) -> list[str]:
    known = {"unsent": text.encode()}
    return [name for name, said in places(stage, user).items() if canary.found_in(said.encode(), known)]


def end(stage: Stage, user: HttpUser, asked: Json, how: str) -> None:
    one = f"/v1/elicitations/{asked['id']}"
    if how == "decline":
        user.press("decline")
    elif how == "cancel":
        stage.agent.post(f"{one}/cancel")
    elif how == "expire":
        stage.let_time_run_out(asked)
        until(lambda: stage.status(asked) == "expired", "its time is up", timeout=25)
    elif how == "send":
        user.press("submit", **{"q0": "Something else", "q1-why": ""})
    else:
        answers = {"why": {"state": "submitted", "value": "Of the agent"}, "seats": {"state": "submitted", "value": 2}}
        assert stage.agent.post(f"{one}/complete", json={"answers": answers}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("how", ENDS)
def test_t134_what_was_not_sent_is_nowhere_after_the_end(each_stage: Stage, http_user: HttpUser, how: str) -> None:
    stage, text = each_stage, f"unsent-{secrets.token_hex(12)}"
    asked = ask(stage, shared=False)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    write(http_user, asked, text)
    assert stands_in(stage, http_user, text) == ["database", "export"], "it is kept, for the person"
    http_user.open(asked["url"])
    assert text in http_user.answer.text, "and there when they come back"
    end(stage, http_user, asked, how)
    assert stage.status(asked) not in ("pending", "started")
    assert stands_in(stage, http_user, text) == []
    assert text not in str(stage.look(asked))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["decline", "cancel", "expire"])
def test_t134_nor_is_a_shared_draft_that_was_not_sent(each_stage: Stage, http_user: HttpUser, how: str) -> None:
    stage, text = each_stage, f"unsent-{secrets.token_hex(12)}"
    asked = ask(stage, shared=True)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    before = stage.agent.get("/v1/events").json()["cursor"]
    # While a stream is open, what happens is remembered for those that ask for it from then on.
    with stage.agent.stream("GET", "/v1/events", headers={"accept": "text/event-stream"}) as stream:
        next(stream.iter_text())
        write(http_user, asked, text)
        assert stands_in(stage, http_user, text) == ["database", "feed", "stream", "export"], "the agent saw it"
        assert text in _streamed(stage, before, 2)
        end(stage, http_user, asked, how)
        until(lambda: stands_in(stage, http_user, text) == [], "it is gone", timeout=20)
        until(lambda: text not in _streamed(stage, before, 3), "from what streams remember, too", timeout=3)
    told = [event["data"]["draft"] for event in stage.feed() if event["type"] == "elicitation.draft"]
    assert told == [None, None], "that something was written stays told"


def test_t134_the_agent_sees_nothing_of_what_is_written_unless_it_asked_to(stage: Stage, http_user: HttpUser) -> None:
    asked = ask(stage, shared=False)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert "when you send them" in http_user.text
    assert "as you write it" not in http_user.text
    before = stage.look(asked)
    write(http_user, asked, "Between us")
    one = f"/v1/elicitations/{asked['id']}/draft"
    for refused in (stage.agent.get(one), stage.agent.put(f"{one}/why", json={"answer": None})):
        assert (refused.status_code, refused.json()["code"]) == (409, "draft_not_shared"), refused.text
        assert "params.shared" in refused.json()["detail"]
    assert stage.look(asked) == before, "not even that something is written"
    assert stage.events(asked) == ["created"]
    for asked_again in ({"questions": QUESTIONS, "shared": True}, {"questions": QUESTIONS[:1], "shared": True}):
        late = stage.agent.patch(f"/v1/elicitations/{asked['id']}", json={"params": asked_again})
        assert late.status_code == 422
        assert late.json()["errors"][0]["loc"] == ["params", "shared"]
    assert stage.agent.get(one).status_code == 409


def test_t134_what_the_agents_client_answers_says_nothing_of_what_the_person_wrote(
    stage: Stage, http_user: HttpUser
) -> None:
    asked = ask(stage, shared=False)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    write(http_user, asked, "Between us")
    one = f"/v1/elicitations/{asked['id']}/complete"
    assert stage.agent.post(one).json()["code"] == "not_submitted"
    given = {"why": {"state": "submitted", "value": "Of the client"}}
    assert stage.agent.post(one, json={"answers": given}).json()["result"] == {"content": {"why": "Of the client"}}


def test_a_shared_form_says_so_before_anything_is_written(stage: Stage, http_user: HttpUser) -> None:
    asked = ask(stage, shared=True)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert "sees what you write as you write it." in http_user.text
    assert http_user.text.index("as you write it.") < http_user.text.index("Why?")


@pytest.mark.slow
def test_t134_whatever_happens_at_once_nothing_unsent_outlives_the_end(
    each_stage: Stage, new_http_user: Callable[..., HttpUser]
) -> None:
    """Somebody writes in two windows while the elicitation ends."""
    stage, rng = each_stage, random.Random(7)
    windows = [new_http_user() for _ in range(2)]
    for round_, shared in enumerate([False, True] * 4):
        texts = [f"unsent-{secrets.token_hex(12)}" for _ in range(6)]
        asked = ask(stage, shared=shared)
        for window in windows:
            window.open(asked["url"])
            window.carry_on("signin", "alice")
        acts: list[Callable[[], httpx2.Response]] = [
            _writing(windows[place % 2], asked, text) for place, text in enumerate(texts)
        ]
        one = f"/v1/elicitations/{asked['id']}"
        decline = windows[0].form_request("decline")
        last = [lambda: stage.agent.post(f"{one}/cancel"), lambda: windows[0].send(decline)]  # noqa: B023
        acts.insert(rng.randrange(len(acts)), last[round_ // 2 % 2])
        with ThreadPoolExecutor(len(acts)) as pool:
            assert {answer.status_code for answer in pool.map(lambda act: act(), acts)} <= {200, 303, 409, 410}
        assert stage.status(asked) in ("declined", "cancelled")
        known = {text: text.encode() for text in texts}
        until(
            lambda: not canary.found_in("\n".join(places(stage, windows[0]).values()).encode(), known),  # noqa: B023
            "nothing that was not sent is anywhere", timeout=20,
        )  # fmt: skip


def _writing(window: HttpUser, asked: Json, text: str) -> Callable[[], httpx2.Response]:
    fields = {"question": "q0", "q0": text, "asked": _asked(window)}
    return lambda: form_post(window, f"{asked['url']}/draft", **fields)
