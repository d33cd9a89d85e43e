"""The service's address and the agent's key: from the arguments, or else from the environment."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

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
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and " " not in url and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ElicitError("bad_url", f"ELICIT_URL must begin with http:// or https:// and a host, not {url!r}")
    return url


def api_key(given: str | None = None) -> str:
    """The agent's key: the argument, ELICIT_API_KEY, or the demo key that ``make run`` wrote to var/demo.key.

    Raises ElicitError ``no_api_key``, or ``bad_api_key`` for one that no header can carry.
    """
    key = given or _read("ELICIT_API_KEY")
    if not key and DEMO_KEY.is_file():
        key = DEMO_KEY.read_text(encoding="utf-8").strip()
    if not key:
        raise ElicitError("no_api_key", "Set ELICIT_API_KEY, or start in a folder where `make run` left var/demo.key")
    if not re.fullmatch("[\x21-\x7e]+", key):
        raise ElicitError("bad_api_key", "The API key has a character that none has, such as a line end")
    return key
