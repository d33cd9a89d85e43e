"""A request that may be repeated under a key, and may fail if that was ordered."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from flask import request

from sandbox.doubles.faults import Fault, Faults
from sandbox.doubles.keys import Keys, KeyTrouble
from sandbox.doubles.seen import Seen

Act = Callable[[], tuple[int, Any]]  # performs the call and returns the status and the JSON to answer


class ApiError(Exception, ABC):
    """``status`` is the HTTP status. ``kept``: an idempotency key stores this answer, because the request was
    executed.
    """

    def __init__(self, status: int, message: str, *, kept: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.kept = kept

    @abstractmethod
    def body(self) -> dict[str, Any]: ...

    def text(self) -> str:
        return json.dumps(self.body(), indent=2)


class Calls(ABC):
    """Each double has its own error messages. All methods raise ApiError."""

    def __init__(self, keys: Keys, faults: Faults) -> None:
        self.keys = keys
        self.faults = faults

    @abstractmethod
    def ordered(self, fault: Fault) -> ApiError: ...

    @abstractmethod
    def refused(self, trouble: KeyTrouble) -> ApiError: ...

    def keyed(
        self, seen: Seen, account: str, given: dict[str, Any], now: int, fault: Fault | None, act: Act
    ) -> tuple[int, str]:
        """The answer that is stored under the request's idempotency key, or a new one, which is stored if it
        should be.
        """
        if fault and fault.status and not fault.executed and not fault.stored:
            raise self.ordered(fault)
        if seen.key is None or seen.method == "GET":
            return self.carried_out(fault, act)
        mark = hashlib.sha256(json.dumps([seen.method, seen.path, given], sort_keys=True).encode()).hexdigest()
        try:
            kept = self.keys.claim(account, seen.key, mark, seen.request, now)
        except KeyTrouble as trouble:
            raise self.refused(trouble) from None
        if kept is not None:
            seen.replayed = True
            return kept.status, kept.body
        try:
            status, text = self.carried_out(fault, act)
        except ApiError as error:
            if error.kept:
                self.keys.keep(account, seen.key, error.status, error.text())
            else:
                self.keys.release(account, seen.key)
            raise
        self.keys.keep(account, seen.key, status, text)
        return status, text

    def carried_out(self, fault: Fault | None, act: Act) -> tuple[int, str]:
        if fault and not fault.executed and (fault.status or fault.lose):
            raise self.ordered(fault)
        status, answer = act()
        if fault and not fault.sent:
            self.faults.resumed.wait(fault.hang)
        if fault and fault.status:
            raise self.ordered(fault)
        return status, json.dumps(answer, indent=2)

    def before_sending(self, fault: Fault | None) -> None:
        """Delay the answer, or drop it, if that was ordered."""
        if fault and fault.sent:
            self.faults.resumed.wait(fault.hang)
        if fault and fault.lose:
            hang_up()


def hang_up() -> None:
    """Close the connection."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
