"""What the bridge reads of the service, for as long as the client's patience with it lasts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from elicit_flows.sdk.client import POLL_SECONDS, Elicit
from elicit_flows.sdk.paths import ELICITATIONS, elicitation_path
from elicit_flows.sdk.shapes import Elicitation, User, claim
from elicit_flows.states import OPEN
from elicit_flows.values import Json

PAGE = 100


async def next_change(elicit: Elicit, seen: Elicitation) -> Elicitation:
    """The elicitation once its ``seq`` is above that of ``seen``, or unchanged after a while."""
    return await elicit._get(seen, POLL_SECONDS, seen.seq, elicit._patience)


async def draft(elicit: Elicit, asked: Elicitation, after_seq: int = 0) -> Json:
    """The answers by question, as the API says them, that were changed after ``after_seq``."""
    path, params = f"{elicitation_path(asked)}/draft", {"after_seq": after_seq}
    found = await elicit._transport.call("GET", path, params=params, patience=elicit._patience)
    answers: Json = found["answers"]
    return answers


async def open_ones(elicit: Elicit, user: User) -> AsyncGenerator[Elicitation, None]:
    """Every question to ``user`` that is open, newest first within each status."""
    who = claim(user)
    for status in sorted(OPEN):
        params: dict[str, Any] = {"status": str(status), "iss": who.iss, "sub": who.sub, "limit": PAGE}
        while True:
            page = await elicit._transport.call("GET", ELICITATIONS, params=params, patience=elicit._patience)
            for body in page["data"]:
                yield Elicitation.read(body)
            if not page["next_cursor"]:
                break
            params["cursor"] = page["next_cursor"]
