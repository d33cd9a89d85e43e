"""Logs: one JSON object a line, so that nothing in a message can forge a second record; query strings cut off."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime

from elicit_flows.lib import logfields

# What looks like a secret of ours, of a payment provider's, or a token (RFC 7519) is none of a log's business, wherever
# it comes from: no line should have one, and this is for the line that would.
_SECRET = re.compile(
    r"\b(?:ek_|whsec_|(?:sk|rk)_(?:live|test)_)[\w+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\bv1\.[\w-]{1,32}\.[\w+/=-]{16,}"
)
# A query may hold a code or a state; a bearer value is a credential. Neither belongs in a log.
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
            **logfields.current(),
            **{name: redact(value) if isinstance(value, str) else value for name, value in fields.items()},
        }
        if record.exc_info:
            line["trace"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=True)
