"""Errors of asking over an ACP connection. Refusals by the service are ElicitError, as everywhere."""

from __future__ import annotations

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Elicitation


class CannotAsk(ElicitError):
    """The client did not advertise the mode that the question needs, or it refused the request.

    The question is cancelled. Only a form may be asked in form mode, because the client sees what the user types there.
    """

    def __init__(self, detail: str) -> None:
        super().__init__("cannot_ask", detail)


class UnknownAnswer(ElicitError):
    """The client's answer is neither yes nor no. ``action`` is the answer, "" if it could not be read.

    ``elicitation`` stays open: the same tool call may ask again, or use ``Elicit`` to wait for it or cancel it.
    """

    def __init__(self, action: str, elicitation: Elicitation) -> None:
        super().__init__("unknown_answer", f"The client answered {action!r}, which is neither yes nor no")
        self.action = action
        self.elicitation = elicitation
