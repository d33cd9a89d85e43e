"""Logs: one JSON object a line, so that nothing in a message can forge a second record; query strings cut off."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

# A query may hold a code or a state; a bearer value is a credential. Neither belongs in a log.
_QUERY = re.compile(r"(?<=[\w/])\?[^\s\"']+")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+")


def redact(text: str) -> str:
    return _BEARER.sub(r"\1 ***", _QUERY.sub("?***", text))


class JsonFormatter(logging.Formatter):
    """``at`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, and ``trace`` for exceptions."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        if record.exc_info:
            line["trace"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=True)
