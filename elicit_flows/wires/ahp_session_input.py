"""AHP before 0.4, when the conversation belonged to the session: ``session/input*`` actions with the session's URI.

Request, questions and answers are those of ``ahp``; this module renames the action and adds the session.
"""

from __future__ import annotations

from elicit_flows.domain.values import Json

_OLD, _NEW = "session/input", "chat/input"
_SINCE = (0, 4)


def is_spoken(version: str) -> bool:
    """Whether a host of this protocol version, such as ``0.3.0``, uses them. Raises ValueError if it is not a
    version.
    """
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) < _SINCE


def older(action: Json, session: str) -> Json:
    """One of the ``chat/input…`` actions of ``ahp``, for the session with this URI.

    Actions on the session's list of needed input have no older form, because that list came with 0.5.1.
    """
    return {**action, "type": _OLD + action["type"].removeprefix(_NEW), "session": session}


def newer(action: Json) -> Json:
    """A client's ``session/input…`` action as ``ahp`` reads it."""
    kept = {name: value for name, value in action.items() if name != "session"}
    return {**kept, "type": _NEW + str(action["type"]).removeprefix(_OLD)}
