"""The TypeScript client's feed: it goes on behind the last event, takes pieces of any size, and leaves when told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.sdk.fake import DROP, FakeService, Reply, problem, stream
from tests.sdk.typescript.conftest import Program
from tests.support.machine import within

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


def event(number: int) -> dict[str, Any]:
    return {
        "id": f"ev_{number}", "type": "elicitation.started", "elicitation": "el_1", "seq": number,
        "created_at": "2026-11-21T10:00:00Z", "data": {}, "added_by_a_later_service": True,
    }  # fmt: skip


def sent(*numbers: int) -> str:
    return ": hello\n\n" + "".join(f"id: c{number}\ndata: {json.dumps(event(number))}\n\n" for number in numbers)


def test_the_feed_goes_on_behind_the_last_event_and_leaves_when_told(
    start: Callable[..., Program], service: FakeService
) -> None:
    service.on(
        "GET", "/v1/events",
        # as a stream: cut, busy, and left while it goes on
        stream(sent(1)), problem(503, "busy"), stream(sent(2, 3), hold=True),
        # by long-polling
        Reply({"data": [event(1), event(2)], "cursor": "c2"}), DROP, Reply({"data": [event(3)], "cursor": "c3"}),
        problem(401, "unauthenticated"), stream(": hello\n\n", hold=True), *[problem(502, "bad_gateway")] * 9,
    )  # fmt: skip
    env = {"ELICIT_URL": service.url, "ELICIT_API_KEY": "key-of-the-tests"}
    program = start("feed", env)
    program.wait_until(lambda: program.said("impatient"), "the service was away for too long")
    service.replies["GET", "/v1/events"].clear()
    service.on("GET", "/v1/events", stream("id: c1\ndata: {}\n\n"))
    said = program.end()
    each = [["ev_1", "c1", 2026], ["ev_2", "c2", 2026], ["ev_3", "c3", 2026]]
    assert (said["streamed"], said["polled"]) == (each, [["ev_1", "c0", 2026], *each[1:]])
    assert (said["refused"], said["aborted"]) == ("AuthenticationError", "AbortError")
    assert (said["impatient"], said["foreign"]) == (["ServiceUnavailableError", "bad_gateway"], "UnexpectedAnswerError")
    assert (said["pieces"], said["page"]) == ([["ev_ü", "c1", 2026]], "UnexpectedAnswerError")
    for _ in range(2):
        assert service.hung_up.acquire(timeout=within(5)), "the connection was closed"
    asked = [(one.query, one.headers.get("last-event-id")) for one in service.asked[:8]]
    waits = [({"wait": "25", "after": cursor}, None) for cursor in ("c0", "c2", "c2")]
    assert asked == [({"after": "c0"}, None), ({}, "c1"), ({}, "c1"), *waits, ({}, None), ({}, None)]
