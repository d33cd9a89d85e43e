"""No secret leaves the vault: canaries go through a whole life of a connection, then every place is searched for them.

A dye travels beside them, as the agent's message: where it is not found, nothing was looked at.
"""

from __future__ import annotations

import base64
import html
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

import httpx2
import pytest
import redis as redis_client
from django.core import signing

from tests.cast import ALICE, OLGA, Program
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.support import box_config, canary, dump
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

LINK = re.compile(r'href="(/admin/[^"#?]*)"')
PLACES = ("database", "logs", "pages", "api", "webhooks", "feed", "admin")  # and Redis, where there is one
END = "end-of-listening"


class Remembering(Provider):
    """Keeps every token it gave, and can answer with all that it was sent."""

    def __init__(self, secret: str) -> None:
        self.given: list[str] = []
        super().__init__(client_secret=secret)

    def id_token(self, user: dict[str, Any], nonce: str | None, access_token: str) -> str:
        token = super().id_token(user, nonce, access_token)
        self.given.append(token)
        return token

    def for_client(self, request: Request) -> Response:
        """Whoever the client is."""
        return self._for_client(request.form)

    def odd(self, request: Request) -> Response:
        """An answer of a kind that is not understood, with a token in it."""
        self.given.append(f"at-{secrets.token_urlsafe(16)}")
        return json_response({"access_token": self.given[-1], "token_type": "mac", "expires_in": 3600})

    def secrets(self) -> Iterator[tuple[str, str]]:
        """Everything of it that nobody may see, with what it was shown: states, nonces, codes, verifiers."""
        yield from (("token", token) for token in self.given)
        for access, issued in self.tokens.items():
            yield "access token", access
            yield from (("refresh token", refresh) for refresh in issued.history)
        for name, request in self.requests:
            sent = request.query if name == "authorize" else request.form
            yield from ((key, sent[key]) for key in ("state", "nonce", "code", "code_verifier") if key in sent)


def echo(status: int, error: str = "server_error") -> Callable[[Request], Response]:
    """A provider that refuses and says what it was sent, credentials and all."""

    def answer(request: Request) -> Response:
        said = f"{request.body.decode()} {json.dumps(request.headers)}"
        return json_response({"error": error, "error_description": said}, status)

    return answer


