"""The callback accepts one answer for one request, from the same browser and in time."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import pytest

from tests.cast import BOB
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage, changed, form_post, query, without_query
from tests.support.http_user import HttpUser

NewUser = Callable[..., HttpUser]


def test_t14_another_browsers_state_is_refused_even_for_the_same_person(stage: Stage, new_http_user: NewUser):
    here, there = new_http_user(), new_http_user()
    asked = stage.ask()
    callback = stage.answer(here, asked)
    stage.answer(there, stage.ask())
    stage.refuses(there, callback)
    assert stage.status(asked) == "started"
    here.follow()
    assert here.page_status == "completed"


def test_t14_an_attackers_answer_in_the_victims_browser_connects_nothing(stage: Stage, new_http_user: NewUser):
    mallory, victim = new_http_user(), new_http_user()
    bait, asked = stage.ask(BOB), stage.ask()
    callback = stage.answer(mallory, bait, "bob")
    stage.answer(victim, asked)
    stage.refuses(victim, callback, 403)
    stage.refuses(victim, changed(stage.answer(victim, asked), code=query(callback)["code"], state="x" * 43))
    assert (stage.status(bait), stage.status(asked)) == ("started", "started")


def test_t15_the_same_callback_again_shows_what_became_of_it(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    http_user.follow()
    for _ in range(3):
        answer = http_user.get(callback)
        assert (answer.status_code, answer.headers.get("location")) == (303, f"/c/{asked['id']}/done")
    assert stage.drive.counts()["token.authorization_code"] == 1
    assert stage.events(asked).count("completed") == 1


def test_t15_a_state_is_used_up_though_nothing_came_of_it(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    stage.drive.fault("token", status=503, times=1)
    assert http_user.get(callback).status_code == 409
    stage.refuses(http_user, callback, 409)
    assert stage.events(asked) == ["created", "started", "settling", "started"]
    stage.complete(http_user, asked)


STATES = {
    "empty": "?code={code}&state=&iss={iss}",
    "absent": "?code={code}&iss={iss}",
    "twice": "?code={code}&state={state}&state={state}&iss={iss}",
    "twice, one foreign": "?code={code}&state={state}&state=b&iss={iss}",
    "as an array": "?code={code}&state[]={state}&iss={iss}",
    "very long": "?code={code}&state=" + "s" * 30_000 + "&iss={iss}",
    "257": "?code={code}&state=" + "s" * 257 + "&iss={iss}",
    "with NUL": "?code={code}&state={state}%00&iss={iss}",
    "with a space": "?code={code}&state={state}%20&iss={iss}",
    "surrogate": "?code={code}&state=%ed%a0%80&iss={iss}",
    "nothing at all": "",
}


@pytest.mark.slow
@pytest.mark.parametrize("form", STATES.values(), ids=STATES.keys())
def test_t16_a_state_that_is_not_exactly_ours_is_refused(stage: Stage, http_user: HttpUser, form: str):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    values = {name: quote(value, safe="") for name, value in query(callback).items()}
    stage.refuses(http_user, without_query(callback) + form.format(**values))
    http_user.follow()
    assert http_user.page_status == "completed"


def test_t16_a_hundred_kilobytes_of_state_are_refused(stage: Stage, http_user: HttpUser):
    callback = stage.answer(http_user, stage.ask())
    path = f"{urlsplit(callback).path}?code=x&state={'s' * 100_000}"
    cookie = f"sessionid={http_user.http.cookies['sessionid']}"
    with stage.nothing_asked(), socket.create_connection(("127.0.0.1", stage.box.ports[0]), 10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
        assert connection.recv(1000).split()[1] in {b"400", b"414", b"431"}


def test_t17_a_state_lives_ten_minutes_from_the_button_and_the_link_outlives_it(stage: Stage, http_user: HttpUser):
    asked = stage.ask(expires_in=3600)
    http_user.connect(asked["url"], "alice", decide="nothing")
    http_user.open(asked["url"])
    before = stage.attempts(asked)
    callback = stage.answer(http_user, asked)
    assert stage.attempts(asked) == before + 1
    made, ends = _life(stage, asked["id"])
    assert 0 < (ends - made).total_seconds() <= 600
    stage.sql("UPDATE elicit_flows_attempt SET expires_at = %s WHERE elicitation_id = %s", str(made), asked["id"])
    stage.refuses(http_user, callback)
    assert stage.status(asked) == "started"
    stage.complete(http_user, asked)


def test_t17_a_state_dies_with_its_link(stage: Stage, http_user: HttpUser):
    asked = stage.ask(expires_in=30)
    stage.answer(http_user, asked)
    assert _life(stage, asked["id"])[1] <= datetime.fromisoformat(asked["expires_at"])


def _life(stage: Stage, elicitation: str) -> tuple[datetime, datetime]:
    statement = (
        "SELECT created_at, expires_at FROM elicit_flows_attempt WHERE elicitation_id = %s ORDER BY id DESC LIMIT 1"
    )
    made, ends = (datetime.fromisoformat(str(value)) for value in stage.sql(statement, elicitation)[0])
    return made.replace(tzinfo=UTC), ends.replace(tzinfo=UTC)


def test_t24_an_answer_after_the_end_changes_nothing(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    stage.let_time_run_out(asked)
    stage.refuses(http_user, callback, 410)
    http_user.follow()
    assert (http_user.page_name, http_user.page_status) == ("done", "expired")
    assert stage.status(asked) == "expired"
    stage.check_invariants(asked)


def test_t24_nor_does_the_button(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    http_user.connect(asked["url"], "alice", decide="nothing")
    http_user.open(asked["url"])
    stage.let_time_run_out(asked)
    http_user.press("continue")
    assert (http_user.answer.status_code, http_user.page_status) == (410, "expired")
    http_user.open(asked["url"])
    assert (http_user.answer.status_code, http_user.page_status) == (200, "expired")


@pytest.mark.parametrize("how", ["cancelled", "declined"])
def test_t25_an_answer_after_it_was_called_off_changes_nothing(stage: Stage, http_user: HttpUser, how: str):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    _call_off(stage, http_user, asked, how)
    stage.refuses(http_user, callback, 410)
    assert stage.status(asked) == how
    stage.check_invariants(asked)


@pytest.mark.parametrize("how", ["cancelled", "declined"])
def test_t25_a_code_that_was_redeemed_meanwhile_is_given_back(
    stage: Stage, http_user: HttpUser, doubles: Doubles, how: str
):
    asked = stage.ask(provider="bad")
    usual = doubles.bad.routes()["/token"][1]
    # An account that no other test of this service has connected: it would stay connected, and nothing be given back.
    doubles.bad.user = {"sub": f"called-off-{how}"}

    def meanwhile(request: object) -> object:
        _call_off(stage, http_user, asked, how)
        return usual(request)

    callback = stage.answer(http_user, asked)
    http_user.open(asked["url"])
    doubles.bad.scripted["token"] = meanwhile
    answer = http_user.get(callback)
    assert answer.status_code == 303
    assert stage.status(asked) == how
    assert doubles.bad.calls["token"] == doubles.bad.calls["revoke"] == 1
    assert stage.connections() == []
    assert not any(issued.live for issued in list(doubles.bad.tokens.values())[-1:])
    stage.check_invariants(asked)


def _call_off(stage: Stage, user: HttpUser, asked: dict[str, str], how: str) -> None:
    if how == "cancelled":
        answer = stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
        assert answer.status_code == 200
        return
    if "decline" not in user.actions():
        user.open(asked["url"])
    assert form_post(user, f"{asked['url']}/decline").status_code == 303
