"""A12: a call of the SDK that failed is not tried again where it could be, and nobody can tell who made it."""

from __future__ import annotations

from contextlib import suppress

import pytest

from elicit_flows.sdk import Elicit, ElicitError
from tests.sdk.fake import ELICITATION, FakeService, Reply, problem

pytestmark = pytest.mark.anyio
ALICE = ("https://idp.example", "alice")
CREATE = ("POST", "/v1/elicitations")
ONE = ("GET", "/v1/elicitations/el_1")


async def test_what_is_safe_to_repeat_is_tried_again(service: FakeService, elicit: Elicit) -> None:
    """The call has an Idempotency-Key, so that nothing could happen twice."""
    service.on(*CREATE, problem(500, "x"), Reply(ELICITATION, 201))
    with suppress(ElicitError):
        await elicit.create("confirm", ALICE, {}, message="May I?")
    keys = [asked.headers["idempotency-key"] for asked in service.asked]
    assert len(keys) == 2, "it is sent once and given up"
    assert keys[0] == keys[1]


async def test_a_pause_that_the_service_asks_for_is_kept(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, problem(429, "too_many_requests", {"Retry-After": "6"}), Reply(ELICITATION))
    with suppress(ElicitError):
        await elicit.get("el_1")
    assert len(service.asked) == 2, "six seconds are too long for it"


async def test_it_says_who_is_calling(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, Reply(ELICITATION))
    await elicit.get("el_1")
    assert service.asked[0].headers["user-agent"].startswith("elicit-flows/")
