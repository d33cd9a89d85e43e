"""The client at the other end of one connection: what it can show, and the two messages that it gets."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from acp import Client, RequestError
from acp.schema import ClientCapabilities, ElicitationFormMode, ElicitationMode, ElicitationUrlMode
from pydantic import ValidationError

from elicit_flows.sdk.acp.errors import CannotAsk
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.values import Json
from elicit_flows.wires import acp
from elicit_flows.wires.reply import CANCEL, Reply

HEARD_SECONDS = 5.0  # a client that does not read for as long is taken for gone
REQUEST_CANCELLED = -32800


class Peer:
    """``capabilities`` as ``initialize`` brought them; none, ``{}`` and null advertise nothing."""

    def __init__(self, conn: Client, capabilities: ClientCapabilities | None) -> None:
        offered = capabilities.elicitation if capabilities else None
        self._conn = conn
        self._links = offered is not None and offered.url is not None
        self._forms = offered is not None and offered.form is not None

    def mode(self, asked: Elicitation) -> str:
        """ "url" wherever the client can show a link; "form" for a form where it can show nothing else.

        Raises CannotAsk.
        """
        if self._links:
            return "url"
        if self._forms and asked.kind == "form":
            return "form"
        raise CannotAsk("The client did not advertise elicitation.url: its user cannot be given a link")

    async def create(self, asked: Elicitation, mode: str, scope: Json) -> Reply | None:
        """``elicitation/create``, and what the client says to it, whenever it does. None: the connection is gone.

        Raises CannotAsk where the client refuses the request itself.
        """
        request = _request(asdict(asked), mode, scope)
        try:
            response = await self._conn.create_elicitation(asked.message, request)
        except ConnectionError:
            return None
        except ValidationError:
            return Reply("")
        except RequestError as refused:
            if refused.code == REQUEST_CANCELLED:
                return Reply(CANCEL)
            raise CannotAsk(f"The client refused to ask: {refused} ({refused.code})") from refused
        if "action" not in response.model_fields_set:  # which 1.0 of the library takes for accept
            return Reply("")
        return acp.reply(response.model_dump(mode="json", by_alias=True))

    async def complete(self, asked: Elicitation) -> bool:
        """``elicitation/complete``; False: the connection is gone."""
        try:
            async with asyncio.timeout(HEARD_SECONDS):
                await self._conn.complete_elicitation(asked.id)
        except (ConnectionError, TimeoutError):
            return False
        return True


def _request(body: Json, mode: str, scope: Json) -> ElicitationMode:
    """Our message as the library's own type, which knows the scope by its members."""
    if mode == "form":
        return ElicitationFormMode.model_validate(acp.form_params(body) | scope).root
    return ElicitationUrlMode.model_validate(acp.params(body) | scope).root
