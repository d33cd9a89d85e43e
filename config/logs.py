"""Logs: one JSON object per line, so that no message can forge a second record. Query strings and secrets are removed.
Lines that strangers can cause are limited per minute.
"""

from __future__ import annotations

import copy
import json
import logging
import re
import time
from datetime import UTC, datetime
from typing import TextIO

from django.db import InterfaceError, OperationalError

from elicit_flows.lib import telemetry

# Secrets of ours and of payment providers, and tokens (RFC 7519). No line should contain one; this removes those that
# a mistake lets through.
_SECRET = re.compile(
    r"\b(?:ek_|whsec_|(?:sk|rk)_(?:live|test)_)[\w+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\bv1\.[\w-]{1,32}\.[\w+/=-]{16,}"
)
# A query may contain a code or a state, and what follows `Bearer` is a credential.
_QUERY = re.compile(r"(?<=[\w/])\?[^\s\"']+")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+")


def redact(text: str) -> str:
    return _SECRET.sub("***", _BEARER.sub(r"\1 ***", _QUERY.sub("?***", text)))


class JsonFormatter(logging.Formatter):
    """``at`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, and ``trace`` for exceptions.

    Lines of a request have its number as ``request``, and ``agent`` and ``elicitation`` where they are known; the line
    about a request ``method``, ``path``, ``status`` and ``milliseconds``.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = getattr(record, "fields", {})
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
            **telemetry.current_log_fields(),
            **{name: redact(value) if isinstance(value, str) else value for name, value in fields.items()},
        }
        if record.exc_info:
            line["trace"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=True)


MINUTE = 60.0
LONGEST = 500  # characters of a limited line's message

# Limited lines: logger, and how the message begins. Anybody can cause these, or every request while a database is down.
_LIMITED = (
    ("uvicorn.error", "Invalid HTTP request received."),
    ("elicit_flows.api.payment_webhooks", "payment account %s: a webhook"),
    ("elicit_flows.elicitations.transitions", "elicit"),
    ("elicit_flows.admin.sign_in", "a sign-in to the admin failed"),
    ("elicit_flows.api.streaming.app", "a request that waits was ended"),
    ("elicit_flows.lib.batch_loader", "a batch was not loaded"),
    ("elicit_flows.web.session", "a session behind"),
    ("elicit_flows.jobs", "job %s: the worker cannot reach"),
    ("elicit_flows.jobs", "a job cannot reach"),
    ("elicit_flows.jobs", "a round of job"),
    ("elicit_flows.jobs", "what was counted"),
    ("elicit_flows.events.wakeups", "no wake-ups"),
    ("elicit_flows.api.streaming.wakeup_listener", "no wake-ups"),
)


def kind_of(record: logging.LogRecord) -> str | None:
    """The key under which a line is counted, or None for a line that is always written."""
    if record.name.startswith("django.security"):
        return record.name
    if record.name == "django.request":
        status = getattr(record, "status_code", 500)
        if status != 500:
            return f"{record.name} {status}"
        place = _place(record)
        return f"{record.name} {place}" if place else None
    if record.name == "elicit_flows.web.middleware" and record.levelno >= logging.WARNING:
        status = getattr(record, "fields", {}).get("status", 0)
        return f"{record.name} {status}" if status >= 500 else None
    for name, start in _LIMITED:
        if record.name.startswith(name) and str(record.msg).startswith(start):
            return f"{record.name} {record.msg}"
    return None


def _place(record: logging.LogRecord) -> str:
    """File and line where the exception was raised, so that a repeated fault is counted as one kind."""
    trace = record.exc_info[2] if record.exc_info else None
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""


class LimitedHandler(logging.StreamHandler[TextIO]):
    """Writes at most ``burst`` lines of a kind per minute, then one line that says how many were left out.

    Faults of clients and database outages are written without a traceback.
    """

    def __init__(self, stream: TextIO | None = None, burst: int = 10) -> None:
        super().__init__(stream)
        self._burst = burst
        self._counted: dict[str, tuple[float, int, logging.LogRecord]] = {}  # end, count, latest record
        self._look_at = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + 1
            self._sum_up(now)
        kind = kind_of(record)
        if kind is None:
            super().emit(record)
            return
        ends, count, _ = self._counted.get(kind, (now + MINUTE, 0, record))
        self._counted[kind] = (ends, count + 1, record)
        if count < self._burst:
            super().emit(_briefly(record))

    def _sum_up(self, now: float) -> None:
        for kind, (ends, count, latest) in list(self._counted.items()):
            if ends > now:
                continue
            del self._counted[kind]
            if count > self._burst:
                summed = _briefly(latest)
                summed.exc_info = None
                summed.fields = {**getattr(latest, "fields", {}), "suppressed": count - self._burst}
                super().emit(summed)

    def close(self) -> None:
        """Write the counts of the last minute when the process ends."""
        self.acquire()
        try:
            self._sum_up(float("inf"))
        finally:
            self.release()
        super().close()


def _briefly(record: logging.LogRecord) -> logging.LogRecord:
    """A shortened copy, without a traceback where it says nothing about the service."""
    error = record.exc_info[1] if record.exc_info else None
    brief, text = copy.copy(record), record.getMessage()
    if isinstance(error, OperationalError | InterfaceError):
        text = f"{text}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
        brief.exc_info, brief.exc_text = None, None
    elif record.name.startswith("django.security"):
        brief.exc_info, brief.exc_text = None, None
        brief.levelno, brief.levelname = logging.WARNING, "WARNING"
    brief.msg, brief.args = (text if len(text) <= LONGEST else f"{text[:LONGEST]}…"), ()
    return brief
