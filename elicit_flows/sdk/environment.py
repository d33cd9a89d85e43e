"""The service's address and the agent's key: from the arguments, or else from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from elicit_flows.sdk.errors import ElicitError

DEFAULT_URL = "http://127.0.0.1:8000"
DEMO_KEY = Path("var/demo.key")


def _read(name: str) -> str | None:
    """The variable ``name``, or the contents of the file that ``name_FILE`` points to."""
    if path := os.environ.get(f"{name}_FILE"):
        return Path(path).read_text(encoding="utf-8").strip()
    return os.environ.get(name)


def service_url(given: str | None = None) -> str:
    """The service's address without a trailing slash: the argument, ELICIT_URL, or the address of ``make run``.

    Raises ElicitError ``bad_url``.
    """
    url = (given or _read("ELICIT_URL") or DEFAULT_URL).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise ElicitError("bad_url", f"ELICIT_URL must begin with http:// or https://, not {url!r}")
    return url


def api_key(given: str | None = None) -> str:
    """The agent's key: the argument, ELICIT_API_KEY, or the demo key that ``make run`` wrote to var/demo.key.

    Raises ElicitError ``no_api_key``.
    """
    key = given or _read("ELICIT_API_KEY")
    if not key and DEMO_KEY.is_file():
        key = DEMO_KEY.read_text(encoding="utf-8").strip()
    if not key:
        raise ElicitError("no_api_key", "Set ELICIT_API_KEY, or start in a folder where `make run` left var/demo.key")
    return key
