"""Two calls that agents make all the time, answered on the event loop where nothing about them is unusual.

They are getting a token that is fresh, and getting an elicitation. No rule is written here a second time: an answer
comes from ``api.reads``, and whatever a request has that would need another rule leaves it to Django (docs/adr/0030).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from elicit_flows.api.rate_limits import Counted
from elicit_flows.api.reads import Reads
from elicit_flows.lib import telemetry
from elicit_flows.lib.wsgi_bridge import Disconnected, Headers, Message, Receive, Scope, read_body, respond
from elicit_flows.models import Agent

TOKEN = re.compile(r"/v1/connections/(cn_[\w-]{1,60})/token", re.ASCII)
ELICITATION = re.compile(r"/v1/elicitations/(el_[\w-]{1,60})", re.ASCII)
CALLS = {"POST": TOKEN, "GET": ELICITATION}
# The only bodies that are understood, both of which say nothing: by Content-Length and Content-Type.
NONE: tuple[bytes | None, bytes | None] = (None, None)
BODIES = {
    "POST": {NONE: b"", (b"0", None): b"", (b"0", b"application/json"): b"", (b"2", b"application/json"): b"{}"},
    "GET": {NONE: b""},
}
# Headers that Django or a view reads, and that few clients send.
UNUSUAL = {b"cookie", b"content-encoding", b"transfer-encoding"}
LogAnswer = Callable[[str, str, int, float], None]


class FastPath:
    """``headers``: of every answer of the API. ``log_answer``: logs a request, as Django's middleware does."""

    def __init__(self, reads: Reads, headers: Headers, log_answer: LogAnswer) -> None:
        self._reads, self._headers, self._log_answer = reads, headers, log_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Counted) -> Receive | None:
        """Answer and return None; or leave the request to Django, and return what to read it from."""
        began = time.monotonic()
        named = CALLS[scope["method"]].fullmatch(scope["path"]) if scope["method"] in CALLS else None
        expected = _expected_body(scope) if named else None
        if named is None or expected is None:
            return receive
        try:
            body = await read_body(scope, receive, len(expected))
        except Disconnected:
            return receive  # which says so again
        agent = await self._reads.agent(send.key_hash)
        content = await self._content(agent, named) if agent and body == expected else None
        if agent is None or content is None:
            return _again(body)
        about = {"elicitation": named[1]} if named.re is ELICITATION else {}
        with telemetry.logged_request(agent=agent.slug, **about) as number:
            headers = [*self._headers, (telemetry.REQUEST_ID.lower().encode(), number.encode())]
            await respond(send, 200, headers, content)
            self._log_answer(scope["method"], scope["path"], 200, began)
        return None

    async def _content(self, agent: Agent, named: re.Match[str]) -> bytes | None:
        if named.re is ELICITATION:
            said = await self._reads.elicitations.load((agent.pk, named[1]))
            return said and said.body
        if agent.require_user_token or agent.tokens_never_leave:
            return None
        return await self._reads.tokens.load((agent.pk, named[1]))


def _expected_body(scope: Scope) -> bytes | None:
    """What the body has to be; None if something in the request's head needs a rule."""
    headers = dict(scope["headers"])
    domain, _ = split_domain_port(headers.get(b"host", b"").decode("latin-1"))
    usual = (
        not scope["query_string"]
        and len(headers) == len(scope["headers"])  # none is there twice
        and UNUSUAL.isdisjoint(headers)
        and domain
        and validate_host(domain, settings.ALLOWED_HOSTS)  # as Django does
    )
    kind = headers.get(b"content-length"), headers.get(b"content-type")
    return BODIES[scope["method"]].get(kind) if usual else None


def _again(body: bytes) -> Receive:
    """Receives a request's body that was read already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
