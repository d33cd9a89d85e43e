"""An agent, a provider and a person, to measure whole journeys within this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import pytest
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.test import Client, RequestFactory

from elicit_flows import oauth
from elicit_flows.identity import SignedIn
from elicit_flows.models import Connection, Elicitation
from elicit_flows.web import connect, session, session_store
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.support import rows
from tests.support.rows import Known
from tests.support.sink import Sink
from tests.support.two_ways import Request, TwoWays

# They are tests of an older product, which `make findings` runs there.
collect_ignore = ["findings/reviewed"]


@dataclass
class Stage:
    """One agent, its provider's double, and the browser of one person."""

    known: Known
    double: Provider
    browser: SessionBase
    agent: Client
    ways: TwoWays

    def create(self) -> Elicitation:
        body = rows.question(reuse="never")
        answer = self.agent.post("/v1/elicitations", body, content_type="application/json")
        assert answer.status_code == 201, answer.content
        return Elicitation.objects.get(pk=answer.json()["id"])

    def _request(self, path: str, fields: dict[str, str] | None = None, *, sent: bool = False) -> HttpRequest:
        made = RequestFactory().post(path, fields) if sent else RequestFactory().get(path, fields)
        made.session = self.browser
        return made

    def press(self, row: Elicitation) -> dict[str, str]:
        """What the provider sends back with the browser."""
        answer = connect.proceed(self._request(f"/c/{row.pk}", {"press": f"of {row.pk}"}, sent=True), row.pk)
        return {name: values[0] for name, values in self.double.visit(answer["location"]).items()}

    def callback(self, brought: dict[str, str]) -> None:
        assert connect.callback(self._request("/callback/drive", brought), "drive").status_code == 303

    def request(self, method: str, path: str, body: bytes = b"") -> Request:
        """Of the agent, for ``ways``."""
        head = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {self.known.who.api_key}".encode())]
        if body:
            head += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        return Request(method, path, head, body)

    def fetch(self, row: Elicitation) -> Request:
        """Of the fresh token that its connection has."""
        connection = Elicitation.objects.get(pk=row.pk).result["connection"]
        return self.request("POST", f"/v1/connections/{connection}/token", b"{}")

    def token(self, row: Elicitation) -> None:
        """By Django."""
        connection = Elicitation.objects.get(pk=row.pk).result["connection"]
        answer = self.agent.post(f"/v1/connections/{connection}/token", {}, content_type="application/json")
        assert answer.status_code == 200, answer.content

    def expire(self, row: Elicitation) -> None:
        """The access token of its connection."""
        rows.expire(Connection.objects.get(pk=Elicitation.objects.get(pk=row.pk).result["connection"]))


@pytest.fixture
def stage(committed: None, sink: Sink) -> Iterator[Stage]:
    with built(sink) as made:
        yield made


@pytest.fixture
def stage_on_postgres(on_postgres: str, sink: Sink) -> Iterator[Stage]:
    with built(sink) as made:
        yield made


@contextmanager
def built(sink: Sink) -> Iterator[Stage]:
    oauth.forget()
    with Provider() as double, loopback_allowed():
        rows.provider(double, issuer=double.issuer)
        asking = rows.agent(webhook_url=sink.url("/events"))
        browser = session_store.SessionStore()
        arrived = RequestFactory().get("/")
        arrived.session = browser
        session.sign_in(arrived, SignedIn(rows.ALICE_CLAIM, "alice", 0))
        browser.save()
        agent = Client(headers={"authorization": f"Bearer {asking.who.api_key}"})
        with closing(TwoWays()) as ways:
            yield Stage(asking, double, browser, agent, ways)
