"""OpenTelemetry traces, where ``OTEL_EXPORTER_OTLP_ENDPOINT`` is set and the extra ``otel`` is installed; else nothing.

A trace follows one flow over processes: what waits in the database keeps its ``traceparent`` (W3C Trace Context). Spans
have methods, routes, statuses, hosts and ids of ours; no query, no header, no body, no person (threat T87). The
variables of OpenTelemetry's SDK (``OTEL_SERVICE_NAME``, ``OTEL_TRACES_SAMPLER`` and so on) count.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING

ON = bool(os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"))
HEADER = "traceparent"

if ON or TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Value = str | int


class Quiet:
    """A span where there is none."""

    def note(self, **attributes: Value) -> None:
        pass

    def call(self, name: str) -> None:
        pass


class Span(Quiet):
    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, **attributes: Value) -> None:
        """``http_route="/c/{id}"`` is the attribute ``http.route``."""
        for name, value in attributes.items():
            self._span.set_attribute(name.replace("_", ".", 2), value)

    def call(self, name: str) -> None:
        """What it turned out to be."""
        self._span.update_name(name)


_QUIET: AbstractContextManager[Quiet] = nullcontext(Quiet())


def span(name: str, parent: str = "", *, kind: str = "internal", **attributes: Value) -> AbstractContextManager[Quiet]:
    """``with`` it: a span within the present one, or within ``parent``, a traceparent that was kept.

    Where ``parent`` is of another trace than the present span, both are linked.
    """
    return _span(name, parent, kind, attributes) if ON else _QUIET


def current() -> str:
    """The traceparent of the present span; "" where there is none."""
    if not ON:
        return ""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(HEADER, "")


def within(kept: str) -> str:
    """The present span's where it is of the same trace as ``kept``, else ``kept``: how a flow stays one trace."""
    present = current()
    return present if not kept or present[:35] == kept[:35] else kept


@contextmanager
def _span(name: str, parent: str, kind: str, attributes: dict[str, Value]) -> Iterator[Quiet]:
    here = trace.get_current_span().get_span_context()
    context = (
        TraceContextTextMapPropagator().extract({HEADER: parent}) if parent and parent[:35] != current()[:35] else None
    )
    links = [trace.Link(here)] if context is not None and here.is_valid else []
    sort = trace.SpanKind[kind.upper()]
    # What an exception says is not ours to send on: its kind is noted, its words are in the log.
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
    """Made at the first span, so that a worker's child process has an exporter of its own."""
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "elicit-flows"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("elicit_flows")
