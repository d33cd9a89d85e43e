"""What a tool answers that was not run."""

from __future__ import annotations

from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.outcomes import Declined, Expired, Failed, Outcome

WAITING = "waiting: The user has not done it yet. Their link is {url} ; call this tool again when they have."
AGAIN = "cancelled: This answer was acted on before. Call the tool anew to ask anew."


def words(settings: Settings, outcome: Outcome) -> str:
    """The author's own where there are any."""
    if settings.say:
        return settings.say(outcome)
    match outcome:
        case Declined():
            return "declined: The user said no."
        case Expired():
            return "cancelled: Nobody answered in time."
        case Failed(message=message):
            return f"cancelled: It could not be done. {message}"
        case _:
            return "cancelled: The question was taken back."
