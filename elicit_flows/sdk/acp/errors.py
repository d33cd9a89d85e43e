"""What keeps an agent from asking over its connection. The service's own refusals are ElicitError, as everywhere."""

from __future__ import annotations

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Elicitation


class CannotAsk(ElicitError):
    """The client did not advertise the mode that the question needs, or refused the request all the same.

    The question is taken back. Nothing but a form is asked in form mode: what the user types there, the client sees.
    """

    def __init__(self, detail: str) -> None:
        super().__init__("cannot_ask", detail)


class UnknownAnswer(ElicitError):
    """The client answered what is neither yes nor no: ``action`` as it came, "" where it could not be read.

    ``elicitation`` stays open: the same tool call may ask again, or wait for it or cancel it through ``Elicit``.
    """

    def __init__(self, action: str, elicitation: Elicitation) -> None:
        super().__init__("unknown_answer", f"The client answered {action!r}, which is neither yes nor no")
        self.action = action
        self.elicitation = elicitation
