"""A provider that issues API keys: one endpoint checks a key, another a user name and a password."""

from __future__ import annotations

import base64

from tests.doubles.server import Request, Response, Route, Server, json_response

KEY = "key_good-0123456789"
ACCOUNT, PASSWORD = "AC/1 ä", "pässword: with/signs"


class KeyProvider(Server):
    """``check``: GET /check with the good key in x-key. ``account``: GET /accounts/… with both in Basic."""

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {"/check": ("check", self.check), "/accounts/AC%2F1%20%C3%A4.json": ("account", self.account)}

    def check(self, request: Request) -> Response:
        return json_response({"ok": True}, 200 if request.headers.get("x-key") == KEY else 401)

    def account(self, request: Request) -> Response:
        expected = "Basic " + base64.b64encode(f"{ACCOUNT}:{PASSWORD}".encode()).decode()
        return json_response({}, 200 if request.headers.get("authorization") == expected else 401)