@dataclass
class Story:
    """One life of a connection on one box; ``places`` is what it left where."""

    box: Box
    agent: AgentClient
    user: HttpUser
    corp: Remembering
    drive: Remembering
    sink: Sink
    places: dict[str, bytes] = field(default_factory=dict)
    dye: str = field(default_factory=lambda: f"dye-{secrets.token_hex(12)}")
    own_client: str = field(default_factory=lambda: f"own-{secrets.token_urlsafe(24)}")
    cookies: set[str] = field(default_factory=set)  # every session that any browser here was ever given
    typed: list[str] = field(default_factory=lambda: [f"typed-{secrets.token_urlsafe(24)}" for _ in range(3)])

    def canaries(self) -> dict[str, bytes]:
        """By the name under which a test reports them."""
        keys = self.box.env["ELICIT_VAULT_KEYS"].partition(":")[2]
        known = {
            "API key": self.agent.api_key, "webhook secret": self.agent.webhook_secret.removeprefix("whsec_"),
            "client secret at corp": self.corp.client_secret, "client secret at drive": self.drive.client_secret,
            "vault key": keys, "SECRET_KEY": self.box.env["SECRET_KEY"], "password": OLGA.password,
            "secret of her own client": self.own_client,
        }  # fmt: skip
        pairs = [*self.corp.secrets(), *self.drive.secrets(), *(("typed key", one) for one in self.typed)]
        shown = {f"{name} {number}": value for number, (name, value) in enumerate(pairs)}
        raw = {"vault key, raw": base64.b64decode(keys)}
        return {name: str(value).encode() for name, value in (known | shown).items()} | raw

    def note(self, place: str, *texts: str | bytes) -> None:
        for text in texts:
            data = text if isinstance(text, bytes) else text.encode()
            self.places[place] = self.places.get(place, b"") + b"\n" + data

    def leaks(self, place: str) -> list[str]:
        return canary.found_in(self.places[place], self.canaries())

    # What happens.

    def ask(self, **more: Any) -> dict[str, Any]:
        body = {
            "kind": "oauth", "subject": ALICE.subject(self.corp.url), "params": {"provider": "drive"},
            "message": self.dye, "metadata": {"dye": self.dye}, "reuse": "never", **more,
        }  # fmt: skip
        answer = self.agent.post("/v1/elicitations", json=body, headers={"idempotency-key": secrets.token_hex(8)})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def connect(self, asked: dict[str, Any]) -> str:
        """How the elicitation stands when she has been through it."""
        self.user.open(asked["url"])
        self.user.carry_on("signin", "continue")
        path = f"/v1/elicitations/{asked['id']}"
        return str(self.agent.get(path, params={"wait": 1, "after_seq": 0}).json()["status"])

    def token(self, connection: str) -> httpx2.Response:
        """The one call whose answer, when all is well, has a token in it."""
        with httpx2.Client(headers=self.agent.headers, trust_env=False, timeout=30) as client:
            answer = client.post(f"{self.box.url}/v1/connections/{connection}/token", json={})
        if answer.status_code != 200:
            self.note("api", answer.text, str(answer.headers))
        return answer

    def live_and_fail(self) -> None:
        """Connect, refresh, lose the grant, connect again, meet the providers' errors, revoke."""
        assert self.connect(self.ask()) == "completed"
        connection = self.agent.get("/v1/connections").json()["data"][0]["id"]
        first = self.token(connection).json()["access_token"]
        until(lambda: self.token(connection).json()["access_token"] != first, "the token was refreshed")
        with scripted(self.drive, "token", echo(400, "invalid_grant")):
            until(lambda: self.token(connection).status_code == 409, "the grant is dead")
        assert self.connect(self.ask()) == "completed"
        with scripted(self.drive, "token", echo(500)):
            until(lambda: self.token(connection).status_code == 503, "the token has run out")
            assert self.connect(self.ask()) == "started"
        for route, script, status in (
            ("token", echo(400, "invalid_client"), "failed"),
            ("token", self.drive.odd, "failed"),
            ("userinfo", echo(500), "completed"),
        ):
            with scripted(self.drive, route, script):
                assert self.connect(self.ask()) == status, route
        with scripted(self.drive, "revoke", echo(500)):
            assert self.agent.delete(f"/v1/connections/{connection}").status_code == 204
            until(lambda: self.drive.calls["revoke"], "the provider was told of the revocation")

    def hand_over(self) -> None:
        """A key that is wrong, one that cannot be checked, and one that is right; the provider repeats each."""
        self.user.open(self.ask(kind="credentials", params={"provider": "keys"})["url"])
        self.user.carry_on("signin")
        for key, status, shown in zip(self.typed, (401, 500, 200), ("started", "started", "completed"), strict=True):
            with scripted(self.drive, "userinfo", echo(status)):
                self.user.press("submit", key=key)
            assert self.user.page_status == shown, self.user.text

    def hand_over_a_client(self) -> None:
        """A client of her own that is refused, that cannot be checked, and that is given tokens until it is refused."""
        self.user.open(self.ask(kind="credentials", params={"provider": "own"})["url"])
        for status, error, shown in ((401, "invalid_client", "started"), (500, "x", "started"), (0, "", "completed")):
            with scripted(self.drive, "token", echo(status, error) if status else self.drive.for_client):
                self.user.press("submit", client_id="her-own-client", client_secret=self.own_client)
            assert self.user.page_status == shown, self.user.text
        connection = self.agent.get("/v1/connections", params={"provider": "own"}).json()["data"][0]["id"]
        self.agent.post(f"/v1/connections/{connection}/secret")
        with scripted(self.drive, "token", echo(400, "invalid_scope")):
            until(lambda: self.token(connection).status_code == 503, "the token has run out")
        with scripted(self.drive, "token", echo(401, "invalid_client")):
            until(lambda: self.token(connection).status_code == 409, "the client is refused")

    def fail_to_sign_in(self, stranger: HttpUser) -> None:
        """The identity provider breaks, and a callback comes that nobody asked for."""
        watch(stranger.http, self, "pages")
        with scripted(self.corp, "token", echo(500)):
            stranger.open(self.ask()["url"])
            stranger.carry_on("signin")
        assert stranger.answer.status_code == 503, stranger.text
        code, state = (dict(self.drive.secrets())[name] for name in ("code", "state"))
        assert stranger.get(f"{self.box.url}/callback/drive?code={code}&state={state}").status_code == 400

    def look_around(self) -> None:
        """Every page, every answer, every store."""
        for path in (
            "/",
            "/account",
            "/account/requests",
            "/account/activity",
            "/account/security",
            "/account/delete",
            "/account/export",
            "/v1/docs",
            f"/{self.dye}",
        ):
            self.user.open(self.box.url + path)
        for row in self.agent.get("/v1/connections").json()["data"]:
            self.user.open(f"{self.box.url}/account/connections/{row['id']}")
        for row in self.agent.get("/v1/elicitations").json()["data"]:
            self.user.open(row["url"])
            self.user.open(row["url"] + "/done")
        for path in (
            "/v1/events?wait=1",
            "/v1/events",
            "/v1/connections",
            "/v1/webhooks/deliveries",
            "/v1/openapi.json",
        ):
            self.agent.get(path)
        self.note("feed", self.agent.get("/v1/events").content, self.stream())
        for path in ("/metrics", "/incidents", "/livez", "/readyz"):
            answer = self.agent.get(path)
            self.note("metrics", answer.content, str(answer.headers))

    def stream(self) -> str:
        """The feed as a stream, up to the revocation."""
        headers = {**self.agent.headers, "accept": "text/event-stream"}
        read = ""
        with httpx2.stream("GET", f"{self.box.url}/v1/events?after=", headers=headers, trust_env=False) as answer:
            for piece in answer.iter_text():
                read += piece
                if "connection.revoked" in read:
                    break
        return read

    def crawl_admin(self, olga: HttpUser) -> None:
        """Every page of the admin that links lead to, as a superuser."""
        watch(olga.http, self, "admin")
        olga.open(f"{self.box.url}/admin/")
        token = olga.http.cookies["csrftoken"]
        form = {"username": OLGA.username, "password": OLGA.password, "csrfmiddlewaretoken": token, "next": "/admin/"}
        assert olga.http.post(olga.url, data=form).status_code == 302
        seen: set[str] = set()
        queue = ["/admin/"]
        while queue:
            address = queue.pop()
            if address not in seen and not address.startswith("/admin/logout"):
                seen.add(address)
                queue += LINK.findall(olga.open(self.box.url + address).text)
        assert len(seen) > 30, seen
        assert {"/admin/grants/", "/admin/elicit_flows/provider/1/switch/"} <= seen
        self.take_away(olga, token=olga.http.cookies["csrftoken"])

    def take_away(self, olga: HttpUser, token: str) -> None:
        """Every list as a file, the grants of this month, what a search finds, the numbers of a month."""
        form = {"csrfmiddlewaretoken": token}
        for page in ("elicitation", "delivery"):
            address = f"{self.box.url}/admin/elicit_flows/{page}/"
            rows = re.findall(r'name="_selected_action" value="([^"]+)"', olga.open(address).text)
            action = {**form, "action": "export_csv", "_selected_action": rows}
            assert olga.http.post(address, data=action).headers["content-type"].startswith("text/csv")
        grants = olga.open(f"{self.box.url}/admin/grants/").text
        month = re.findall(r"<option>([\d-]+)</option>", grants)[0]
        taken = olga.http.post(f"{self.box.url}/admin/grants/", data={**form, "month": month})
        assert taken.headers["content-type"].startswith("text/csv")
        assert ALICE.sub in taken.text
        for wanted in (ALICE.sub, self.agent.slug, "drive"):
            found = olga.http.post(f"{self.box.url}/admin/search/", data={**form, "q": wanted}, follow_redirects=True)
            assert wanted in found.text
        olga.open(f"{self.box.url}/admin/?span=30d")

    def gather(self, traffic: list[str]) -> None:
        """What is left in the stores."""
        self.sink.wait_for_event(f"/{self.agent.slug}", "connection.revoked")
        for delivery in self.sink.received(f"/{self.agent.slug}"):
            self.note("webhooks", delivery.body, str(delivery.headers))
        self.note("database", dump.database(self.box.database_url))
        for file in self.box.home.glob("elicit.sqlite3*"):
            self.note("database", file.read_bytes())
        if self.box.redis_url:
            with redis_client.Redis.from_url(self.box.redis_url) as client:
                client.set("planted", base64.b64encode(self.dye.encode()))
                until(lambda: any("planted" in command for command in traffic), "what went to Redis is known")
            self.note("redis", dump.redis_database(self.box.redis_url), *traffic)
        self.note("logs", self.box.logs())


