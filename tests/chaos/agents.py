"""The agents: each call is repeated until it is answered, and a thread reads each agent's feed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2

from tests.chaos.flows import Flow, Json
from tests.chaos.world import World

TERMINAL = {"completed", "declined", "cancelled", "expired", "failed"}
RETRY_FOR = 240.0  # seconds that somebody tries again and again; longer than a step that was cut off stays so
PAUSE = 0.25  # seconds between two tries
WAIT = 10  # seconds, as ?wait=
TIMEOUT = 25.0  # seconds for one answer


class GaveUpError(Exception):
    """For as long as RETRY_FOR nobody answered, or it went no further."""


def together(*acts: Callable[[], object]) -> None:
    """At the same moment; raises what one of them met when all are done."""
    with ThreadPoolExecutor(len(acts)) as pool:
        for done in [pool.submit(act) for act in acts]:
            done.result()


class Caller:
    """One agent, for one flow."""

    def __init__(self, world: World, flow: Flow) -> None:
        self.world, self.flow = world, flow
        self.slug = world.programs[flow.agent].slug

    def call(self, method: str, path: str, key: str | None = None, body: Json | None = None) -> httpx2.Response:
        """The answer, once there is one that says something. Each try is a connection of its own, as of a new run."""
        end = time.monotonic() + RETRY_FOR
        headers = {"idempotency-key": key} if key else {}
        while time.monotonic() < end:
            try:
                with self.world.client(self.flow.agent, timeout=TIMEOUT) as client:
                    answer = client.request(method, path, headers=headers, json=body)
            except httpx2.TransportError:
                time.sleep(PAUSE)
                continue
            in_flight = answer.status_code == 409 and answer.json()["code"] == "idempotency_in_flight"
            if answer.status_code < 500 and answer.status_code != 429 and not in_flight:
                return answer
            if answer.status_code == 500:
                self.world.write("broke", url=f"{method} {path}", text=answer.text[:300])
            time.sleep(PAUSE)
        raise GaveUpError(f"{method} {path}: no answer for {RETRY_FOR:.0f} s")

    def expect(self, answer: httpx2.Response, *statuses: int) -> Json:
        """Its body. Anything but ``statuses`` is written down as a thing that must not be."""
        request = f"{answer.request.method} {answer.request.url.path}"
        if answer.status_code not in statuses:
            self.world.write("broke", url=request, text=f"{answer.status_code} {answer.text[:300]}")
            raise GaveUpError(f"{request}: {answer.status_code}")
        return dict(answer.json())

    def ask(self, iss: str, sub: str) -> Json:
        """The elicitation. Whoever got no answer asks again, with the same key."""
        body = {
            **self.flow.question(self.world.receiver.url("/visit")), "subject": {"iss": iss, "sub": sub},
            "message": "Please answer this.", "expires_in": self.flow.life, "reuse": "never",
            "metadata": {"flow": self.flow.number},
        }  # fmt: skip

        def once() -> None:
            answer = self.call("POST", "/v1/elicitations", self.flow.key, body)
            found.append(self.expect(answer, 200, 201))
            line = {"key": self.flow.key, "outcome": "ok", "elicitation": found[-1]["id"]}
            self.world.write("asked", agent=self.slug, flow=self.flow.number, sub=sub, **line)

        found: list[Json] = []
        together(once, once) if self.flow.twice else once()
        return found[0]

    def look(self, elicitation: str, wait: int = 0) -> Json:
        answer = self.call("GET", f"/v1/elicitations/{elicitation}" + (f"?wait={wait}" if wait else ""))
        seen = self.expect(answer, 200)
        self.world.write("seen", elicitation=seen)
        return seen

    def until_over(self, elicitation: str) -> Json:
        end = time.monotonic() + RETRY_FOR
        while time.monotonic() < end:
            seen = self.look(elicitation, WAIT)
            if seen["status"] in TERMINAL:
                return seen
        raise GaveUpError(f"{elicitation} is {seen['status']} after {RETRY_FOR:.0f} s")

    def cancel(self, elicitation: str) -> None:
        self.expect(self.call("POST", f"/v1/elicitations/{elicitation}/cancel", body={}), 200, 409)

    def complete(self, elicitation: str) -> None:
        self.expect(self.call("POST", f"/v1/elicitations/{elicitation}/complete", body={}), 200, 409)

    def act_on(self, done: Json) -> None:
        """What the agent does with a yes: two of its processes want to act, and one may; then it uses the result."""
        for number in range(2):
            path = f"/v1/elicitations/{done['id']}/consume"
            answer = self.call("POST", path, f"{self.flow.key}-run-{number}", {})
            self.expect(answer, 200, 409)
            self.world.write("consumed", elicitation=done["id"], got=answer.status_code == 200)
        if self.flow.kind == "oauth":
            self._use_token(done)
        if self.flow.kind == "credentials":
            answer = self.call("POST", f"/v1/connections/{done['result']['connection']}/secret", body={})
            kept = self.expect(answer, 200)["fields"] == {"api_key": self.flow.typed}
            self.world.write("kept", elicitation=done["id"], right=kept)
        if self.flow.kind == "form":
            kept = done["result"]["content"] == {"name": self.flow.typed}
            self.world.write("kept", elicitation=done["id"], right=kept)

    def _use_token(self, done: Json) -> None:
        """Every third wants one that was refreshed just now."""
        path = f"/v1/connections/{done['result']['connection']}/token"
        answer = self.call("POST", path, body={"min_ttl": 3590} if self.flow.number % 3 == 0 else {})
        # 409: whoever refreshed it was killed, and what the provider gave is lost. An event says so.
        found = self.expect(answer, 200, 409)
        status = self._at_provider(found["access_token"]) if answer.status_code == 200 else 0
        self.world.write(
            "fetched", elicitation=done["id"], connection=done["result"]["connection"], told=found.get("code"),
            works=status == 200,
        )  # fmt: skip

    def _at_provider(self, token: str) -> int:
        end = time.monotonic() + RETRY_FOR
        while time.monotonic() < end:
            try:
                url = f"{self.world.drive.issuer}/api/whoami"
                answer = httpx2.get(url, headers={"authorization": f"Bearer {token}"}, trust_env=False, timeout=TIMEOUT)
            except httpx2.TransportError:
                continue
            if answer.status_code < 500:
                return answer.status_code
            time.sleep(PAUSE)
        raise GaveUpError("the provider is away")


class Listener(threading.Thread):
    """Reads one agent's feed as it grows, whatever is broken meanwhile: by long polls, or as a stream (``streams``)."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(name=f"listener-{number}", daemon=True)
        self.world, self.number, self.streams = world, number, bool(number % 2)
        self.heard: list[str] = []
        self.over = threading.Event()
        self._cursor = ""

    def run(self) -> None:
        while not self.over.is_set():
            try:
                self._stream() if self.streams else self._poll()
            except httpx2.TransportError:
                self.over.wait(PAUSE)

    def _poll(self) -> None:
        with self.world.client(self.number, timeout=TIMEOUT) as client:
            while not self.over.is_set():
                answer = client.get("/v1/events", params={"after": self._cursor, "wait": 5, "limit": 50})
                if answer.status_code != 200:
                    self.over.wait(PAUSE)
                    return
                page = answer.json()
                self.heard += [one["id"] for one in page["data"]]
                self._cursor = page["cursor"]

    def _stream(self) -> None:
        headers = {"accept": "text/event-stream"} | ({"last-event-id": self._cursor} if self._cursor else {})
        with (
            self.world.client(self.number, timeout=TIMEOUT) as client,
            client.stream("GET", "/v1/events", headers=headers) as answer,
        ):
            if answer.status_code != 200:
                self.over.wait(PAUSE)
                return
            cursor = data = ""
            for line in answer.iter_lines():
                if self.over.is_set():
                    return
                field, _, value = line.partition(":")
                if field == "id":
                    cursor = value.strip()
                elif field == "data":
                    data = value
                elif not line and data:  # only now is the event whole
                    self.heard.append(str(json.loads(data)["id"]))
                    self._cursor, data = cursor, ""
