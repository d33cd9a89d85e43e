"""The tests' provider double, with a clock."""

from __future__ import annotations

import time

from tests.doubles.provider import Issued, Provider
from tests.doubles.server import Request, Response


class Timed(Provider):
    """Knows how long it took for what it was asked at its token and userinfo endpoints."""

    spent = 0.0

    def respond(self, request: Request) -> Response:
        began = time.perf_counter()
        try:
            return super().respond(request)
        finally:
            if request.path in {"/token", "/userinfo"}:
                self.spent += time.perf_counter() - began

    def grant(self, number: int) -> tuple[str, str]:
        """An access token and its refresh token, as if a user had just allowed it."""
        access, refresh = f"at-{number}-{self.port}", f"rt-{number}-{self.port}"
        self.tokens[access] = Issued(dict(self.user), "files.read", refresh, history=[refresh])
        return access, refresh
