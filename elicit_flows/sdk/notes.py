"""A note of the agent's on an elicitation, to continue after a restart. Nobody but the agent can read it."""

from __future__ import annotations

from abc import ABC

from elicit_flows.domain.values import Json
from elicit_flows.sdk.paths import elicitation_path
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.sdk.transport import Transport


class Notes(ABC):
    """Notes are encrypted, and hold at most 128 KiB. The service deletes them a day after the elicitation has ended."""

    _transport: Transport
    _retry_for: float

    async def note(self, elicitation: str | Elicitation) -> dict[str, str]:
        """Return the note; empty if there is none, or if it has been deleted."""
        return await self._transport.fetch(_note, "GET", f"{elicitation_path(elicitation)}/note")

    async def add_to_note(self, elicitation: str | Elicitation, changes: dict[str, str | None]) -> dict[str, str]:
        """Set the given members and keep the others; None removes a member. Returns the whole note.

        Retries for ``retry_for`` seconds while the service cannot be reached, because the note may be the only record
        of what was done. Raises InvalidRequestError when the note is too long.
        """
        path, body = f"{elicitation_path(elicitation)}/note", {"note": changes}
        return await self._transport.fetch(_note, "PATCH", path, json=body, retry_for=self._retry_for)


def _note(answer: Json) -> dict[str, str]:
    return dict(answer["note"])
