"""What the bridge reads of the service, for as long as the client's patience with it lasts."""

from __future__ import annotations

from dataclasses import asdict

from elicit_flows.sdk.client import POLL_SECONDS, Elicit
from elicit_flows.sdk.paths import elicitation_path
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.values import Json
from elicit_flows.wires.ahp_questions import questions_of


async def change(elicit: Elicit, asked: Elicitation, after_seq: int) -> tuple[Elicitation, Json]:
    """The elicitation once its ``seq`` is above ``after_seq``, or after a while as it is, and the answers to its
    questions at that very moment, as the API says them.
    """
    while True:
        found = await elicit._get(asked, POLL_SECONDS, after_seq, elicit._patience)
        if found.over or not questions_of(asdict(found)):
            return found, {}
        draft = await elicit._transport.call("GET", f"{elicitation_path(found)}/draft", patience=elicit._patience)
        if draft["seq"] == found.seq:
            return found, draft["answers"]
        after_seq = found.seq
