"""Acme's API keys: a page that creates them, and an endpoint that checks them."""

from __future__ import annotations

import secrets

from flask import Blueprint, render_template, request

from sandbox.settings import Settings

MOST = 1000


class AcmeKeys:
    """Keys are valid until the sandbox ends, or until a thousand newer ones were created."""

    def __init__(self, settings: Settings) -> None:
        self.known: dict[str, None] = {}

    def blueprint(self) -> Blueprint:
        pages = Blueprint("keys", __name__)
        pages.get("/acme/keys")(self.show)
        pages.post("/acme/keys")(self.make)
        pages.get("/acme/check")(self.check)
        return pages

    def show(self) -> str:
        return render_template("keys.html", key=None)

    def make(self) -> str:
        key = f"acme_{secrets.token_hex(16)}"
        self.known[key] = None
        for old in list(self.known)[:-MOST]:
            self.known.pop(old, None)
        return render_template("keys.html", key=key)

    def check(self) -> tuple[dict[str, bool], int]:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        good = scheme == "Bearer" and key in self.known
        return {"good": good}, 200 if good else 401
