"""A server that is told to stop: who waits is answered at once and asks the next process."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2

from elicit_flows.models import Provider
from tests.support import rows
from tests.support.process import until
from tests.support.rows import Known, question
from tests.support.serving import Served


def test_whoever_waits_is_answered_at_once_when_the_server_stops(
    committed: None, serve: Callable[..., Served], drive_row: Provider
) -> None:
    known: Known = rows.agent()
    served = serve()
    with known.client(served.url) as api, known.client(served.url) as other, ThreadPoolExecutor(2) as pool:
        asked = api.post("/v1/elicitations", json=question()).json()["id"]
        polled = pool.submit(api.get, f"/v1/elicitations/{asked}", params={"wait": 20})
        streamed = pool.submit(_streamed, other)
        until(lambda: served.waiting == 2, "both wait")
        began = time.monotonic()
        served.leave()
        answer = polled.result()
        assert time.monotonic() - began < 1.5
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "unavailable", "1")
    assert "elicitation.created" in streamed.result()


def _streamed(api: httpx2.Client) -> str:
    """All of the stream: it ends as an answer does, and is not cut off."""
    with api.stream("GET", "/v1/events", headers={"accept": "text/event-stream"}) as stream:
        return "".join(stream.iter_text())