@contextmanager
def scripted(double: Provider, route: str, script: Callable[[Request], Response]) -> Iterator[None]:
    double.scripted[route] = script
    yield
    del double.scripted[route]


def watch(client: httpx2.Client, story: Story, place: str) -> None:
    """Notes every answer of the service, headers too, but for where it sends a browser to a provider, with a state."""

    def seen(answer: httpx2.Response) -> None:
        if not str(answer.url).startswith(story.box.url):
            return
        answer.read()
        story.cookies |= {value for name, value in answer.cookies.items() if name.endswith("sessionid")}
        leaves = answer.headers.get("location", "").startswith((story.corp.url, story.drive.url))
        headers = [(name, value) for name, value in answer.headers.multi_items() if name != "location" or not leaves]
        story.note(place, answer.text, str(headers))

    client.event_hooks = {"response": [seen]}


@contextmanager
def listening(url: str | None) -> Iterator[list[str]]:
    """Every command that Redis gets while the block runs."""
    heard: list[str] = []
    if url is None:
        yield heard
        return

    def listen() -> None:
        for command in monitor.listen():
            heard.append(command["command"])
            if END in heard[-1]:
                return

    with redis_client.Redis.from_url(url) as client, client.monitor() as monitor:
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield heard
        client.delete(END)
        thread.join(10)


