"""The whole flow: an agent asks, the right person connects an account, the agent is told. And each early end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.cast import BOB
from tests.journey.stage import Stage, query
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.persona import Persona
from tests.support.sink import Sink

NewUser = Callable[..., HttpUser]


def _person(request: pytest.FixtureRequest) -> Persona:
    if request.param == "HTTP":
        return request.getfixturevalue("new_http_user")()
    return request.getfixturevalue("new_user")(scripts=request.param == "Chromium")


@pytest.fixture(params=["Chromium", pytest.param("Chromium without scripts", marks=pytest.mark.slow), "HTTP"])
def anybody(request: pytest.FixtureRequest) -> Persona:
    """In a browser, in one without JavaScript, and as a program."""
    return _person(request)


@pytest.fixture(params=[pytest.param("Chromium without scripts", marks=pytest.mark.slow), "HTTP"])
def somebody(request: pytest.FixtureRequest) -> Persona:
    return _person(request)


def _revoke(person: Persona) -> None:
    """The button stands behind a disclosure, for which a browser needs a press of its own."""
    if isinstance(person, User):
        person.page.locator("details:has([data-action=revoke]) > summary").first.click()
    person.press("revoke")


def test_an_account_is_connected_used_and_disconnected(each_stage: Stage, anybody: Persona, sink: Sink):
    stage, agent = each_stage, each_stage.agent
    asked = stage.ask(return_url=sink.url("/done"), metadata={"call": "t-17"})
    assert (asked["status"], asked["action"], asked["seq"]) == ("pending", None, 1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_wait, agent, asked["id"])
        anybody.connect(asked["url"], "alice")
        told = waiting.result()
    assert (anybody.page_name, anybody.page_status) == ("done", "completed")
    assert "code=" not in anybody.url

    assert (told["status"], told["action"], told["metadata"]) == ("completed", "accept", {"call": "t-17"})
    assert told["result"]["account"] == {"id": "alice", "label": "Alice"}
    assert told["result"]["scopes"] == ["openid", "files.read"]
    assert stage.events(asked) == ["created", "started", "settling", "completed"]
    hook = sink.wait_for_event(f"/{agent.slug}", "elicitation.completed", asked["id"])
    assert hook.verify(agent.webhook_secret)["data"]["result"] == told["result"]

    token = stage.token(asked)
    usual = {"access_token", "token_type", "expires_at", "scopes", "metadata", "resource", "token_secret"}
    assert set(token.json()) == usual
    assert stage.userinfo(token.json()["access_token"]).json()["sub"] == "alice"
    assert stage.drive.counts()["token.authorization_code"] == 1

    anybody.open(f"{stage.box.url}/account")
    assert agent.slug.replace("-", " ").title() in anybody.text
    anybody.open(f"{stage.box.url}/account/connections/{told['result']['connection']}")
    _revoke(anybody)
    assert stage.token(asked).status_code == 410
    assert "connection.revoked" in stage.events()
    stage.revoked_upstream(token.json()["access_token"])
    stage.check_invariants(asked)


def _wait(agent: httpx2.Client, elicitation: str) -> dict[str, object]:
    """Follows an elicitation to its end, as an agent does."""
    seq, found = 0, {}
    while found.get("status") not in {"completed", "declined", "failed"}:
        answer = agent.get(f"/v1/elicitations/{elicitation}", params={"wait": 20, "after_seq": seq})
        found = answer.json()
        seq = found["seq"]
    return dict(found)


@pytest.mark.parametrize("how", ["decline", "deny"])
def test_a_no_is_a_no_at_our_page_and_at_the_provider(stage: Stage, somebody: Persona, how: str):
    asked = stage.ask()
    if how == "decline":
        somebody.open(asked["url"])
        somebody.carry_on("signin", "alice", "decline")
    else:
        somebody.connect(asked["url"], "alice", decide="deny")
    assert (somebody.page_name, somebody.page_status) == ("done", "declined")
    found = stage.look(asked)
    assert (found["status"], found["action"], found["result"], found["error"]) == ("declined", "decline", None, None)
    assert stage.drive.counts().get("token", 0) == 0
    somebody.open(asked["url"])
    assert (somebody.page_name, somebody.page_status, somebody.actions()) == ("done", "declined", [])
    stage.check_invariants(asked)


def test_the_wrong_person_switches_and_is_the_right_one(stage: Stage, somebody: Persona):
    asked = stage.ask()
    somebody.open(asked["url"])
    somebody.carry_on("signin", "bob")
    assert (somebody.page_name, somebody.actions()) == ("mismatch", ["switch"])
    assert "files" not in somebody.text
    somebody.press("switch")
    somebody.carry_on("alice", "continue", "allow")
    assert (somebody.page_name, somebody.page_status) == ("done", "completed")
    assert stage.look(asked)["result"]["account"]["id"] == "alice"


@pytest.mark.slow
def test_an_address_of_the_provider_that_is_passed_on_ends_at_a_refusal(stage: Stage, new_user: Callable[..., User]):
    asked, alice, bob = stage.ask(), new_user(), new_user()
    alice.open(asked["url"])
    alice.carry_on("signin", "alice")
    with alice.page.expect_request(lambda request: request.url.startswith(stage.drive.issuer)) as leaving:
        alice.press("continue")
    bob.open(stage.ask(BOB)["url"])
    bob.carry_on("signin", "bob")
    bob.open(leaving.value.url)
    bob.carry_on("bob", "allow")
    assert bob.page_name == "mismatch"
    assert "token" not in stage.drive.counts()
    assert stage.status(asked) == "started"
    alice.carry_on("alice", "allow")
    assert alice.page_status == "completed"


def test_a_link_whose_time_is_up_says_so(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert http_user.page_name == "consent"
    stage.let_time_run_out(asked)
    http_user.press("continue")
    assert (http_user.page_name, http_user.page_status) == ("done", "expired")
    found = stage.look(asked)
    assert (found["status"], found["action"]) == ("expired", "cancel")
    stage.check_invariants(asked)


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_question_that_was_taken_back_says_so(stage: Stage, http_user: HttpUser, when: str):
    asked = stage.ask()
    if when == "during":
        http_user.open(asked["url"])
        http_user.carry_on("signin", "alice", "continue")
        assert http_user.url.startswith(stage.drive.issuer)
    answer = stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    if when == "before":
        http_user.open(asked["url"])
    http_user.carry_on("signin", "alice", "allow")
    assert (http_user.page_name, http_user.page_status) == ("done", "cancelled")
    assert stage.connections() == []
    stage.check_invariants(asked)


def test_cancelling_what_is_over_is_refused_and_cancelling_twice_is_not(stage: Stage, http_user: HttpUser):
    asked, other = stage.ask(), stage.ask(reuse="never")
    stage.complete(http_user, asked)
    assert stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel").status_code == 409
    for _ in range(2):
        assert stage.agent.post(f"/v1/elicitations/{other['id']}/cancel").json()["status"] == "cancelled"
    assert stage.events(other) == ["created", "cancelled"]


def test_what_is_connected_already_is_answered_at_once(stage: Stage, http_user: HttpUser):
    first = stage.ask()
    stage.complete(http_user, first)
    again = stage.ask()
    assert (again["status"], again["reused"], again["action"]) == ("completed", True, "accept")
    assert again["result"] == stage.look(first)["result"]
    assert stage.events(again) == ["completed"]
    assert stage.drive.counts()["token.authorization_code"] == 1
    assert stage.ask(scopes=["files.write"])["status"] == "pending"
    assert stage.ask(reuse="never")["status"] == "pending"
    assert stage.ask(BOB)["status"] == "pending"
    http_user.open(again["url"])
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")


def test_asking_again_with_the_same_key_asks_once(stage: Stage):
    first, second = (stage.try_to_ask(key="call-1") for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert (first.json(), second.headers["idempotency-replayed"]) == (second.json(), "true")
    assert stage.try_to_ask(key="call-1", message="Something else").status_code == 422
    assert len(stage.agent.get("/v1/elicitations").json()["data"]) == 1


def test_starting_again_from_the_link_kills_the_older_way(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    older = stage.answer(http_user, asked)
    newer = stage.answer(http_user, asked)
    assert query(older)["state"] != query(newer)["state"]
    with stage.nothing_asked():
        answer = http_user.get(older)
    assert answer.status_code == 409
    assert f"/c/{asked['id']}" in answer.text
    assert stage.status(asked) == "started"
    assert http_user.get(newer).status_code == 303
    assert stage.status(asked) == "completed"


def test_the_same_button_pressed_again_leads_the_same_way(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    press = http_user.form_request("continue")
    ways = [http_user.send(press).headers["location"] for _ in range(3)]
    assert len(set(ways)) == 1
    assert (stage.attempts(asked), stage.events(asked)) == (1, ["created", "started"])
    http_user.open(ways[0])
    http_user.carry_on("alice", "allow")
    assert http_user.page_status == "completed"
    answer = http_user.send(press)
    assert answer.status_code == 410
    assert stage.events(asked).count("completed") == 1


def test_a_button_that_was_used_up_leads_to_where_it_can_be_pressed_again(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    press = http_user.form_request("continue")
    stage.drive.fault("token", status=503, times=1)
    http_user.carry_on("continue", "alice", "allow")
    answer = http_user.send(press)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/c/{asked['id']}/done")
    http_user.open(asked["url"] + "/done")
    assert f"/c/{asked['id']}" in http_user.page.links
    stage.complete(http_user, asked)


def test_people_of_several_identity_providers_sign_in_at_their_own(stage: Stage, http_user: HttpUser, partner: Op):
    asked = stage.ask(iss=partner.issuer)
    http_user.open(asked["url"])
    http_user.press("signin")
    assert http_user.url.startswith(partner.issuer)
    http_user.carry_on("alice", "continue", "allow")
    assert http_user.page_status == "completed"
    assert stage.look(asked)["subject"]["iss"] == partner.issuer


def test_whoever_comes_without_a_link_chooses_where_to_sign_in(stage: Stage, http_user: HttpUser, partner: Op):
    http_user.open(f"{stage.box.url}/account")
    for label in ("Continue with corp", "Continue with partner"):
        assert label in http_user.text
    http_user.press("signin", provider="partner")
    assert http_user.url.startswith(partner.issuer)
    http_user.press("alice")
    assert http_user.page_name == "account"


def test_t42_an_identity_provider_may_change_its_keys_between_two_sign_ins(
    stage: Stage, new_http_user: NewUser, partner: Op
):
    before, after = new_http_user(), new_http_user()
    before.open(stage.ask(iss=partner.issuer)["url"])
    before.carry_on("signin", "alice")
    assert before.page_name == "consent"
    partner.rotate_keys()
    stage.complete(after, stage.ask(iss=partner.issuer))
    assert partner.counts()["jwks"] <= 2
