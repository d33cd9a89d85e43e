"""The guarded client for libraries that call through ``requests``.

``requests`` by itself gives each attempt its own time-out, follows redirects, and obeys the environment's proxies and
.netrc. A session of ``guarded_session`` does none of that.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from elicit_flows.http.client import Reply, send

Exchange = Callable[[requests.PreparedRequest], Reply]


class _Transport(BaseAdapter):
    def __init__(self, exchange: Exchange) -> None:
        super().__init__()
        self._exchange = exchange

    def send(  # the arguments are those of requests
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: object = None,
        verify: object = True,
        cert: object = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        reply = self._exchange(request)
        response = requests.Response()
        response.status_code = reply.status
        # No other headers: a library would follow some of them, or log a secret with another.
        response.headers = CaseInsensitiveDict({"Content-Type": reply.headers.get("content-type", "")})
        response.raw = io.BytesIO(reply.body)
        response.url, response.request = str(request.url), request
        return response

    def close(self) -> None:
        """Nothing to close: the connections belong to the process, not to the session."""


def guarded_session(exchange: Exchange) -> requests.Session:
    """A session whose requests ``exchange`` makes, with ``sent`` or otherwise. What it raises passes through.

    It sends no headers but those of each request.
    """
    session = requests.Session()
    session.trust_env = False
    session.headers.clear()
    for scheme in ("https://", "http://"):  # the guarded client decides where plain http is allowed
        session.mount(scheme, _Transport(exchange))
    return session


def sent(request: requests.PreparedRequest, *, deadline: float, limit: int) -> Reply:
    """The answer to the request, of at most ``limit`` bytes within ``deadline`` seconds; redirects are answers.

    Raises Refused and Unreachable.
    """
    body = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
    headers = {str(name): str(value) for name, value in request.headers.items() if name.lower() != "content-length"}
    return send(str(request.method), str(request.url), headers=headers, body=body, deadline=deadline, limit=limit)
