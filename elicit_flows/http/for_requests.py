"""The guarded client for libraries that call through ``requests``.

``requests`` by itself gives each attempt its own time-out, follows redirects, and obeys the environment's proxies and
.netrc. A session of ``guarded_session`` does none of that.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Mapping

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from elicit_flows.http.client import Reply, send


class Transport(BaseAdapter, ABC):
    """What a session of ``guarded_session`` sends by. What ``answer_to`` raises passes through the library."""

    @abstractmethod
    def answer_to(self, request: requests.PreparedRequest) -> Reply:
        """The answer to one request, by ``sent``."""

    def send(  # the arguments are those of requests
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: object = None,
        verify: object = True,
        cert: object = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        reply = self.answer_to(request)
        response = requests.Response()
        response.status_code = reply.status
        # No other headers: a library would follow some of them, or log a secret with another.
        response.headers = CaseInsensitiveDict({"Content-Type": reply.headers.get("content-type", "")})
        response.raw = io.BytesIO(reply.body)
        response.url, response.request = str(request.url), request
        return response

    def close(self) -> None:
        """Nothing to close: the connections belong to the process, not to the session."""


def guarded_session(transport: Transport) -> requests.Session:
    """A session that sends by ``transport`` alone, and no headers but those of each request."""
    session = requests.Session()
    session.trust_env = False
    session.headers.clear()
    for scheme in ("https://", "http://"):  # the guarded client decides where plain http is allowed
        session.mount(scheme, transport)
    return session


def sent(request: requests.PreparedRequest, *, deadline: float, limit: int) -> Reply:
    """The answer to the request, of at most ``limit`` bytes within ``deadline`` seconds; redirects are answers.

    Raises Refused and Unreachable.
    """
    body = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
    headers = {str(name): str(value) for name, value in request.headers.items() if name.lower() != "content-length"}
    return send(str(request.method), str(request.url), headers=headers, body=body, deadline=deadline, limit=limit)
