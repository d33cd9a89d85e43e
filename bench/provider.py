"""The tests' provider double, with a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.doubles.provider import Issued, Provider

CLOCKED = {"/token", "/userinfo"}


class Timed(Provider):
    """Knows how long it took for what it was asked at its token and userinfo endpoints: from the request's first line
    to the last byte of the answer.
    """

    spent = 0.0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._server.RequestHandlerClass = _clocked(self, self._server.RequestHandlerClass)

    def grant(self, number: int) -> tuple[str, str]:
        """An access token and its refresh token, as if a user had just allowed it."""
        access, refresh = f"at-{number}-{self.port}", f"rt-{number}-{self.port}"
        self.tokens[access] = Issued(dict(self.user), "files.read", refresh, history=[refresh])
        return access, refresh


def _clocked(provider: Timed, handler: Callable[..., Any]) -> type[BaseHTTPRequestHandler]:
    class Clocked(handler):  # type: ignore[misc, valid-type]
        def parse_request(self) -> bool:
            self.began = time.perf_counter()
            return bool(super().parse_request())

        def handle_one_request(self) -> None:
            self.path = ""
            super().handle_one_request()
            if self.path in CLOCKED:
                provider.spent += time.perf_counter() - self.began

    return Clocked
