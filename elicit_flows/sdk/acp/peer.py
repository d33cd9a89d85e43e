"""The ACP client at the other end of a connection: its capabilities, the two messages that are sent to it, and what
goes wrong there. Refusals by the service are ElicitError, as everywhere.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from acp import Client, RequestError
from acp.schema import ClientCapabilities, ElicitationFormMode, ElicitationMode, ElicitationUrlMode
from pydantic import ValidationError

from elicit_flows.domain.values import Json
from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires import acp
from elicit_flows.wires.reply import CANCEL, Reply

HEARD_SECONDS = 5.0  # a client that does not read a message for that long counts as gone
REQUEST_CANCELLED = -32800


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


class Peer:
    """``capabilities``: what ``initialize`` received. None, ``{}`` and null all mean that nothing is supported."""

    def __init__(self, conn: Client, capabilities: ClientCapabilities | None) -> None:
        offered = capabilities.elicitation if capabilities else None
        self._conn = conn
        self.gone = False
        self._links = offered is not None and offered.url is not None
        self._forms = offered is not None and offered.form is not None

    def mode(self, asked: Elicitation) -> str:
        """ "url" if the client can show a link, or else "form" for a form. Raises CannotAsk for everything else."""
        if self._links:
            return "url"
        if self._forms and asked.kind == "form":
            return "form"
        raise CannotAsk("The client did not advertise elicitation.url, so it cannot show a link to its user")

    async def create(self, asked: Elicitation, mode: str, scope: Json) -> Reply | None:
        """Send ``elicitation/create`` and wait for the client's answer. None: the connection is gone.

        Raises CannotAsk if the client refuses the request itself.
        """
        body = asdict(asked)
        # The library's type tells the scope from its members.
        request: ElicitationMode
        if mode == "form":
            request = ElicitationFormMode.model_validate(acp.form_params(body) | scope).root
        else:
            request = ElicitationUrlMode.model_validate(acp.params(body) | scope).root
        try:
            response = await self._conn.create_elicitation(asked.message, request)
        except ConnectionError:
            self.gone = True
            return None
        except ValidationError:
            return Reply("")
        except RequestError as refused:
            if refused.code == REQUEST_CANCELLED:
                return Reply(CANCEL)
            raise CannotAsk(f"The client refused to ask: {refused} ({refused.code})") from refused
        if "action" not in response.model_fields_set:  # version 1.0 of the library fills in "accept"
            return Reply("")
        return acp.reply(response.model_dump(mode="json", by_alias=True))

    async def complete(self, asked: Elicitation) -> bool:
        """Send ``elicitation/complete``. False: the connection is gone."""
        try:
            async with asyncio.timeout(HEARD_SECONDS):
                await self._conn.complete_elicitation(asked.id)
        except (ConnectionError, TimeoutError):
            return False
        return True