def configured(box: Box, agent: Program, corp: Remembering, drive: Remembering, hook: str) -> None:
    one = {"issuer": corp.url, "client_id": corp.client_id, "client_secret": corp.client_secret}
    other = {"issuer": drive.url, "client_id": drive.client_id, "client_secret": drive.client_secret}
    box.agent_table = lambda who: box_config.agent(who, hook)
    tables: box_config.Tables = {
        "identity_provider": [{"slug": "corp", **one}],
        "provider": [
            {"slug": "drive", "name": "Drive", "scopes": ["openid"], **other},
            {
                "slug": "keys",
                "fields": [{"name": "key", "label": "Key"}],
                "verify": {"url": f"{drive.url}/userinfo?key={{key}}", "headers": {"x-key": "{key}"}},
            },
            {"slug": "own", "name": "Own", "sort": "credentials", "token_url": f"{drive.url}/token"},
        ],
    }
    box.add_agents(agent, beside=tables)
    box.add_operator()


def an_agent(shape: str) -> Program:
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    return Program(f"canary-of-{shape}", "Canary Bot", f"canary-{secrets.token_urlsafe(32)}", f"whsec_{key}")


@pytest.fixture(scope="module", params=["embedded", pytest.param("full", marks=pytest.mark.slow)])
def story(request: pytest.FixtureRequest, new_box: Callable[..., Box], sink: Sink) -> Iterator[Story]:
    """One life on either shape, told once for all the tests here."""
    with (
        Remembering(f"corp-{secrets.token_urlsafe(24)}") as corp,
        Remembering(f"drive-{secrets.token_urlsafe(24)}") as drive,
    ):
        drive.expires_in = 1
        box, who = new_box(request.param, configure=False, start=False), an_agent(request.param)
        configured(box, who, corp, drive, sink.url(f"/{who.slug}"))
        box.start()
        with ExitStack() as stack:
            alice, stranger, olga = (stack.enter_context(closing(HttpUser())) for _ in range(3))
            told = Story(box, box.agent(who.slug), alice, corp, drive, sink)
            watch(told.agent, told, "api")
            watch(alice.http, told, "pages")
            traffic = stack.enter_context(listening(box.redis_url))
            told.hand_over()
            told.hand_over_a_client()
            told.live_and_fail()
            told.fail_to_sign_in(stranger)
            told.look_around()
            told.crawl_admin(olga)
            told.gather(traffic)
        box.stop()
        yield told


