"""What an agent notes on an elicitation, to go on with after a restart. Nobody but the agent sees it."""

from __future__ import annotations

from abc import ABC

from elicit_flows.sdk.paths import elicitation_path
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.sdk.transport import Transport


class Notes(ABC):
    """Kept sealed, 128 KiB in all; a day after the elicitation has ended the service deletes it."""

    _transport: Transport
    _patience: float

    async def note(self, elicitation: str | Elicitation) -> dict[str, str]:
        """Empty where there is none, or where it has been deleted."""
        note: dict[str, str] = (await self._transport.call("GET", f"{elicitation_path(elicitation)}/note"))["note"]
        return note

    async def add_to_note(self, elicitation: str | Elicitation, changes: dict[str, str | None]) -> dict[str, str]:
        """Change the members named, None takes one out; the others stay. The note as it is then.

        Goes on for ``patience`` seconds while the service cannot be reached: what is noted may be the only trace of
        what was done. Raises ElicitError 422 or 413 for what is too long.
        """
        path, body = f"{elicitation_path(elicitation)}/note", {"note": changes}
        answer = await self._transport.call("PATCH", path, json=body, patience=self._patience)
        note: dict[str, str] = answer["note"]
        return note
