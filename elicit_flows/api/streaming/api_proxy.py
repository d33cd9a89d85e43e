"""/v1/connections/{id}/proxy/…: an agent calls a provider's API, and this service adds the credential.

Both bodies are passed on piece by piece. What of the request and of the reply is passed on, ``http.forwarding`` says;
where to and with what, ``vault.api_access``. Nothing is followed, and nothing is sent twice but after a 401.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NamedTuple, TypeVar

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from elicit_flows import http, oauth, vault
from elicit_flows.api import auth, responses, token_exchange
from elicit_flows.api.rate_limits import Counted
from elicit_flows.api.reads import Reads, resilient
from elicit_flows.api.streaming.admission import Admission
from elicit_flows.domain.errors import (
    BadPath,
    FlowError,
    MethodNotAllowed,
    NotFound,
    ProviderBroken,
    ProviderUnavailable,
    TooLarge,
    TooSlow,
    Unavailable,
    UserTokenRequired,
)
from elicit_flows.http import forwarding
from elicit_flows.http.streaming import StreamedReply, Upload, stream
from elicit_flows.identity import ACCESS
from elicit_flows.lib import telemetry
from elicit_flows.lib.thread_pools import ThreadPool
from elicit_flows.lib.wsgi_bridge import Disconnected, Headers, Receive, Scope, respond
from elicit_flows.models import Agent

log = logging.getLogger(__name__)
T = TypeVar("T")

PATH = re.compile(rb"/v1/connections/([^/?#]{1,64})/proxy(/.*)?", re.DOTALL)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
HOST = vault.API_HOST.lower().encode()
USER_TOKEN = b"elicit-user-token"
ANSWERED_BY = b"elicit-answered-by"
REPEATABLE = 64 * 1024  # bytes of a body that are kept, to send it again after a 401
EVERY = 1.0  # seconds in which calls are collected, to be logged together
LogAnswer = Callable[[str, str, int, float], None]
# Against what a browser would do with an answer of somebody else's under our name.
_INERT = (b"content-security-policy", b"default-src 'none'; sandbox")


class Asked(NamedTuple):
    """One call as the agent made it."""

    connection: str
    method: str
    path: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]

    @classmethod
    def of(cls, scope: Scope) -> Asked:
        found = PATH.fullmatch(scope["raw_path"])
        if found is None:
            raise NotFound
        return cls(
            found[1].decode("latin-1"), scope["method"], found[2] or b"", scope["query_string"], list(scope["headers"])
        )

    def header(self, name: bytes) -> str:
        """The value of one of our headers. Raises BadPath where there are two."""
        values = [value for key, value in self.headers if key == name]
        if len(values) > 1:
            raise BadPath(f"Send {name.decode()} only once.")
        return values[0].decode("latin-1") if values else ""


class ApiProxy:
    """``outside``: the threads in which tokens are refreshed. ``headers``: of every answer of the agents' API."""

    def __init__(self, reads: Reads, outside: ThreadPool, headers: Headers, log_answer: LogAnswer) -> None:
        self._reads, self._outside, self._log_answer = reads, outside, log_answer
        ours = [(name, value) for name, value in headers if name != b"content-type"]
        self._headers = [_INERT, *(one for one in ours if one[0] != _INERT[0])]
        self._http: http.AsyncClient | None = None
        self._calls = vault.CallLog()
        self._storing: asyncio.Task[None] | None = None
        self.admission = Admission(settings.ELICIT_PROXIED_CALLS, settings.ELICIT_PROXIED_CALLS_PER_AGENT)

    @staticmethod
    def wants(scope: Scope) -> bool:
        """Whether this is a call of an API."""
        return b"/proxy" in scope["raw_path"] and PATH.fullmatch(scope["raw_path"]) is not None

    def start(self) -> None:
        self._http = http.AsyncClient()

    async def stop(self) -> None:
        if self._storing:
            self._storing.cancel()
        await self._store()
        if self._http:
            self._http.close()

    def log_call(self, asked: Asked, target: http.Target, status: int) -> None:
        """Keep the call for the log, which is stored within a second or two."""
        path = forwarding.template(target.path)
        self._calls.add(asked.connection, asked.method, target.authority, path, status)
        if self._storing is None or self._storing.done():
            self._storing = asyncio.ensure_future(self._store_soon())

    async def _store_soon(self) -> None:
        while self._calls:
            await asyncio.sleep(EVERY)
            await self._store()

    async def _store(self) -> None:
        if not self._calls:
            return
        try:
            await self._reads.run("calls", partial(resilient, self._calls.store))
        except DatabaseError as error:
            log.warning("calls of APIs were not logged yet: %s", type(error).__name__)

    async def __call__(self, scope: Scope, receive: Receive, send: Counted) -> None:
        """Answer one call. Raises FlowError, as long as nothing was sent."""
        began, asked = time.monotonic(), Asked.of(scope)
        with telemetry.LoggedRequest() as number:
            agent = await self._agent(scope, send)
            telemetry.add_log_fields(agent=agent.slug)
            with self.admission.admit(agent.pk):
                call = _Call(self, agent, asked, _Body(asked, receive), send, number)
                await call.answer_or_leave(scope)
            shown = f"/v1/connections/{asked.connection}/proxy{forwarding.template(asked.path.decode('latin-1'))}"
            self._log_answer(asked.method, shown, call.status, began)

    async def _agent(self, scope: Scope, send: Counted) -> Agent:
        agent = await self._reads.agent(send.key_hash) if send.key_hash else None
        if agent is not None:
            return agent
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"").decode("latin-1")
        address = str((scope.get("client") or ("",))[0])
        return await self.in_thread(address, lambda: auth.authenticate(given, address))

    async def in_thread(self, key: str, call: Callable[[], T]) -> T:
        """Run a call that may ask the database and the provider."""

        def run() -> T:
            close_old_connections()
            try:
                return call()
            finally:
                close_old_connections()

        try:
            return await self._outside.run(key, run)
        except DatabaseError:
            raise Unavailable("The database does not answer.", retry_after=2) from None

    async def access(self, agent: Agent, asked: Asked) -> vault.ApiAccess:
        """Raises what ``vault.access_to_api`` raises, UserTokenRequired and UserTokenRefused."""
        shown = asked.header(USER_TOKEN)
        if not (shown or agent.require_user_token):
            known = await self._reads.api_access.load((agent.pk, asked.connection))
            if known is not None:
                return known
        return await self.in_thread(str(agent.pk), lambda: _access(agent, asked.connection, shown))

    async def renewed(self, agent: Agent, access: vault.ApiAccess) -> vault.ApiAccess | None:
        """Access with another token, after the API has refused this one."""
        call = partial(vault.renewed_access, agent, access.connection, access.generation)
        return await self.in_thread(str(agent.pk), call)

    @property
    def http(self) -> http.AsyncClient:
        if self._http is None:
            raise ProviderUnavailable("The service is starting or stopping.", retry_after=1)
        return self._http

    @property
    def headers(self) -> Headers:
        return self._headers


