"""Three calls that agents make all the time, answered on the event loop where nothing about them is unusual.

They are getting a token that is fresh, getting an elicitation, and creating one. No rule is written here a second time:
an answer comes from ``api.reads`` or ``api.batched_creates``, and whatever a request has that would need another rule
leaves it to Django (docs/adr/0030).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import lru_cache

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from elicit_flows.api.batched_creates import Answer, Creates
from elicit_flows.api.rate_limits import Counted
from elicit_flows.api.reads import Reads
from elicit_flows.lib import telemetry
from elicit_flows.lib.wsgi_bridge import Disconnected, Headers, Message, Receive, Scope, read_body, respond

TOKEN = re.compile(r"/v1/connections/(cn_[\w-]{1,60})/token", re.ASCII)
ELICITATION = re.compile(r"/v1/elicitations/(el_[\w-]{1,60})", re.ASCII)
CREATE = re.compile("/v1/elicitations")
CALLS = {"POST": (CREATE, TOKEN), "GET": (ELICITATION,)}
LONGEST = 8192  # bytes of a create's body; other creates wait while a longer one is checked
# The only bodies that are understood for the others, which say nothing: by Content-Length and Content-Type.
NONE: tuple[bytes | None, bytes | None] = (None, None)
BODIES = {
    "POST": {NONE: 0, (b"0", None): 0, (b"0", b"application/json"): 0, (b"2", b"application/json"): 2},
    "GET": {NONE: 0},
}
# Headers that Django or a view reads, and that few clients send.
UNUSUAL = {b"cookie", b"content-encoding", b"transfer-encoding"}
LogAnswer = Callable[[str, str, int, float], None]


class FastPath:
    """``headers``: of every answer of the API. ``log_answer``: logs a request, as Django's middleware does."""

    def __init__(self, reads: Reads, creates: Creates, headers: Headers, log_answer: LogAnswer) -> None:
        self._reads, self._creates, self._headers, self._log_answer = reads, creates, headers, log_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Counted) -> Receive | None:
        """Answer and return None; or leave the request to Django, and return what to read it from."""
        began = time.monotonic()
        calls = (one.fullmatch(scope["path"]) for one in CALLS.get(scope["method"], ()))
        named = next(filter(None, calls), None)
        understood = _understood(scope, creates=named.re is CREATE) if named else None
        if named is None or understood is None:
            return receive
        headers, longest = understood
        try:
            body = await read_body(scope, receive, longest)
        except Disconnected:
            return receive  # which says so again
        agent = await self._reads.agent(send.key_hash)
        about = {"elicitation": named[1]} if named.re is ELICITATION else {}
        answer = None
        if agent is None:
            return _again(body)
        with telemetry.LoggedRequest(agent=agent.slug, **about) as number:
            if named.re is CREATE:
                answer = await self._creates.answer(agent, body, headers.get(b"idempotency-key"))
            elif body in {b"", b"{}"}:
                content = None
                if named.re is ELICITATION:
                    said = await self._reads.elicitations.load((agent.pk, named[1]))
                    content = said and said.body
                elif not (agent.require_user_token or agent.tokens_never_leave):
                    content = await self._reads.tokens.load((agent.pk, named[1]))
                answer = Answer(200, [], content) if content else None
            if not answer:
                return _again(body)
            own = [*answer.headers, (telemetry.REQUEST_ID.lower().encode(), number.encode())]
            await respond(send, answer.status, [*{**dict(self._headers), **dict(own)}.items()], answer.content)
            self._log_answer(scope["method"], scope["path"], answer.status, began)
        return None


def _understood(scope: Scope, *, creates: bool) -> tuple[dict[bytes, bytes], int] | None:
    """The headers, and how many bytes the body may have; None if something in the request's head needs a rule."""
    headers = dict(scope["headers"])
    usual = (
        not scope["query_string"]
        and len(headers) == len(scope["headers"])  # none is there twice
        and UNUSUAL.isdisjoint(headers)
        and _is_ours(headers.get(b"host", b""), tuple(settings.ALLOWED_HOSTS))
    )
    length, kind = headers.get(b"content-length"), headers.get(b"content-type")
    longest = BODIES[scope["method"]].get((length, kind))
    if creates:
        short = kind == b"application/json" and length is not None and length.isdigit() and int(length) <= LONGEST
        longest = LONGEST if short else None
    return (headers, longest) if usual and longest is not None else None


@lru_cache(64)
def _is_ours(host: bytes, allowed: tuple[str, ...]) -> bool:
    """As Django does it."""
    domain, _ = split_domain_port(host.decode("latin-1"))
    return bool(domain and validate_host(domain, allowed))


def _again(body: bytes) -> Receive:
    """Receives a request's body that was read already."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
