"""The client of the protocol's own library (tests/peers/acp_client.mjs), and its user at the keyboard."""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from elicit_flows.domain.values import Json
from tests.support.op import PEERS, node
from tests.support.process import clean_env, until

LINK, FORM, BOTH, NEITHER = {"url": {}}, {"form": {}}, {"url": {}, "form": {}}, {}


class AcpClient:
    """One connection: to an agent that it starts, or to ``ws://…``. ``lines`` is all that it has said so far."""

    def __init__(self, log: Path, *agent: str, env: dict[str, str] | None = None) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [node(), "acp_client.mjs", *agent], cwd=PEERS, env=clean_env(env),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        self.lines: list[Json] = []
        self._names = map(str, itertools.count(1))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        self.lines.extend(json.loads(line) for line in self._process.stdout)

    def _say(self, line: Json) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(10)
        self._reader.join(10)
        self._process.stdout.close()

    def wait(self, ready: Callable[[Json], Any], what: str, *, timeout: float = 15.0) -> Json:
        """The first line that is ``ready``."""
        try:
            return until(lambda: next(filter(ready, list(self.lines)), None) or {}, what, timeout=timeout)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.lines}\n{self._log.read_text()[-3000:]}") from None

    # The client.

    def begin(self, method: str, **params: Any) -> str:
        name = next(self._names)
        self._say({"request": method, "params": params, "as": name})
        return name

    def end(self, name: str) -> Json:
        """``{"result": …}`` or ``{"error": …}`` of a request."""
        return self.wait(lambda line: line.get("end") == name, f"request {name} ends")

    def call(self, method: str, **params: Any) -> Json:
        ended = self.end(self.begin(method, **params))
        assert "result" in ended, ended
        return ended["result"] or {}

    def initialize(self, elicitation: Json | None) -> Json:
        offered = {} if elicitation is None else {"elicitation": elicitation}
        return self.call("initialize", protocolVersion=1, clientCapabilities=offered)

    def session(self) -> str:
        return str(self.call("session/new", cwd="/", mcpServers=[])["sessionId"])

    def prompt(self, session: str, text: str) -> str:
        return self.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def notify(self, method: str, **params: Any) -> None:
        self._say({"notify": method, "params": params})

    def pid(self) -> int:
        self._say({"pid": True})
        return int(self.wait(lambda line: "pid" in line, "the agent's pid")["pid"])

    # Its user.

    def asked(self, session: str | None = None, *, without: tuple[str, ...] = ()) -> Json:
        """The request in that session: ``{"asked": its number here, "params": …}``."""

        def ready(line: Json) -> bool:
            params = line.get("params", {})
            return "asked" in line and params.get("sessionId") == session and params.get("elicitationId") not in without

        return self.wait(ready, "the client is asked")

    def answer(self, asked: Json, action: str, **more: Any) -> None:
        self._say({"answer": asked["asked"], "result": {"action": action, **more}})

    def fail(self, asked: Json, code: int) -> None:
        self._say({"answer": asked["asked"], "error": {"code": code, "message": "as the test wants"}})

    # What went over the wire.

    def received(self, method: str) -> list[Json]:
        """The params of what the agent sent under that name."""
        return [
            line["received"]["params"] for line in list(self.lines) if line.get("received", {}).get("method") == method
        ]

    def completions(self, asked: Json) -> int:
        return self.received("elicitation/complete").count({"elicitationId": asked["params"]["elicitationId"]})

    def chunks(self, session: str) -> Iterator[str]:
        """What the agent said in the session."""
        for update in self.received("session/update"):
            if update["sessionId"] == session and update["update"]["sessionUpdate"] == "agent_message_chunk":
                yield update["update"]["content"]["text"]

    def said(self, session: str) -> str:
        """The first of it, once it is there."""
        return until(lambda: next(self.chunks(session), ""), f"the agent says something in {session}", timeout=15)

    def turn(self, session: str, name: str) -> tuple[str, str]:
        """How the turn ended, and its last message."""
        reason = self.end(name)["result"]["stopReason"]
        return reason, list(self.chunks(session))[-1]
