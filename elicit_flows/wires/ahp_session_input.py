"""AHP before 0.4, where the conversation was the session's: ``session/input*``, each action with the session's URI.

The request, its questions and its answers are those of ``ahp``; this renames an action and says whose it is.
"""

from __future__ import annotations

from elicit_flows.values import Json

_OLD, _NEW = "session/input", "chat/input"
_SINCE = (0, 4)


def is_spoken(version: str) -> bool:
    """Whether a host of this protocol version, such as ``0.3.0``, says it so. Raises ValueError for what is none."""
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) < _SINCE


def older(action: Json, session: str) -> Json:
    """One of ``ahp``'s ``chat/input…`` actions, for the session with this URI. The list of 0.5.1 was not there yet."""
    return {**action, "type": _OLD + action["type"].removeprefix(_NEW), "session": session}


def newer(action: Json) -> Json:
    """A client's ``session/input…`` action as ``ahp`` reads it."""
    kept = {name: value for name, value in action.items() if name != "session"}
    return {**kept, "type": _NEW + str(action["type"]).removeprefix(_OLD)}
