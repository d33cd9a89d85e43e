"""What every journey needs: an agent, the providers, and access to the database of one box."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import psycopg

from elicit_flows.web.session_store import stored_key
from tests.cast import ALICE, Person
from tests.support import dump
from tests.support.box import AgentClient, Box
from tests.support.box_config import PROVIDER
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until

Json = dict[str, Any]
WORKED_ON = {"[sqlite_sequence]"} | {
    f"[elicit_flows_{name}]"
    for name in ("elicitation", "event", "delivery", "connection", "feed", "agent", "tally", "checkout", "health")
}
TERMINAL = {"completed", "declined", "cancelled", "expired", "failed"}


@dataclass
class Stage:
    """One agent of a box that nobody used before, and the box's standard providers."""

    box: Box
    agent: AgentClient
    corp: Op
    drive: Op

    def ask(
        self, who: Person = ALICE, *, iss: str | None = None, provider: str = PROVIDER,
        scopes: list[str] | None = None, key: str | None = None, agent: AgentClient | None = None, **more: Any,
    ) -> Json:  # fmt: skip
        """Creates an elicitation of kind oauth for ``who``; the answer's body."""
        answer = self.try_to_ask(who, iss=iss, provider=provider, scopes=scopes, key=key, agent=agent, **more)
        assert answer.status_code in {200, 201}, answer.text
        return dict(answer.json())

    def try_to_ask(
        self, who: Person = ALICE, *, iss: str | None = None, provider: str = PROVIDER,
        scopes: list[str] | None = None, key: str | None = None, agent: AgentClient | None = None, **more: Any,
    ) -> httpx2.Response:  # fmt: skip
        body = {
            "kind": "oauth",
            "subject": who.subject(iss or self.corp.issuer),
            "message": "Connect your drive so that I can list your files.",
            "params": {"provider": provider, "scopes": scopes or []},
            **more,
        }
        headers = {"idempotency-key": key} if key else {}
        return (agent or self.agent).post("/v1/elicitations", json=body, headers=headers)

    def look(self, asked: Json) -> Json:
        """How it stands, as the agent sees it."""
        answer = self.agent.get(f"/v1/elicitations/{asked['id']}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def status(self, asked: Json) -> str:
        return str(self.look(asked)["status"])

    def events(self, asked: Json | None = None) -> list[str]:
        """The types of the agent's events, in order, without their prefix."""
        return [
            event["type"].removeprefix("elicitation.")
            for event in self.feed()
            if asked is None or event["elicitation"] == asked["id"]
        ]

    def feed(self) -> list[Json]:
        """All events of the agent."""
        found: list[Json] = []
        cursor = ""
        while page := self.agent.get("/v1/events", params={"limit": 100, "after": cursor}).json():
            found += page["data"]
            if len(page["data"]) < 100:
                break
            cursor = page["cursor"]
        return found

    def connections(self) -> list[Json]:
        return list(self.agent.get("/v1/connections").json()["data"])

    def token(self, asked: Json) -> httpx2.Response:
        """The agent fetches the access token that the completed elicitation gave it."""
        result = self.look(asked)["result"]
        return self.agent.post(f"/v1/connections/{result['connection']}/token", json={})

    def works(self, token: httpx2.Response) -> bool:
        """Whether the provider takes the token."""
        assert token.status_code == 200, token.text
        return self.userinfo(token.json()["access_token"]).status_code == 200

    def userinfo(self, access_token: str) -> httpx2.Response:
        return self.drive.http.get("/me", headers={"authorization": f"Bearer {access_token}"})

    def at_provider(self, user: HttpUser, asked: Json, who: str = "alice", provider: str | None = None) -> str:
        """Takes the user to where our page sends them, and stops there; the provider's authorization URL."""
        with user.stopping_at(provider or self.drive.issuer):
            user.connect(asked["url"], who)
            assert user.stopped, f"{user.url}: {user.text[:300]}"
            return user.location

    def answer(self, user: HttpUser, asked: Json, who: str = "alice", decide: str = "allow") -> str:
        """Takes the user through the provider and stops before our callback; the callback's URL."""
        with user.stopping_at(f"{self.box.url}/callback/"):
            user.connect(asked["url"], who, decide=decide)
            assert user.stopped, f"{user.url}: {user.text[:300]}"
            return user.location

    def complete(self, user: HttpUser, asked: Json, who: str = "alice") -> None:
        user.connect(asked["url"], who)
        assert (user.page_name, user.page_status) == ("done", "completed"), user.text
        assert self.status(asked) == "completed"

    @property
    def on_postgres(self) -> bool:
        return self.box.database_url.startswith("postgres")

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Reads or changes the box's database behind its back, as time would; ``%s`` for values."""
        if self.on_postgres:
            with psycopg.connect(self.box.database_url, autocommit=True) as connection:
                cursor = connection.execute(statement.encode(), values)
                return cursor.fetchall() if cursor.description else []
        with closing(sqlite3.connect(self.box.home / "elicit.sqlite3", timeout=20)) as lite, lite:
            return lite.execute(statement.replace("%s", "?"), values).fetchall()

    @contextmanager
    def held(self, asked: Json) -> Iterator[None]:
        """Within the block nobody writes to the elicitation or its attempts: all who want to come together."""
        with ExitStack() as stack:
            if self.box.shape == "full":
                connection = stack.enter_context(psycopg.connect(self.box.database_url))
                for table, key in (("elicitation", "id"), ("attempt", "elicitation_id")):
                    statement = f"SELECT 1 FROM elicit_flows_{table} WHERE {key} = %s FOR UPDATE"
                    connection.execute(statement.encode(), [asked["id"]])
            else:
                lite = sqlite3.connect(self.box.home / "elicit.sqlite3", timeout=20, isolation_level=None)
                stack.enter_context(closing(lite))
                lite.execute("BEGIN IMMEDIATE")
            yield

    def let_time_run_out(self, asked: Json) -> None:
        past = "2026-01-01 00:00:00+00:00" if self.on_postgres else "2026-01-01 00:00:00"
        self.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", past, asked["id"])

    def snapshot(self, *ids: str) -> str:
        """What is stored, to be compared; of the tables that the worker writes to, the rows that name an id."""
        kept, table = [], ""
        for line in dump.database(self.box.database_url).splitlines():
            table = line if line.startswith("[") else table
            if table not in WORKED_ON or any(one in line for one in ids):
                kept.append(line)
        return "\n".join(sorted(kept))

    def attempts(self, asked: Json) -> int:
        """How often somebody left for the provider."""
        rows = self.sql("SELECT count(*) FROM elicit_flows_attempt WHERE elicitation_id = %s", asked["id"])
        return int(rows[0][0])

    def check_invariants(self, asked: Json) -> None:
        """I1 to I3: one end, told once; a connection exactly when it completed."""
        found = self.look(asked)
        ends = [event for event in self.events(asked) if event in TERMINAL]
        assert ends == ([found["status"]] if found["status"] in TERMINAL else [])
        assert bool(found["result"]) == (found["status"] == "completed")
        kept = {row["id"] for row in self.connections()}
        if found["result"]:
            assert found["result"]["connection"] in kept

    def nothing_asked(self) -> AbstractContextManager[None]:
        return unasked(self.drive)

    def refuses(self, user: HttpUser, callback: str, status: int = 400) -> None:
        """The callback gets that status and a page, costs nothing at the provider and connects nothing."""
        with self.nothing_asked():
            answer = user.get(callback)
        assert answer.status_code == status, answer.text
        assert 'data-page="' in answer.text or "%00" in callback, "people get a page"
        assert self.connections() == []

    def sessions(self, key: str) -> int:
        """How many sessions are kept under that key."""
        return int(self.sql("SELECT count(*) FROM django_session WHERE session_key = %s", stored_key(key))[0][0])

    def revoked_upstream(self, access_token: str) -> None:
        until(lambda: self.userinfo(access_token).status_code == 401, "the provider has been told of the revocation")


@contextmanager
def unasked(op: Op) -> Iterator[None]:
    """Within the block nobody calls the token endpoint of ``op``."""
    before = op.counts().get("token", 0)
    yield
    assert op.counts().get("token", 0) == before, "the provider's token endpoint was called"


def query(url: str) -> dict[str, str]:
    """The query of a URL, where nothing stands twice."""
    found = parse_qs(urlsplit(url).query, keep_blank_values=True)
    assert all(len(values) == 1 for values in found.values()), url
    return {name: values[0] for name, values in found.items()}


def without_query(url: str) -> str:
    return urlsplit(url)._replace(query="").geturl()


def changed(url: str, **parameters: str | None) -> str:
    """The URL with parameters of its query replaced; None leaves one out."""
    values = {**query(url), **parameters}
    return f"{without_query(url)}?{urlencode({name: value for name, value in values.items() if value is not None})}"


def session_of(user: HttpUser) -> str:
    return str(user.http.cookies.get("sessionid", domain="127.0.0.1"))


def form_post(user: HttpUser, url: str, **fields: str) -> httpx2.Response:
    """Sends a form that no page offers this person, with the CSRF token of the page they are on."""
    token = next(
        value for form in user.page.forms.values() for name, value in form.fields if name == "csrfmiddlewaretoken"
    )
    headers = {"origin": url.rpartition("/c/")[0] or url, "sec-fetch-site": "same-origin"}
    request = user.http.build_request("POST", url, data={"csrfmiddlewaretoken": token, **fields}, headers=headers)
    return user.send(request)


def problem(answer: httpx2.Response) -> Json:
    assert answer.headers["content-type"].startswith("application/problem+json"), answer.text
    return dict(json.loads(answer.text))
