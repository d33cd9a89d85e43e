"""The callback: one answer to one question, in the browser that asked, in time, from the provider that was asked."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from elicit_flows.lib import oauth
from elicit_flows.web import signin
from tests.cast import BOB
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage, form_post, query, without_query
from tests.support.http_user import HttpUser
from tests.support.sink import Sink

NewUser = Callable[..., HttpUser]


def _with(callback: str, **changed: str | None) -> str:
    """The callback with parameters replaced; None leaves one out."""
    values = {**query(callback), **changed}
    kept = {name: value for name, value in values.items() if value is not None}
    return f"{without_query(callback)}?{urlencode(kept)}"


def _refused(stage: Stage, user: HttpUser, callback: str, status: int = 400) -> None:
    with stage.nothing_asked():
        answer = user.get(callback)
    assert answer.status_code == status, answer.text
    assert 'data-page="' in answer.text or "%00" in callback, "people get a page"
    assert stage.connections() == []


def test_t14_another_browsers_state_is_refused_even_for_the_same_person(stage: Stage, new_http_user: NewUser):
    here, there = new_http_user(), new_http_user()
    asked = stage.ask()
    callback = stage.answer(here, asked)
    stage.answer(there, stage.ask())
    _refused(stage, there, callback)
    assert stage.status(asked) == "started"
    here.follow()
    assert here.page_status == "completed"


def test_t14_an_attackers_answer_in_the_victims_browser_connects_nothing(stage: Stage, new_http_user: NewUser):
    mallory, victim = new_http_user(), new_http_user()
    bait, asked = stage.ask(BOB), stage.ask()
    callback = stage.answer(mallory, bait, "bob")
    stage.answer(victim, asked)
    _refused(stage, victim, callback, 403)
    _refused(stage, victim, _with(stage.answer(victim, asked), code=query(callback)["code"], state="x" * 43))
    assert (stage.status(bait), stage.status(asked)) == ("started", "started")


def test_t15_the_same_callback_again_shows_what_became_of_it(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    http_user.follow()
    for _ in range(3):
        answer = http_user.get(callback)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/c/{asked['id']}/done")
    assert stage.drive.counts()["token"] == 1
    assert stage.events(asked).count("completed") == 1


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


@pytest.mark.parametrize("form", STATES.values(), ids=STATES.keys())
def test_t16_a_state_that_is_not_exactly_ours_is_refused(stage: Stage, http_user: HttpUser, form: str):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    values = {name: quote(value, safe="") for name, value in query(callback).items()}
    _refused(stage, http_user, without_query(callback) + form.format(**values))
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
    _refused(stage, http_user, callback)
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


def test_t18_a_victims_code_is_worth_nothing_in_an_attackers_flow(stage: Stage, new_http_user: NewUser):
    victim, mallory = new_http_user(), new_http_user()
    asked, own = stage.ask(), stage.ask(BOB)
    stolen = query(stage.answer(victim, asked))["code"]
    callback = stage.answer(mallory, own, "bob")
    answer = mallory.get(_with(callback, code=stolen))
    assert answer.status_code == 409
    assert stage.drive.counts()["token"] == 1
    assert stage.connections() == []
    assert stage.status(own) == "started"
    stage.complete(mallory, own, "bob")


def test_t18_every_verifier_is_its_own_and_of_good_length():
    made = {oauth.new_verifier() for _ in range(10_000)}
    assert len(made) == 10_000
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{43,128}", one) for one in made)


def test_t18_every_attempt_has_its_own_challenge_and_state(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    seen = [query(stage.at_provider(http_user, asked)) for _ in range(3)]
    for name in ("code_challenge", "state"):
        assert len({one[name] for one in seen}) == 3
    assert all(len(one["state"]) >= 43 for one in seen)


@pytest.mark.parametrize("provider", ["drive", "bad", "evil"])
def test_t19_every_provider_gets_pkce_with_s256(
    stage: Stage, http_user: HttpUser, doubles: Doubles, provider: str
):  # fmt: skip
    issuer = stage.drive.issuer if provider == "drive" else getattr(doubles, provider).url
    sent = query(stage.at_provider(http_user, stage.ask(provider=provider), provider=issuer))
    assert sent["code_challenge_method"] == "S256"
    assert re.fullmatch(r"[\w-]{43}", sent["code_challenge"])
    assert (sent["response_type"], sent["redirect_uri"]) == ("code", f"{stage.box.url}/callback/{provider}")


def test_t19_so_does_every_identity_provider(stage: Stage, http_user: HttpUser):
    http_user.open(stage.ask()["url"])
    with http_user.stopping_at(stage.corp.issuer):
        http_user.press("signin")
    sent = query(http_user.location)
    assert sent["code_challenge_method"] == "S256"
    assert sent["nonce"]
    assert sent["state"] != sent["nonce"]
    assert sent["redirect_uri"] == f"{stage.box.url}/login/corp/callback"


def test_t19_a_provider_without_s256_is_refused_before_anybody_goes_there(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    asked = stage.ask(provider="lax")
    http_user.connect(asked["url"], "alice")
    assert (http_user.answer.status_code, http_user.page_name) == (503, "refused")
    assert doubles.lax.calls["authorize"] == 0
    assert stage.status(asked) == "pending"


ISSUERS = {
    "another": "https://evil.example",
    "with a slash": "{iss}/",
    "in upper case": "HTTP://127.0.0.1:{port}",
    "by another name": "http://localhost:{port}",
    "empty": "",
}


@pytest.mark.parametrize("issuer", ISSUERS.values(), ids=ISSUERS.keys())
def test_t20_an_answer_in_another_issuers_name_is_refused(stage: Stage, http_user: HttpUser, issuer: str):
    callback = stage.answer(http_user, stage.ask())
    iss = query(callback)["iss"]
    assert iss == stage.drive.issuer
    _refused(stage, http_user, _with(callback, iss=issuer.format(iss=iss, port=stage.drive.port)))
    http_user.follow()
    assert http_user.page_status == "completed"


def test_t20_an_issuer_that_is_left_out_or_given_twice_is_refused(stage: Stage, http_user: HttpUser):
    callback = stage.answer(http_user, stage.ask())
    _refused(stage, http_user, _with(callback, iss=None))
    _refused(stage, http_user, f"{callback}&iss={quote(stage.drive.issuer, safe='')}")
    http_user.follow()
    assert http_user.page_status == "completed"


def test_t20_an_error_in_another_issuers_name_does_not_decline(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked, decide="deny")
    _refused(stage, http_user, _with(callback, iss="https://evil.example"))
    assert stage.status(asked) == "started"


def test_t20_the_same_holds_for_signing_in(stage: Stage, http_user: HttpUser):
    with http_user.stopping_at(f"{stage.box.url}/login/corp/callback"):
        http_user.connect(stage.ask()["url"], "alice")
    assert http_user.get(_with(http_user.location, iss="https://evil.example")).status_code == 403
    http_user.open(f"{stage.box.url}/account")
    assert http_user.page_name == "signin"


def test_t21_an_honest_providers_code_does_not_go_to_another_provider(
    stage: Stage, http_user: HttpUser, doubles: Doubles
):
    honest, at_evil = stage.ask(), stage.ask(provider="evil")
    code = query(stage.answer(http_user, honest))["code"]
    callback = stage.answer(http_user, at_evil)
    state = query(callback)["state"]
    _refused(stage, http_user, _with(callback, code=code, iss=stage.drive.issuer))
    _refused(stage, http_user, f"{stage.box.url}/callback/drive?code={code}&state={state}&iss={stage.drive.issuer}")
    assert doubles.evil.calls["token"] == 0


def test_t22_a_state_counts_at_the_provider_it_was_made_for_alone(stage: Stage, http_user: HttpUser, doubles: Doubles):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    for elsewhere in ("evil", "bad", "nowhere"):
        _refused(stage, http_user, callback.replace("/callback/drive", f"/callback/{elsewhere}"))
    assert doubles.evil.calls["token"] == doubles.bad.calls["token"] == 0
    http_user.follow()
    assert http_user.page_status == "completed"


def _lookalikes(good: str) -> list[str]:
    port = urlsplit(good).port
    return [
        "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example",
        "https:/evil.example", "https:///evil.example", "http:evil.example", "javascript:alert(1)",
        "data:text/html,x", "vbscript:x", "file:///etc/passwd", f"http://127.0.0.1:{port}@evil.example/done",
        f"http://evil.example#@127.0.0.1:{port}/done", f"http://evil.example?@127.0.0.1:{port}/done",
        f"http://127.0.0.1:{port}.evil.example/done", f"{good}%0d%0aSet-Cookie:x=1", f"{good}\r\nX: 1",
        f"{good}/", f"{good}?x=1", f"{good}#x", f"{good}/../..", f" {good}", f"{good} ", good.upper(),
        good.replace("127.0.0.1", "localhost"), good.replace("127.0.0.1", "127.1"),
        good.replace("127.0.0.1", "\uff11\uff12\uff17.0.0.1"), good.replace("/done", "/d\u043ene"), f"{good}\t",
        good.replace("http:", "https:"), "", "/", "/account",
    ]  # fmt: skip


def test_t23_only_a_registered_return_url_is_taken(stage: Stage, sink: Sink):
    good = sink.url("/done")
    assert stage.ask(return_url=good)["return_url"] == good
    for other in _lookalikes(good):
        answer = stage.try_to_ask(return_url=other)
        assert answer.status_code == 422, other
        assert answer.json()["code"] == "invalid"


def test_t23_the_return_url_is_offered_when_it_is_over_and_not_before(stage: Stage, http_user: HttpUser, sink: Sink):
    asked = stage.ask(return_url=sink.url("/done"))
    http_user.connect(asked["url"], "alice", decide="nothing")
    assert sink.url("/done") not in http_user.open(f"{asked['url']}/done").text
    stage.complete(http_user, asked)
    assert sink.url("/done") in http_user.page.links


ELSEWHERE = [
    "//evil.example", "/\\evil.example", "https://evil.example/c/x", "/c//evil.example", "/account\r\nSet-Cookie: a=b",
    "/account/../..//evil.example", "javascript:alert(1)", "/c/el_%2f%2fevil", "/admin/", "/v1/events", "/c/\u0435l_1",
]  # fmt: skip


def test_t23_signing_in_leads_to_our_own_pages_alone(stage: Stage, new_http_user: NewUser):
    assert [signin.local(following) for following in ELSEWHERE] == ["/account"] * len(ELSEWHERE)
    for following in ELSEWHERE[:5:2]:
        user = new_http_user()
        user.open(f"{stage.box.url}/account")
        user.press("signin", next=following, provider="corp")
        user.press("alice")
        assert user.url == f"{stage.box.url}/account"
        assert not any("set-cookie: a=b" in str(answer.headers).lower() for answer in user.trail)


def test_t24_an_answer_after_the_end_changes_nothing(stage: Stage, http_user: HttpUser):
    asked = stage.ask()
    callback = stage.answer(http_user, asked)
    stage.let_time_run_out(asked)
    _refused(stage, http_user, callback, 410)
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
    _refused(stage, http_user, callback, 410)
    assert stage.status(asked) == how
    stage.check_invariants(asked)


@pytest.mark.parametrize("how", ["cancelled", "declined"])
def test_t25_a_code_that_was_redeemed_meanwhile_is_given_back(
    stage: Stage, http_user: HttpUser, doubles: Doubles, how: str
):
    asked = stage.ask(provider="bad")
    usual = doubles.bad.routes()["/token"][1]

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
    http_user.get(_with(callback, code=None, error="invalid_request", error_description=said))
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
    _refused(stage, http_user, callback + both)
    assert stage.status(asked) == "started"
    assert dict(parse_qsl(urlsplit(callback).query))["code"]
