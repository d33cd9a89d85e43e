"""Reads of the service that go on for as long as the client's ``retry_for`` allows."""

from __future__ import annotations

from dataclasses import asdict

from elicit_flows.domain.values import Json
from elicit_flows.sdk.client import POLL_SECONDS, Elicit
from elicit_flows.sdk.paths import elicitation_path
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires.ahp_questions import questions_of


async def change(elicit: Elicit, asked: Elicitation, after_seq: int) -> tuple[Elicitation, Json]:
    """Wait until the elicitation's ``seq`` is above ``after_seq``, and return it with the answers at that moment.

    Returns unchanged after a while if nothing happens. The answers have the API's form, and are empty if the draft is
    not shared.
    """
    while True:
        found = await elicit._get(asked, POLL_SECONDS, after_seq, elicit._retry_for)
        if found.over or not (found.params.get("shared") and questions_of(asdict(found))):
            return found, {}
        draft = await elicit._transport.call("GET", f"{elicitation_path(found)}/draft", retry_for=elicit._retry_for)
        if draft["seq"] == found.seq:
            return found, draft["answers"]
        after_seq = found.seq
