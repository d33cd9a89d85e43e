"""The web app that resumes runs, called as an ASGI server calls it, with deliveries signed here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks import Webhook

from elicit_flows.sdk import Elicitation, Event
from elicit_flows.sdk.frameworks import Answer, WebhookApp
from elicit_flows.sdk.frameworks.answers import RUN, asked
from elicit_flows.sdk.frameworks.webhook_app import MOST_BYTES
from tests.sdk.fake import COMPLETED

pytestmark = pytest.mark.anyio

SECRET = "whsec_" + "A" * 43 + "="


class Guards:
    def answer(self, event: Event) -> Answer | None:
        return Answer.of(event, "files")


def body_of(elicitation: str = "el_1", run: str = "run-1", app: str = "files") -> bytes:
    kept = {RUN: {"app": app, "run": run, "call": "call_1"}}
    data = COMPLETED | {"id": elicitation, "metadata": kept}
    return json.dumps({"id": f"ev_{elicitation}", "type": "elicitation.completed", "data": data}).encode()


async def deliver(app: WebhookApp, body: bytes, secret: str = SECRET, method: str = "POST") -> int:
    """The status of the answer to one delivery, whose body comes in two pieces."""
    now = datetime.now(UTC)
    signature = Webhook(secret).sign("ev_1", now, body.decode())
    named = {"Webhook-Id": "ev_1", "Webhook-Timestamp": str(int(now.timestamp())), "Webhook-Signature": signature}
    headers = [(name.lower().encode(), value.encode()) for name, value in named.items()]
    pieces = iter([{"body": body[:9], "more_body": True}, {"body": body[9:]}])
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", **next(pieces)}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": method, "headers": headers}, receive, send)
    assert [one["type"] for one in sent] == ["http.response.start", "http.response.body"]
    return int(sent[0]["status"])


async def test_a_signed_answer_resumes_its_run() -> None:
    resumed: list[Answer] = []

    async def go_on(answer: Answer) -> None:
        resumed.append(answer)

    assert await deliver(WebhookApp(Guards(), go_on, SECRET), body_of()) == 204
    assert await deliver(WebhookApp(Guards(), resumed.append, SECRET), body_of(run="run-2")) == 204
    assert [(one.run, one.call, one.elicitation.id) for one in resumed] == [
        ("run-1", "call_1", "el_1"), ("run-2", "call_1", "el_1"),
    ]  # fmt: skip


async def test_t93_what_the_service_did_not_sign_resumes_nothing() -> None:
    resumed: list[Answer] = []
    app = WebhookApp(Guards(), resumed.append, SECRET)
    assert await deliver(app, body_of(), secret="whsec_" + "B" * 43 + "=") == 400
    assert await deliver(app, b"x" * (MOST_BYTES + 1)) == 413
    assert await deliver(app, body_of(), method="GET") == 405
    assert await deliver(app, body_of(app="another")) == 204
    assert resumed == []
    with pytest.raises(ValueError, match="not by lifespan"):
        await app({"type": "lifespan"}, lambda: None, lambda _: None)  # type: ignore[arg-type,return-value]


@pytest.fixture
def together() -> Callable[..., Any]:
    """The statuses of two deliveries at once, and how many answers were dealt with at the same time."""

    async def together(*bodies: bytes, **options: Any) -> tuple[list[int], int]:
        now, most = 0, 0

        async def go_on(answer: Answer) -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.05)
            now -= 1

        app = WebhookApp(Guards(), go_on, SECRET, **options)
        return await asyncio.gather(*(deliver(app, body) for body in bodies)), most

    return together


async def test_t204_answers_of_one_run_are_dealt_with_one_after_the_other(together: Callable[..., Any]) -> None:
    assert await together(body_of("el_1"), body_of("el_2")) == ([204, 204], 1)
    assert await together(body_of("el_1"), body_of("el_2", run="run-2")) == ([204, 204], 2)


async def test_a_lock_of_the_authors_is_held_for_the_run(together: Callable[..., Any]) -> None:
    held: list[str] = []
    one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def lock(run: str) -> Any:
        async with one_at_a_time:
            held.append(run)
            yield

    assert await together(body_of("el_1"), body_of("el_2", run="run-2"), lock=lock) == ([204, 204], 1)
    assert sorted(held) == ["run-1", "run-2"]


async def test_a_delivery_that_comes_again_waits_for_the_same_call() -> None:
    resumed: list[Answer] = []
    may_end = asyncio.Event()

    async def go_on(answer: Answer) -> None:
        resumed.append(answer)
        await may_end.wait()

    app = WebhookApp(Guards(), go_on, SECRET, wait=0.02)
    assert [await deliver(app, body_of()) for _ in range(2)] == [503, 503]
    may_end.set()
    assert await deliver(app, body_of()) == 204
    assert len(resumed) == 1


async def test_after_an_error_the_next_delivery_tries_again(caplog: pytest.LogCaptureFixture) -> None:
    tries = iter([RuntimeError("The model is away."), None])

    async def go_on(answer: Answer) -> None:
        if error := next(tries):
            raise error

    app = WebhookApp(Guards(), go_on, SECRET)
    assert [await deliver(app, body_of()) for _ in range(2)] == [500, 204]
    assert "go_on failed for run run-1" in caplog.text
    assert "The model is away." in caplog.text


def test_only_the_links_of_questions_asked_since_the_answer_are_new() -> None:
    at = [f"2026-11-27T10:00:0{second}.000001Z" for second in range(3)]
    answer = Answer("run-1", "call_1", Elicitation.read(COMPLETED | {"finished_at": at[1]}))
    waits = [asked(Elicitation.read(COMPLETED | {"id": f"el_{one}", "created_at": one})) for one in (at[0], at[2])]
    assert [one["elicitation"] for one in answer.new(waits)] == [f"el_{at[2]}"]


@pytest.mark.parametrize("status", ["pending", "completed"])
def test_a_change_of_a_shared_form_in_the_feed_is_no_answer(status: str) -> None:
    data = {"id": "el_1", "object": "elicitation", "status": status, "seq": 3, "draft": None}
    assert Guards().answer(Event("ev_1", "elicitation.draft", data)) is None
