"""The providers of the journeys: a second identity provider, and doubles that answer wrongly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.cast import Program, program
from tests.doubles.provider import Provider
from tests.journey.stage import Stage
from tests.support import box_config
from tests.support.box import Box
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.sink import Sink

AGENTS = 120
STRICT_AGE = 1000  # seconds
# Its host is written with a Cyrillic letter. Nobody goes there.
LOOKALIKE = {
    "slug": "lookalike", "name": "Apple", "client_id": "elicit", "token_auth": "none",
    "authorize_url": "https://xn--pple-43d.example/authorize", "token_url": "https://xn--pple-43d.example/token",
}  # fmt: skip


@dataclass
class Doubles:
    """Named as in the configuration: each is the OAuth provider, and some the identity provider, of that slug."""

    bad: Provider = field(default_factory=Provider)  # answers as the test says
    evil: Provider = field(default_factory=Provider)  # would like to have the codes of others
    strict: Provider = field(default_factory=Provider)  # an identity provider with a max_age
    liar: Provider = field(default_factory=Provider)  # its metadata names another issuer
    lax: Provider = field(default_factory=Provider)  # offers no PKCE with S256

    def all(self) -> list[Provider]:
        return [self.bad, self.evil, self.strict, self.liar, self.lax]

    def reset(self) -> None:
        for one in self.all():
            one.calls.clear()
            one.requests.clear()
            one.scripted.clear()
            one.reply.clear()
            one.claims.clear()
            one.decision, one.user, one.opens = None, {"sub": "alice", "name": "Alice"}, True


@pytest.fixture(scope="session")
def doubles_servers() -> Iterator[Doubles]:
    found = Doubles()
    found.liar.metadata = {"issuer": "https://honest.example.com"}
    found.lax.metadata = {"code_challenge_methods_supported": ["plain"]}
    with ExitStack() as stack:
        for one in found.all():
            stack.callback(one.close)
        yield found


@pytest.fixture
def doubles(doubles_servers: Doubles) -> Doubles:
    doubles_servers.reset()
    return doubles_servers


@pytest.fixture(scope="session")
def partner_server(new_op: Callable[..., Op]) -> Op:
    return new_op(name="partner", role="identity")


@pytest.fixture
def partner(partner_server: Op) -> Op:
    """A second identity provider: its alice is another person than corp's."""
    partner_server.reset()
    return partner_server


def _openid(slug: str, double: Provider, **more: Any) -> dict[str, Any]:
    client = {"client_id": double.client_id, "client_secret": double.client_secret}
    return {"slug": slug, "issuer": double.url, **client, **more}


def _oauth(slug: str, double: Provider, **more: Any) -> dict[str, Any]:
    return {**_openid(slug, double), "name": slug.title(), "scopes": ["openid"], **more}


def prepare(box: Box, doubles: Doubles, partner: Op, drive: Op, sink: Sink) -> Iterator[Program]:
    """Adds the journeys' providers and agents to the box; gives the agents one by one."""
    standard = {"return_urls": [sink.url("/done")], "identity_providers": ["corp", "partner", "strict", "liar", "evil"]}
    beside: box_config.Tables = {
        "identity_provider": [
            box_config.identity_provider(partner, box.url, slug="partner"),
            _openid("strict", doubles.strict, max_age=STRICT_AGE),
            _openid("liar", doubles.liar),
            _openid("evil", doubles.evil, max_age=0),
        ],
        "provider": [
            *(_oauth(slug, getattr(doubles, slug)) for slug in ("bad", "evil", "liar", "lax")),
            LOOKALIKE,
            box_config.device_provider(drive, box.url, slug="by-device"),
        ],
    }
    for first in itertools.count(1, step=AGENTS):
        agents = [program(f"journey-{number}") for number in range(first, first + AGENTS)]
        box.apply({**beside, "agent": [box_config.agent(one, sink.url(f"/{one.slug}"), **standard) for one in agents]})
        box.programs.update({one.slug: one for one in agents})
        yield from agents


@pytest.fixture(scope="session")
def agents_of(
    doubles_servers: Doubles, partner_server: Op, drive_server: Op, sink: Sink
) -> Callable[[Box], Iterator[Program]]:
    """The unused agents of a box, which is made ready for journeys on first use."""
    known: dict[str, Iterator[Program]] = {}

    def agents(box: Box) -> Iterator[Program]:
        if box.url not in known:
            known[box.url] = prepare(box, doubles_servers, partner_server, drive_server, sink)
        return known[box.url]

    return agents


@pytest.fixture
def new_stage(agents_of: Callable[[Box], Iterator[Program]], corp: Op, drive: Op) -> Callable[[Box], Stage]:
    def make(box: Box) -> Stage:
        return Stage(box, box.agent(next(agents_of(box)).slug), corp, drive)

    return make


@pytest.fixture
def stage(new_stage: Callable[[Box], Stage], embedded_box: Box) -> Stage:
    """On the embedded shape: for what does not depend on the shape."""
    return new_stage(embedded_box)


@pytest.fixture
def each_stage(new_stage: Callable[[Box], Stage], box: Box) -> Stage:
    """On either shape in turn: for whole ways and races."""
    return new_stage(box)


@pytest.fixture
def alice(stage: Stage, user: User, http_user: HttpUser) -> User:
    """Signed in, nothing asked of her yet; a program has done the signing in for her."""
    http_user.open(f"{stage.box.url}/account")
    http_user.press("signin", provider="corp")
    http_user.press("alice")
    kept = http_user.http.cookies["sessionid"]
    user.context.add_cookies([{"name": "sessionid", "value": kept, "url": stage.box.url}])
    return user
