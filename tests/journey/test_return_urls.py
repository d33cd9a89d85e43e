"""The service redirects people only to registered addresses and to its own pages, compared letter for letter."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from elicit_flows.web import signin
from tests.journey.stage import Stage
from tests.support.http_user import HttpUser
from tests.support.sink import Sink

NewUser = Callable[..., HttpUser]


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
