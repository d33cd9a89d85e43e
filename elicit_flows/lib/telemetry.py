"""Fields that every log line of a request has, and OpenTelemetry traces if they are configured."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

_fields: ContextVar[dict[str, str] | None] = ContextVar("log_fields", default=None)


class LoggedRequest:
    """Give the request an id. Within the block, every log line has it as ``request``, and these fields, and those that
    ``add_log_fields`` adds. A generator-based context manager would take 0.5 kB more for each request that waits.
    """

    __slots__ = ("_said", "_token")

    def __init__(self, **fields: str) -> None:
        self._said = {"request": secrets.token_hex(8), **fields}

    def __enter__(self) -> str:
        self._token = _fields.set(self._said)
        return self._said["request"]

    def __exit__(self, *_: object) -> None:
        _fields.reset(self._token)


def add_log_fields(**fields: str) -> None:
    """Add fields for the rest of the request, if there is one."""
    known = _fields.get()
    if known is not None:
        known.update(fields)


def current_log_fields() -> dict[str, str]:
    return _fields.get() or {}


ON = bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))
HEADER = "traceparent"
REQUEST_ID = "X-Request-Id"  # of an answer; its log lines have the same value as ``request``

if ON or TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Value = str | int


class NonRecordingSpan:
    """A span that does nothing, for when tracing is off."""

    def note(self, **attributes: Value) -> None:
        pass

    def call(self, name: str) -> None:
        pass


class Span(NonRecordingSpan):
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, **attributes: Value) -> None:
        """``http_route="/c/{id}"`` is the attribute ``http.route``."""
        for name, value in attributes.items():
            self._span.set_attribute(name.replace("_", ".", 2), value)

    def call(self, name: str) -> None:
        """Rename the span."""
        self._span.update_name(name)


_NO_SPAN: AbstractContextManager[NonRecordingSpan] = nullcontext(NonRecordingSpan())


def span(
    name: str, parent: str = "", *, kind: str = "internal", **attributes: Value
) -> AbstractContextManager[NonRecordingSpan]:
    """A span within the current one, or within ``parent``, a stored traceparent. Use it with ``with``.

    If ``parent`` belongs to another trace than the current span, the two are linked.
    """
    return _span(name, parent, kind, attributes) if ON else _NO_SPAN


def current() -> str:
    """The traceparent of the current span; "" if there is none."""
    if not ON:
        return ""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(HEADER, "")


def within(kept: str) -> str:
    """The current traceparent if it belongs to the trace of ``kept``, or else ``kept``, so that a flow stays
    one trace.
    """
    if not ON:
        return kept
    present = current()
    return present if not kept or present[:35] == kept[:35] else kept


@contextmanager
def _span(name: str, parent: str, kind: str, attributes: dict[str, Value]) -> Iterator[NonRecordingSpan]:
    here = trace.get_current_span().get_span_context()
    context = (
        TraceContextTextMapPropagator().extract({HEADER: parent}) if parent and parent[:35] != current()[:35] else None
    )
    links = [trace.Link(here)] if context is not None and here.is_valid else []
    sort = trace.SpanKind[kind.upper()]
    # An exception's text may contain secrets: the span gets its type only, the log has the text.
    with _tracer().start_as_current_span(
        name, context, kind=sort, links=links, record_exception=False, set_status_on_exception=False
    ) as started:
        wrapped = Span(started)
        wrapped.note(**attributes)
        try:
            yield wrapped
        finally:
            failed = sys.exc_info()[0]
            if failed:
                wrapped.note(error_type=failed.__name__)
                started.set_status(trace.StatusCode.ERROR)


@lru_cache(maxsize=1)
def _tracer() -> trace.Tracer:
    """Made at the first span, so that a child process of a worker has its own exporter."""
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "elicit-flows"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("elicit_flows")
