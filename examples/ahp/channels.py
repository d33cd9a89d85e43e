"""The state of each channel, and one numbered log of all actions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable

from ahp import state
from ahp.state import Json

Listener = Callable[[Json], None]


class Channels:
    """``keep``: how many actions are stored for clients that reconnect."""

    def __init__(self, states: dict[str, Json], keep: int) -> None:
        self._states = states
        self._log: deque[Json] = deque(maxlen=keep)
        self._listeners: list[Listener] = []
        # Above every number that a process before this one gave, which nobody here can replay.
        self.seq = int(time.time() * 1000)

    def __contains__(self, channel: object) -> bool:
        return channel in self._states

    def __getitem__(self, channel: str) -> Json:
        return self._states[channel]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Receive every envelope from now on, until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, channel: str, action: Json, origin: Json | None = None, rejection: str | None = None) -> None:
        """Number the action, apply it unless it is rejected, and send it to everybody."""
        self.seq += 1
        envelope: Json = {"channel": channel, "action": action, "serverSeq": self.seq}
        envelope |= {"origin": origin} if origin else {}
        if rejection is None:
            if channel.startswith("ahp-chat:"):
                self._states[channel] = state.chat(self._states[channel], action) | {"modifiedAt": state.now()}
            else:
                self._states[channel] = state.session(self._states[channel], action)
        else:
            envelope["rejectionReason"] = rejection
        self._log.append(envelope)
        for listener in list(self._listeners):
            listener(envelope)

    def snapshots(self, channels: Iterable[str]) -> list[Json]:
        return [{"resource": one, "state": self._states[one], "fromSeq": self.seq} for one in channels if one in self]

    def since(self, seq: int) -> list[Json] | None:
        """The actions after ``seq``; None if they are no longer stored."""
        oldest = self._log[0]["serverSeq"] if self._log else self.seq + 1
        if not oldest - 1 <= seq <= self.seq:
            return None
        return [one for one in self._log if one["serverSeq"] > seq]