def _access(agent: Agent, connection_id: str, user_token: str) -> vault.ApiAccess:
    if user_token:
        holder = token_exchange.holder(agent, user_token, ACCESS)
        vault.of_person(agent, holder, connection_id=connection_id)
    elif agent.require_user_token:
        raise UserTokenRequired("Send the user's own token in the header Elicit-User-Token.")
    return vault.access_to_api(agent, connection_id)


class _Body:
    """The request's body. What has arrived at first is kept, so that a small body can be sent again."""

    def __init__(self, asked: Asked, receive: Receive) -> None:
        declared = dict(asked.headers).get(b"content-length", b"")
        self.length = int(declared) if declared.isdigit() else None
        if self.length is not None and self.length > settings.ELICIT_PROXIED_MAX_BODY:
            raise TooLarge(_TOO_LARGE)
        self._receive, self._first, self._size, self._more = receive, b"", 0, True
        self.complete: Callable[[], None] = lambda: None  # called when all of it has arrived

    async def begin(self) -> bytes | Upload:
        """The whole body, or what passes it on."""
        while self._more and self._size <= REPEATABLE:
            self._first += await self._next()
        return Upload(self._pieces(), self.length) if self._more else self._first

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield self._first
        while self._more:
            yield await self._next()

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(settings.ELICIT_PROXIED_SILENCE):
                message = await self._receive()
        except TimeoutError:
            raise TooSlow from None
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece: bytes = message.get("body", b"")
        self._size += len(piece)
        if self._size > settings.ELICIT_PROXIED_MAX_BODY:
            raise TooLarge(_TOO_LARGE)
        self._more = message.get("more_body", False)
        if not self._more:
            self.complete()
        return piece

    async def client_left(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue


def nothing() -> None:
    """Another server than ours cannot break off an answer."""


_TOO_LARGE = f"A body may have {settings.ELICIT_PROXIED_MAX_BODY} bytes."


class _Call:
    """One call under way. ``status``: of the answer that the agent got, 0 for none."""

    def __init__(self, proxy: ApiProxy, agent: Agent, asked: Asked, body: _Body, send: Counted, number: str) -> None:
        self._proxy, self._agent, self._asked, self._body, self._send = proxy, agent, asked, body, send
        self._number = (telemetry.REQUEST_ID.lower().encode(), number.encode())
        self._renewed = False
        self.status = 0

    async def answer_or_leave(self, scope: Scope) -> None:
        """Answer, or stop as soon as the agent has disconnected."""
        answer = asyncio.ensure_future(self._answer())
        leaving: list[asyncio.Task[None]] = []

        def watch() -> None:
            left = asyncio.ensure_future(self._body.client_left())
            left.add_done_callback(lambda _: answer.cancel())
            leaving.append(left)

        self._body.complete = watch
        try:
            # The API has a limit of its own; this one is for an agent that does not read its answer.
            await asyncio.wait({answer}, timeout=settings.ELICIT_PROXIED_SECONDS + settings.ELICIT_PROXIED_SILENCE)
        finally:
            answer.cancel()
            for task in leaving:
                task.cancel()
            await asyncio.wait({answer, *leaving})
        if answer.cancelled():  # nobody reads it
            scope.get("abort", nothing)()
            return
        error = answer.exception()
        if error is None or isinstance(error, Disconnected):
            return
        if self.status:  # an answer that has begun can only be broken off
            log.warning("the answer of an API was broken off: %s", error)
            scope.get("abort", nothing)()
            return
        if isinstance(error, FlowError):
            self.status = error.status
            status, headers, content = responses.raw(error)
            await respond(self._send, status, [*headers, self._number], content)
            return
        raise error

    async def _answer(self) -> None:
        asked = self._asked
        if asked.method not in METHODS:
            raise MethodNotAllowed(f"Use one of {', '.join(METHODS)}.")
        access = await self._proxy.access(self._agent, asked)
        body = await self._body.begin()
        nonce: str | None = None
        while True:
            target, status = self._target(access), 0
            try:
                async with self._sent(access, target, body, nonce) as reply:
                    status = reply.status
                    again = await self._again(access, reply, nonce) if status == 401 else None
                    if again and isinstance(body, bytes):
                        access, nonce = again
                        continue
                    await self._pass_on(reply, access, target)
                    return
            except http.Refused as refusal:
                raise ProviderUnavailable(f"The API's address is refused: {refusal}") from None
            except http.Unreachable as error:
                kind = ProviderBroken if error.sent else ProviderUnavailable
                raise kind(f"The API did not answer: {error}") from None
            finally:
                self._proxy.log_call(asked, target, status)

    def _target(self, access: vault.ApiAccess) -> http.Target:
        asked = self._asked
        base = access.address(asked.header(HOST))
        query = forwarding.without(asked.query, access.query)
        added = "&".join(f"{name}={value}" for name, value in access.query.items()).encode()
        try:
            target = forwarding.target(base, asked.path, b"&".join(part for part in (query, added) if part))
        except forwarding.Unfit as unfit:
            raise BadPath(str(unfit)) from None
        except http.Refused as refusal:
            raise ProviderUnavailable(f"The API's address is refused: {refusal}") from None
        if forwarding.plain(target) in access.closed:
            raise BadPath("Tokens are issued and revoked there. This service does that.")
        return target

    def _sent(
        self, access: vault.ApiAccess, target: http.Target, body: bytes | Upload, nonce: str | None
    ) -> AbstractAsyncContextManager[StreamedReply]:
        headers = {**forwarding.request_headers(self._asked.headers), **access.headers}
        if access.signer:
            whole = body if isinstance(body, bytes) else None
            headers["authorization"] = access.signature(self._asked.method, target, headers, whole)
        if access.dpop_key:
            headers["dpop"] = access.proof(self._asked.method, target, nonce)
        return stream(
            self._proxy.http, self._asked.method, target, headers=headers, body=body,
            deadline=settings.ELICIT_PROXIED_SECONDS, silence=settings.ELICIT_PROXIED_SILENCE,
            limit=settings.ELICIT_PROXIED_MAX_BODY,
        )  # fmt: skip

    async def _again(
        self, access: vault.ApiAccess, reply: StreamedReply, nonce: str | None
    ) -> tuple[vault.ApiAccess, str | None] | None:
        """What to try with after a 401: the nonce that the server asked for, or another token. Each once."""
        wanted = reply.headers.get("dpop-nonce", "")
        if access.dpop_key and nonce is None and "use_dpop_nonce" in reply.headers.get("www-authenticate", ""):
            return (access, wanted) if oauth.is_nonce(wanted) else None
        if self._renewed:
            return None
        self._renewed = True
        renewed = await self._proxy.renewed(self._agent, access)
        return (renewed, None) if renewed else None

    async def _pass_on(self, reply: StreamedReply, access: vault.ApiAccess, target: http.Target) -> None:
        headers = forwarding.reply_headers(reply.headers, access.secrets)
        if "transfer-encoding" in reply.headers or reply.status in (204, 304):
            headers = [one for one in headers if one[0] != b"content-length"]
        to = forwarding.location(reply.headers.get("location", ""), target, access.hosts)
        if to and not forwarding.shows(to, access.secrets):
            headers.append((b"location", to.encode("ascii")))
        headers += [*self._proxy.headers, self._number, (ANSWERED_BY, target.authority.encode())]
        self.status = reply.status
        await self._send({"type": "http.response.start", "status": reply.status, "headers": headers})
        async for piece in reply.pieces:
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
