"""The headers of every answer: pages, redirects and errors, for people, agents and operators."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Callable, Iterator
from urllib.parse import urljoin, urlsplit

import httpx2
import pytest
from django.test import Client

from elicit_flows import elicitations
from elicit_flows.lib import ids
from tests.cast import Person
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage
from tests.support.http_user import HttpUser
from tests.support.sink import Sink

NewUser = Callable[..., HttpUser]


def _check(answer: httpx2.Response) -> None:
    """T51, T56, T58 on one answer. JSON is not shown, so it need not be kept out of frames."""
    where = f"{answer.request.method} {answer.request.url} {answer.status_code}"
    path, headers = urlsplit(str(answer.request.url)).path, answer.headers
    kind = headers.get("content-type", "")
    assert headers.get("x-content-type-options") == "nosniff", where
    assert headers.get("cache-control") == "no-store" or path.startswith("/static/"), where
    if "json" in kind:
        return
    assert headers.get("x-frame-options") == "DENY", where
    assert "frame-ancestors 'none'" in headers.get("content-security-policy", ""), where
    assert headers.get("cross-origin-opener-policy") == "same-origin" or path.startswith("/static/"), where
    admin = path.startswith("/admin/")
    assert headers.get("referrer-policy") == ("same-origin" if admin else "no-referrer"), where
    if kind.startswith("text/html") and answer.content and not admin:
        assert "unsafe" not in headers["content-security-policy"], where
        _check_page(answer)


def _check_page(answer: httpx2.Response) -> None:
    """A page may tell our own pages where it was left from, and links to others tell them nothing."""
    assert answer.text.count('<meta name="referrer" content="same-origin">') == 1
    for link in re.findall(r"<a [^>]*>", answer.text):
        href = re.search(r'href="([^"]*)"', link)
        if href and href[1].startswith(("http:", "https:", "//")):
            assert 'rel="noopener noreferrer"' in link, link
    assert not re.search(r"\son\w+=|<style|\sstyle=|javascript:", answer.text)
    assert all("src=" in script for script in re.findall(r"<script[^>]*>", answer.text))


def _links(answer: httpx2.Response) -> Iterator[str]:
    base = str(answer.request.url)
    for found in re.findall(r'(?:href|src)="([^"#][^"]*)"', answer.text):
        url = urljoin(base, found.replace("&amp;", "&"))
        if urlsplit(url).netloc == urlsplit(base).netloc:
            yield url.partition("#")[0]


def _crawl(user: HttpUser, starts: list[str], most: int = 60) -> list[httpx2.Response]:
    """Every page of ours that can be reached by links from ``starts``."""
    todo, seen = list(starts), set[str]()
    answers = []
    while todo and len(answers) < most:
        url = todo.pop(0)
        if url in seen:
            continue
        seen.add(url)
        answers.append(user.http.get(url))
        if "html" in answers[-1].headers.get("content-type", ""):
            todo += list(_links(answers[-1]))
    assert not todo, f"more than {most} pages"
    return answers


def test_t51_t56_t58_every_page_that_links_lead_to_is_kept_out_of_frames_caches_and_referers(
    stage: Stage, http_user: HttpUser, sink: Sink
):
    # Nobody whom other tests play: what they left on their own pages must not fill this walk.
    walker = Person("walker", "Walker")
    for provider in (stage.corp, stage.drive):
        provider.add_account(walker.sub)
    over = stage.ask(walker, return_url=sink.url("/done"))
    stage.complete(http_user, over, "walker")
    asked = stage.ask(walker, reuse="never")
    starts = ["/", "/account", "/v1/docs", "/admin/", f"/c/{asked['id']}", f"/c/{over['id']}", f"/c/{asked['id']}/done"]
    answers = _crawl(http_user, [stage.box.url + path for path in starts])
    paths = {urlsplit(str(answer.request.url)).path for answer in answers}
    assert {"/", "/account", "/v1/docs", "/v1/openapi.json", "/static/elicit/style.css"} <= paths
    assert {"/account/export", "/account/delete"} <= paths
    assert any(path.startswith("/account/connections/") for path in paths)
    assert sink.url("/done") in answers[starts.index(f"/c/{over['id']}")].text
    for answer in answers:
        _check(answer)


def _refusals(stage: Stage, user: HttpUser, doubles: Doubles) -> Iterator[tuple[int, httpx2.Response]]:
    """Every status that a browser or an agent can meet here, and how to meet it."""
    base, http = stage.box.url, user.http
    asked, over = stage.ask(reuse="never"), stage.ask(reuse="never")
    callback = stage.answer(user, over)
    stage.agent.post(f"/v1/elicitations/{over['id']}/cancel")
    yield 400, http.get(f"{base}/callback/drive?state=x&code=y")
    yield 400, http.get(f"{base}/login/corp/callback?state=x&code=y")
    yield 400, http.get(f"{base}/", headers={"host": "evil.example"})
    yield 401, http.get(f"{base}/v1/elicitations")
    yield 401, http.get(f"{base}/v1/elicitations/{asked['id']}?wait=5")
    yield 403, http.post(f"{base}/login")
    yield 403, http.post(f"{base}/login", headers={"sec-fetch-site": "cross-site"})
    yield 404, http.get(f"{base}/nothing/here")
    yield 404, http.get(f"{base}/c/{ids.name('el')}")
    yield 404, stage.agent.get("/v1/nothing")
    yield 404, stage.agent.get(f"/v1/elicitations/{ids.name('el')}")
    yield 405, http.get(f"{base}/login")
    yield 405, http.options(f"{base}/c/{asked['id']}")
    yield 405, http.put(f"{base}/v1/elicitations")
    yield 410, http.get(callback)
    yield 413, http.post(f"{base}/login", content=b"x" * 1_100_000)
    yield 413, stage.agent.post("/v1/elicitations", content=b"x" * 1_100_000)
    yield 415, stage.agent.post("/v1/elicitations", content=b"x")
    yield 422, stage.try_to_ask(provider="nothing")
    yield 503, _unavailable(stage, user)
    yield 409, _start_again(stage, user, doubles)


def _unavailable(stage: Stage, user: HttpUser) -> httpx2.Response:
    return user.connect(stage.ask(provider="lax")["url"], "alice").answer


def _start_again(stage: Stage, user: HttpUser, doubles: Doubles) -> httpx2.Response:
    doubles.bad.decision = "server_error"
    return user.connect(stage.ask(provider="bad")["url"], "alice").answer


def test_t51_t56_every_refusal_is_kept_out_of_them_too(stage: Stage, http_user: HttpUser, doubles: Doubles):
    seen = set()
    for status, answer in _refusals(stage, http_user, doubles):
        assert answer.status_code == status, (answer.request.method, answer.request.url, answer.status_code)
        _check(answer)
        seen.add(status)
    assert seen == {400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 503}


def test_t51_t56_so_is_every_step_of_the_way(stage: Stage, http_user: HttpUser):
    steps: list[httpx2.Response] = []
    http_user.http.event_hooks["response"] = [steps.append]
    stage.complete(http_user, stage.ask())
    ours = [step for step in steps if str(step.request.url).startswith(stage.box.url)]
    assert {step.status_code for step in ours} >= {200, 303}
    for step in ours:
        _check(step)


@pytest.mark.django_db
def test_t51_t56_so_is_our_own_mistake(client: Client, monkeypatch: pytest.MonkeyPatch):
    def broken(_: str) -> None:
        raise RuntimeError("canary of T114")

    monkeypatch.setattr(elicitations, "find", broken)
    client.raise_request_exception = False
    answer = client.get("/c/el_x")
    assert answer.status_code == 500
    assert b"canary" not in answer.content
    assert (answer["X-Frame-Options"], answer["Cache-Control"]) == ("DENY", "no-store")
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert b'data-page="refused"' in answer.content


def test_t114_no_answer_names_the_software_that_gave_it(stage: Stage):
    for path in ("/", "/healthz", "/v1/nothing", "/admin/login/"):
        names = set(httpx2.get(stage.box.url + path, trust_env=False).headers)
        assert not names & {"server", "x-powered-by", "via"}, path


def _raw(stage: Stage, head: str, body: str = "") -> bytes:
    with socket.create_connection(("127.0.0.1", stage.box.ports[0]), 10) as connection:
        connection.sendall(f"{head}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    "url", ["{good}\r\nX-Injected: 1", "{good}\nX-Injected: 1", "{good}\x0bX", "{good}%0d%0aX-Injected:1"]
)
def test_t54_line_breaks_do_not_get_in(stage: Stage, sink: Sink, url: str):
    assert stage.try_to_ask(return_url=url.format(good=sink.url("/done"))).status_code == 422
    assert stage.try_to_ask(provider="drive\r\nX-Injected: 1").status_code == 422


@pytest.mark.parametrize(
    "path",
    ["/c/x%0d%0aX-Injected:%201", "/callback/drive?state=%0d%0aX-Injected:%201", "/login/x%0d%0aX-Injected:1/callback",
     "/%0d%0aX-Injected:%201", "/account?next=%0d%0aX-Injected:%201"],
)  # fmt: skip
def test_t54_line_breaks_do_not_come_out(stage: Stage, path: str):
    answer = _raw(stage, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1")
    head = answer.partition(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"http/1.1 ")
    assert b"\r\nx-injected" not in head


HOSTS = ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "127.0.0.1@evil.example", "", "xn--pple-43d.com"]


@pytest.mark.parametrize("host", HOSTS)
def test_t59_a_forged_host_is_refused(stage: Stage, host: str):
    asked = stage.ask()
    for path in ("/", f"/c/{asked['id']}", "/account", "/nothing"):
        answer = _raw(stage, f"GET {path} HTTP/1.1\r\nHost: {host}")
        assert answer.split()[1] == b"400", (path, answer[:200])
        assert host.encode() not in answer or not host


def test_t59_links_and_redirects_are_made_from_the_setting_alone(stage: Stage):
    body = {
        "kind": "oauth", "message": "x", "params": {"provider": "drive"},
        "subject": {"iss": stage.corp.issuer, "sub": "alice"},
    }  # fmt: skip
    for number, (name, value) in enumerate(itertools.product(["x-forwarded-host", "x-host"], ["evil.example"])):
        answer = stage.agent.post("/v1/elicitations", json=body, headers={name: value, "idempotency-key": str(number)})
        assert answer.json()["url"].startswith(f"{stage.box.url}/c/")
    allowed = {"host": f"localhost:{stage.box.ports[0]}"}
    answer = stage.agent.post("/v1/elicitations", json=body, headers=allowed)
    assert answer.status_code == 201
    assert answer.json()["url"].startswith(f"{stage.box.url}/c/")


def test_t59_so_are_the_addresses_that_providers_come_back_to(stage: Stage, http_user: HttpUser):
    http_user.http.headers["host"] = f"localhost:{stage.box.ports[0]}"
    http_user.open(stage.ask()["url"])
    assert http_user.page_name == "signin"
    with http_user.stopping_at(stage.corp.issuer):
        request = http_user.form_request("signin")
        request.headers["origin"] = f"http://localhost:{stage.box.ports[0]}"
        answer = http_user.send(request)
    assert answer.is_redirect, answer.text
    assert httpx2.URL(answer.headers["location"]).params["redirect_uri"].startswith(stage.box.url)
