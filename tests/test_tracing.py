"""One flow is one trace, through web, provider, worker and webhook. It contains no secrets and no people (T87)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.cast import ALICE, DRIVE_BOT
from tests.doubles.server import Request, Response, Route, Server
from tests.support import box_config, canary
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import PROJECT, until
from tests.support.sink import Sink

AGENTS_OWN = "00-11112222333344445555666677778888-1111222233334444-01"
MESSAGE = "words for nobody else's eyes"


@dataclass(frozen=True)
class Span:
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, str]


class Collector(Server):
    """Takes traces as OTLP over HTTP, in protobuf."""

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {"/v1/traces": ("traces", self._take)}

    def _take(self, request: Request) -> Response:
        assert request.headers["content-type"] == "application/x-protobuf"
        return Response(200, b"", {"Content-Type": "application/x-protobuf"})

    @property
    def bodies(self) -> list[bytes]:
        with self.lock:
            return [request.body for _, request in self.requests]

    def spans(self) -> list[Span]:
        found = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [_span(one) for scope in resource.scope_spans for one in scope.spans]
        return found


def _span(one: Any) -> Span:
    attributes = {item.key: item.value.string_value or str(item.value.int_value) for item in one.attributes}
    return Span(one.name, one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex(), attributes)


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as made:
        yield made


@pytest.fixture(scope="module")
def traced(new_box: Callable[..., Box], collector: Collector) -> Iterator[Box]:
    """The shape with the most processes."""
    settings = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}
    box = new_box("full", settings=settings)
    yield box
    box.remove()


@pytest.mark.slow
def test_t87_one_flow_is_one_trace_and_nobody_is_in_it(
    traced: Box, collector: Collector, corp: Op, drive: Op, sink: Sink, http_user: HttpUser
) -> None:
    agent = traced.agent(DRIVE_BOT.slug)
    body = {
        "kind": "oauth", "subject": ALICE.subject(corp.issuer), "message": MESSAGE, "params": {"provider": "drive"},
        "reuse": "never",
    }  # fmt: skip
    before = len(collector.bodies)
    asked = agent.post("/v1/elicitations", json=body, headers={"traceparent": AGENTS_OWN}).json()
    http_user.connect(asked["url"], ALICE.sub)
    delivery = sink.wait_for_event(f"/{agent.slug}", "elicitation.completed", asked["id"])
    trace = AGENTS_OWN[3:35]
    assert delivery.headers["traceparent"][3:35] == trace

    def ours() -> dict[str, Span]:
        return {one.name: one for one in collector.spans() if one.trace == trace}

    wanted = {"POST /v1/elicitations", "elicit.begin", "elicit.resume", "elicit.webhook", "POST"}
    until(lambda: wanted <= set(ours()), "the spans arrived", timeout=20)
    spans = ours()
    assert spans["POST /v1/elicitations"].parent == AGENTS_OWN[36:52]
    assert spans["elicit.begin"].parent == spans["POST /v1/elicitations"].id
    assert spans["elicit.resume"].attributes["elicit.elicitation"] == asked["id"]
    hosts = {one.attributes.get("server.address") for one in collector.spans() if one.trace == trace}
    assert "127.0.0.1" in hosts, "the provider and the webhook"
    assert f"-{delivery.headers['traceparent'][36:52]}-" not in AGENTS_OWN
    text = b"\n".join(collector.bodies[before:])
    for word in (b"alice", MESSAGE.encode(), b"code=", b"state=", corp.issuer.encode() + b"/", agent.slug.encode()):
        assert word not in text, word
    secrets = {
        "API key": agent.api_key, "webhook secret": agent.webhook_secret.removeprefix("whsec_"),
        "client secret": box_config.PROVIDER_SECRET, "SECRET_KEY": traced.env["SECRET_KEY"],
    }  # fmt: skip
    assert canary.found_in(text, {name: value.encode() for name, value in secrets.items()}) == []
    assert b"/c/<str:elicitation_id>" in text, "pages are told by their route"


@pytest.mark.slow
def test_what_a_browser_says_of_a_trace_is_not_listened_to(
    traced: Box, collector: Collector, http_user: HttpUser
) -> None:
    forged = AGENTS_OWN.replace("1111222233334444-01", "9999888877776666-01").replace("11112222", "99998888")
    http_user.http.get(f"{traced.url}/account", headers={"traceparent": forged})
    until(lambda: any(one.name == "GET /account" for one in collector.spans()), "the span arrived", timeout=20)
    assert not [one for one in collector.spans() if one.trace == forged[3:35]]


def run(code: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **more}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=env, capture_output=True, text=True, check=False
    )


def test_where_it_is_off_nothing_of_it_is_loaded() -> None:
    code = "import sys; from elicit_flows.lib import telemetry as t; print('opentelemetry' in sys.modules, t.current())"
    assert run(code).stdout == "False \n"


def test_an_endpoint_without_the_library_is_said_at_the_start() -> None:
    hidden = "import sys; sys.modules['opentelemetry'] = None; import django; django.setup()"
    said = run(hidden, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9").stderr
    assert "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http, or leave the variable out" in said
