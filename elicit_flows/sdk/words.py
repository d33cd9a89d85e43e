"""What a model is told of a tool that was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from elicit_flows.sdk.outcomes import Cancelled, Declined, Expired, Failed, Outcome
from elicit_flows.sdk.shapes import Elicitation

Verdict = Literal["declined", "waiting", "cancelled", "refused", "unavailable", "failed"]
# The first of two calls may still run, so the model must not call again.
USED = "Another call with this answer is running the tool, or has run it. Do not call it again for this."


class No(NamedTuple):
    """``reason``: a code for programs, None for a decline."""

    verdict: Verdict
    text: str
    reason: str | None = None


def no(outcome: Outcome) -> No:
    """The words for any kind of no."""
    match outcome:
        case Declined():
            return No("declined", "The user said no. Do not call this again unless they ask for it.")
        case Expired():
            return No("cancelled", "Nobody answered in time.", "expired")
        case Failed(message=message, code=code):
            return No("cancelled", f"It could not be done. {message}", code)
        case Cancelled():
            return No("cancelled", "The question was taken back.", "cancelled")
        case _:
            raise AssertionError(outcome)


def waiting(elicitation: Elicitation) -> str:
    """The words while the user has not answered."""
    return f"The user has not done it yet. Their link is {elicitation.url} ; call this tool again when they have."


def waiting_for(urls: Sequence[str]) -> str:
    """The words while the user has not answered all of several questions."""
    links = ", ".join(urls)
    return f"The user has not done it all yet. Their links are {links} ; call this tool again when they have."
