"""A server that is told to stop answers waiting clients at once, and they ask the next process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2

from elicit_flows.models import Provider
from tests.support import rows
from tests.support.machine import within
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
        heard = threading.Event()
        streamed = pool.submit(_streamed, other, heard)
        until(lambda: served.asleep == 2 and heard.is_set(), "both wait")
        began = time.monotonic()
        served.leave()
        answer = polled.result()
        assert time.monotonic() - began < within(1.5)
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "unavailable", "1")
    assert "elicitation.created" in streamed.result()


def _streamed(api: httpx2.Client, heard: threading.Event) -> str:
    """All of the stream, ``heard`` from its first event on: it ends as an answer does, and is not cut off."""
    with api.stream("GET", "/v1/events", headers={"accept": "text/event-stream"}) as stream:
        told = ""
        for text in stream.iter_text():
            told += text
            if "elicitation.created" in told:
                heard.set()
        return told
