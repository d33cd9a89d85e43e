"""The agent's own name for a request, so that repeating it does nothing twice."""

from __future__ import annotations

from django.http import HttpRequest

from elicit_flows.errors import BadRequest


def key_of(request: HttpRequest) -> str | None:
    """The ``Idempotency-Key``; None when there is none. Raises BadRequest."""
    given = request.headers.get("Idempotency-Key")
    key = None if given is None else given.strip(" \t")  # RFC 9110, 5.5; the server leaves what stands behind it
    if key is not None and not (0 < len(key) <= 255 and key.isascii() and key.isprintable()):
        raise BadRequest("Idempotency-Key must be 1 to 255 visible ASCII characters.")
    return key
