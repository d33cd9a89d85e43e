"""The two ways in which a request to the outside does not come to an answer."""

from __future__ import annotations


class Refused(Exception):
    """We do not send there. ``str`` is one sentence, safe to show; it never repeats the URL."""


class Unreachable(Exception):
    """No usable answer: name look-up, connect, TLS, time-out, reset, nonsense, or more than we read.

    ``sent`` says whether bytes of the request may have reached the other side: only when it is False is it certain
    that the request had no effect.
    """

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
