"""A no that comes too late, and an answer that was acted on: the same for every protocol's side."""

from __future__ import annotations

import pytest

from elicit_flows.sdk import Cancelled, Completed, Declined, Elicit, Elicitation, ElicitError, StillWaiting, idempotency
from tests.sdk.fake import COMPLETED, ELICITATION, FakeService, Reply, problem

pytestmark = pytest.mark.anyio
ASKED = Elicitation.read(ELICITATION)
CANCEL, CONSUME = ("POST", "/v1/elicitations/el_1/cancel"), ("POST", "/v1/elicitations/el_1/consume")
ONE = ("GET", "/v1/elicitations/el_1")


@pytest.mark.parametrize(("action", "kind"), [("decline", Declined), ("cancel", Cancelled)])
async def test_a_no_takes_the_question_back(service: FakeService, elicit: Elicit, action: str, kind: type) -> None:
    service.on(*CANCEL, Reply(ELICITATION | {"status": "cancelled", "seq": 2}))
    assert type(await idempotency.taken_back(elicit, ASKED, action)) is kind


async def test_who_was_quicker_than_their_no_has_done_it(service: FakeService, elicit: Elicit) -> None:
    service.on(*CANCEL, problem(409, "already_over"))
    service.on(*ONE, Reply(ELICITATION | {"status": "settling", "seq": 2}), Reply(COMPLETED))
    assert isinstance(await idempotency.taken_back(elicit, ASKED, "decline"), Completed)


async def test_what_can_be_taken_back_no_more_and_takes_its_time_is_waited_for_elsewhere(
    service: FakeService, elicit: Elicit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "SETTLING_SECONDS", 0.2)
    settling = Reply(ELICITATION | {"status": "settling", "seq": 2})
    service.on(*CANCEL, problem(409, "already_over"))
    service.on(*ONE, *[settling] * 50)
    with pytest.raises(StillWaiting) as waiting:
        await idempotency.taken_back(elicit, ASKED, "cancel")
    assert waiting.value.elicitation.id == "el_1"


async def test_a_service_that_cannot_take_it_back_says_so(service: FakeService, elicit: Elicit) -> None:
    service.on(*CANCEL, problem(403, "forbidden"))
    with pytest.raises(ElicitError, match="forbidden"):
        await idempotency.taken_back(elicit, ASKED, "cancel")


async def test_only_the_first_acts_on_an_answer(service: FakeService, elicit: Elicit) -> None:
    service.on(*CONSUME, Reply(COMPLETED), problem(409, "already_consumed"), problem(409, "not_over"))
    assert await idempotency.acted_on(elicit, ASKED) is True
    assert await idempotency.acted_on(elicit, ASKED) is False
    with pytest.raises(ElicitError, match="not_over"):
        await idempotency.acted_on(elicit, ASKED)


def test_a_key_is_the_same_for_the_same_words() -> None:
    assert idempotency.key_of("a", {"x": 1, "y": [2]}) == idempotency.key_of("a", {"y": [2], "x": 1})
    assert idempotency.key_of("a", {"x": 1}) != idempotency.key_of("a", {"x": 2})
