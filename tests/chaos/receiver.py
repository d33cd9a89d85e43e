"""The agents' webhook endpoints, as a process of its own that may be killed: ``/<slug>`` is one agent's.

What came in is appended to a file as JSON lines. How each endpoint answers is read from another file at every request.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from standardwebhooks.webhooks import WebhookVerificationError

from tests.cast import program
from tests.support.ports import free_port
from tests.support.process import Process
from tests.support.sink import Delivery, Mode, Sink

READY = "receiving at"


class _Receiver(Sink):
    def __init__(self, port: int, kept: Path, modes: Path) -> None:
        self._kept, self._mode_file, self._lock = kept, modes, threading.Lock()
        super().__init__(port)

    def record(self, delivery: Delivery) -> None:
        """Whole ones only: of a sender that was killed half a body may have come, which nobody would act on."""
        if len(delivery.body) != int(delivery.headers.get("content-length", 0)):
            return
        slug = delivery.path.strip("/")
        try:
            delivery.verify(program(slug).webhook_secret)
            verified = True
        except WebhookVerificationError:
            verified = False
        line = {"agent": slug, "id": delivery.id, "verified": verified, "event": delivery.event}
        with self._lock, self._kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def mode_of(self, path: str) -> Mode:
        if not path.startswith("/chaos-"):
            return Mode(body=b"Thank you.")  # a page that somebody visits
        mode = str(json.loads(self._mode_file.read_text())["mode"])
        if mode.isdigit():
            return Mode(status=int(mode))
        return Mode(hang=mode == "hang", cut=mode == "cut", drip=mode == "drip")


class Receiver:
    """The process, from outside."""

    def __init__(self, home: Path) -> None:
        self.port = free_port()
        self._kept, self._modes = home / "webhooks.jsonl", home / "webhook-mode"
        self.behave("200")
        command = ["-m", "tests.chaos.receiver", str(self.port), str(self._kept), str(self._modes)]
        self.process = Process([sys.executable, *command], home / "receiver.log")

    def start(self) -> None:
        self.process.start()
        self.process.wait_for_output(READY)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def behave(self, mode: str) -> None:
        """From the next request on: a status, ``hang``, ``cut`` or ``drip``."""
        new = self._modes.with_suffix(".new")
        new.write_text(json.dumps({"mode": mode}))
        new.rename(self._modes)

    def received(self) -> list[dict[str, object]]:
        """Lines of agent, id (the header's), verified and event; one that was cut off by a kill is left out."""
        text = self._kept.read_text(encoding="utf-8") if self._kept.exists() else ""
        found = []
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found


def main(port: str, kept: str, modes: str) -> None:
    Path(kept).touch()
    _Receiver(int(port), Path(kept), Path(modes))
    print(READY, port, flush=True)
    sys.stdin.read()
    os._exit(0)  # senders that hang are not waited for


if __name__ == "__main__":
    main(*sys.argv[1:])
