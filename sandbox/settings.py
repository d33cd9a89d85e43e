"""The settings of one sandbox."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.store import Client

DEMO = Path(__file__).parent / "demo.toml"
SERVICE_URL = "http://127.0.0.1:8000"
SANDBOX_URL = "http://127.0.0.1:8001"
USERS = {"alice": "Alice Archer", "bob": "Bob Baker"}
ACME_SCOPES = {"files.read": "See your files", "files.write": "Add, change and delete your files"}
_LIVE = re.compile(r"(?:^|[^a-z0-9])live(?:[^a-z0-9]|$)", re.IGNORECASE)


class LiveKey(Exception):
    """The agent's key looks like one of a real service, which the sandbox does not use."""

    def __init__(self) -> None:
        super().__init__("ELICIT_API_KEY looks like a live key, and the sandbox is for development only")


@dataclass(frozen=True, slots=True)
class Settings:
    """``root`` is the sandbox's own address, ``service_url`` the service's; neither ends in a slash.

    ``token_seconds``: the lifetime of Acme's access tokens.
    """

    root: str
    service_url: str
    key_file: Path
    token_seconds: int = 120

    @property
    def back_url(self) -> str:
        """The address that the service's last page links to; registered for the agent ``demo``."""
        return f"{self.root}/back"

    def api_key(self) -> str | None:
        """The demo agent's key, None if there is none (yet). Raises LiveKey."""
        key = os.environ.get("ELICIT_API_KEY")
        if not key and self.key_file.is_file():
            key = self.key_file.read_text(encoding="utf-8").strip()
        if key and _LIVE.search(key):
            raise LiveKey
        return key or None

    def openid_client(self) -> Client:
        row = _row("identity_provider", "sandbox")
        return self._client(row, f"{self.service_url}/login/sandbox/callback", ("openid", "profile"), refresh=False)

    def acme_client(self) -> Client:
        row = _row("provider", "acme")
        return self._client(row, f"{self.service_url}/callback/acme", tuple(ACME_SCOPES), refresh=True)

    def _client(self, row: dict[str, Any], redirect_uri: str, scopes: tuple[str, ...], *, refresh: bool) -> Client:
        grants = ("authorization_code", "refresh_token") if refresh else ("authorization_code",)
        return Client(row["client_id"], row["client_secret"], "Elicit Flows", redirect_uri, scopes, grants)


def _row(table: str, slug: str) -> dict[str, Any]:
    """The table of demo.toml with that slug."""
    rows = tomllib.loads(DEMO.read_text(encoding="utf-8"))[table]
    return next(row for row in rows if row["slug"] == slug)