def test_t75_no_canary_is_in_the_database_its_files_or_redis(story: Story) -> None:
    assert story.leaks("database") == []
    assert story.box.redis_url is None or story.leaks("redis") == []


def test_t75_t130_no_cookie_of_any_session_is_in_the_database_its_files_redis_or_a_log(story: Story) -> None:
    assert len(story.cookies) >= 3, "two people and an operator"
    cookies = {f"cookie {number}": cookie.encode() for number, cookie in enumerate(story.cookies)}
    for place in {"database", "redis", "logs"} & story.places.keys():
        assert canary.found_in(story.places[place], cookies) == [], place
    assert len(canary.found_in(story.places["pages"] + story.places["admin"], cookies)) == len(cookies)


def test_t87_no_canary_is_in_the_log_of_any_process(story: Story) -> None:
    assert story.leaks("logs") == []


def test_t73_no_canary_is_in_what_agents_are_told_but_for_the_access_token_they_ask_for(story: Story) -> None:
    for place in ("api", "webhooks", "feed"):
        assert story.leaks(place) == [], place


def test_t34_no_canary_is_on_a_page_or_in_its_headers(story: Story) -> None:
    assert story.leaks("pages") == []


def test_t112_no_canary_is_on_any_page_of_the_admin(story: Story) -> None:
    assert story.leaks("admin") == []


def test_t115_no_canary_and_no_name_is_in_what_anybody_may_measure(story: Story) -> None:
    assert b"elicit_open_elicitations" in story.places["metrics"]
    assert story.leaks("metrics") == []
    assert (
        canary.found_in(story.places["metrics"], {"dye": story.dye.encode(), "agent": story.agent.slug.encode()}) == []
    )


def test_every_place_was_really_searched_for_the_dye_is_found_there(story: Story) -> None:
    dyed = {place for place, text in story.places.items() if canary.found_in(text, {"dye": story.dye.encode()})}
    assert dyed == {*PLACES, *(["redis"] if story.box.redis_url else [])}


def test_the_canaries_are_those_that_really_travelled(story: Story) -> None:
    names = {name.rstrip(" 0123456789") for name in story.canaries()}
    assert {"API key", "webhook secret", "vault key", "client secret at drive", "state", "nonce", "code"} <= names
    assert {"code_verifier", "access token", "refresh token", "token", "typed key"} <= names
    assert {one.query["key"] for one in story.drive.seen("userinfo") if "key" in one.query} == set(story.typed)
    shown = {name for name, _ in story.drive.requests}
    assert {"authorize", "token", "userinfo", "revoke"} <= shown
    assert any(issued.history for issued in story.drive.tokens.values())
    grants = {request.form["grant_type"] for request in story.drive.seen("token")}
    assert grants == {"authorization_code", "refresh_token", "client_credentials"}
    sent = {request.headers["authorization"] for request in story.drive.seen("token")}
    assert f"Basic {base64.b64encode(f'her-own-client:{story.own_client}'.encode()).decode()}" in sent


SECRET = b'canary+/?<&"\xc3\xa9 of twenty-three'


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize(
    "spell",
    [
        bytes, base64.b64encode, base64.urlsafe_b64encode, lambda data: data.hex().encode(),
        lambda data: quote(data).encode(), lambda data: quote_plus(data).encode(),
        lambda data: json.dumps(data.decode()).encode(), lambda data: html.escape(data.decode()).encode(),
        lambda data: signing.dumps(data.decode(), key="k").encode(),
        lambda data: signing.dumps(data.decode() * 9, key="k", compress=True).encode(),
    ],
)  # fmt: skip
def test_the_search_finds_a_canary_in_every_spelling_wherever_it_begins(
    spell: Callable[[bytes], bytes], before: int
) -> None:
    place = b"something before " + spell(b"x" * before + SECRET + b"y") + b" and behind"
    assert canary.found_in(place, {"planted": SECRET, "absent": b"another canary"}) == ["planted"]
