"""Secrets in a configuration: given in place, as ``env:NAME`` or as ``file:PATH``; and those that we make."""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

from elicit_flows import vault
from elicit_flows.configure.faults import Wrong
from elicit_flows.lib import clock, ids
from elicit_flows.lib.oauth import ProviderError
from elicit_flows.lib.oauth.assertion import sign
from elicit_flows.models import Agent
from elicit_flows.values import Secret

OVERLAP = timedelta(hours=24)  # as long as an old webhook secret goes on signing beside the new one
HINT = 6  # characters of an API key that may be shown
_MAX = 16 * 1024
_KEY = re.compile(r"[!-~]{32,512}")


def secret(value: Any) -> Secret:
    """The secret that ``value`` is or stands for. A relative path begins where the command runs."""
    if not isinstance(value, str) or not value:
        raise Wrong("must be a secret in quotes, env:NAME or file:PATH")
    kind, _, name = value.partition(":")
    found = _variable(name) if kind == "env" else _file(name) if kind == "file" else value
    if not 0 < len(found) <= _MAX or "\0" in found:
        raise Wrong(f"must be a secret of 1 to {_MAX} characters")
    return Secret(found)


def _variable(name: str) -> str:
    found = os.environ.get(name)
    if not found:
        raise Wrong(f"names the environment variable {name}, which is not set")
    return found


def _file(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise Wrong(f"names the file {path}, which cannot be read ({why})") from None


def api_key(value: Any) -> Secret:
    found = secret(value)
    if not _KEY.fullmatch(found.reveal()):
        raise Wrong("must be 32 to 512 visible ASCII characters without spaces; leave it out and one is made")
    return found


def webhook_secret(value: Any) -> Secret:
    return checked_webhook_secret(secret(value))


def checked_webhook_secret(given: Secret) -> Secret:
    """As Standard Webhooks has them: whsec_ and base64 of 24 to 64 bytes. Raises Wrong."""
    prefix, mark, encoded = given.reveal().partition("_")
    try:
        size = len(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if (prefix, mark) != ("whsec", "_") or not 24 <= size <= 64:
        raise Wrong("must be whsec_ and base64 of 24 to 64 bytes; leave it out and one is made")
    return given


def new_api_key() -> Secret:
    return Secret(f"ek_{ids.token()}")


def new_webhook_secret() -> Secret:
    return Secret("whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())


def show_once(made: dict[str, Secret]) -> list[tuple[str, str]]:
    """Secrets that were just made, by name, for whoever had them made."""
    return [(name, secret.reveal()) for name, secret in made.items()]


def key_hash(key: Secret) -> str:
    return ids.digest(key.reveal())


def put_api_key(agent: Agent, key: Secret) -> bool:
    """On the row, as a hash; the caller saves it. False when it is the one the agent has."""
    if agent.key_hash == key_hash(key):
        return False
    agent.key_hash, agent.key_hint = key_hash(key), key.reveal()[:HINT]
    return True


def put_webhook_secret(agent: Agent, given: Secret) -> bool:
    """On the row, sealed; the caller saves it. The present one goes on signing for a day."""
    present = vault.webhook_secrets(agent)
    if present and present[0] == given:
        return False
    vault.seal_webhook_secret(agent, given, overlap_until=clock.now() + OVERLAP)
    return True


def check_private_key(key: Secret) -> None:
    """For private_key_jwt the client secret is a private key (RFC 7523). Raises Wrong when it cannot sign."""
    try:
        sign("client", key.reveal(), "https://issuer.example.com")
    except ProviderError:
        raise Wrong("must be a private RSA or EC key, PEM or JWK, for private_key_jwt") from None
