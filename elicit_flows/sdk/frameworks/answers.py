"""An answer that a run waits for, as the process learns of it that will resume the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elicit_flows.domain.values import Json
from elicit_flows.sdk.shapes import Elicitation, Event, moment

RUN = "framework_run"  # the member of an elicitation's metadata that says which run it belongs to
ASKED = frozenset({"elicitation", "url", "message", "asked_at"})  # the members of an open question, see ``asked``


@dataclass(frozen=True, slots=True)
class Answer:
    """A question that is over, and whose run can go on.

    ``run``: the id under which the framework keeps the run. ``call``: the id of the tool call in it.
    """

    run: str
    call: str
    elicitation: Elicitation

    @property
    def user(self) -> tuple[str, str]:
        """The person who was asked: issuer and subject."""
        return self.elicitation.subject.iss, self.elicitation.subject.sub

    @property
    def said(self) -> Json:
        """What the framework is given. It names the question; the guard reads the answer from the service."""
        return {"elicitation": self.elicitation.id}

    def new(self, waiting: Iterable[Json]) -> list[Json]:
        """Those of the questions at which the resumed run has ended that were asked after this answer.

        The links of the others have been sent before.
        """
        over = self.elicitation.finished_at
        return [one for one in waiting if over is None or (moment(one["asked_at"]) or over) > over]

    @classmethod
    def of(cls, event: Event, app: str) -> Answer | None:
        """The answer that an event tells of; None for every other event, and for the questions of another app."""
        kept = (event.data.get("metadata") or {}).get(RUN)  # what changed of a draft comes without the rest
        if not event.type.startswith("elicitation.") or not isinstance(kept, dict) or kept.get("app") != app:
            return None
        seen = Elicitation.read(event.data)
        return cls(str(kept["run"]), str(kept["call"]), seen) if seen.over else None


def asked(elicitation: Elicitation) -> Json:
    """An open question, for the program that shows the link."""
    at = elicitation.created_at
    return {
        "elicitation": elicitation.id,
        "url": elicitation.url,
        "message": elicitation.message,
        "asked_at": at.isoformat() if at else None,
    }
