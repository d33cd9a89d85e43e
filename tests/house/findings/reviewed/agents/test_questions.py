"""A2, A3 and A11: what is wrong with a question is not said where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.sdk import Elicit, ElicitError
from elicit_flows.sdk.mcp import McpFlows
from elicit_flows.sdk.questions import Plain
from elicit_flows.sdk.shapes import claim
from tests.sdk.fake import FakeService, problem

ALICE = ("https://idp.example", "alice")
PASSWORD = {"type": "object", "properties": {"password": {"type": "string"}}}
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("payment", (5.5, "eur"), {"description": "A report"}),
    ("form", (PASSWORD,), {"message": "Answer."}),
]


def test_one_scope_is_one_scope() -> None:
    """Each letter becomes a scope that the person is asked for."""
    assert Plain().oauth("acme", scopes="files.read").params["scopes"] == ["files.read"]


@pytest.mark.parametrize(("method", "arguments", "more"), WRONG)
def test_a_question_that_would_be_refused_is_refused_where_it_is_made(
    method: str, arguments: tuple[Any, ...], more: dict[str, Any]
) -> None:
    """The guard is made, the server starts, and each call of its tool fails."""
    with pytest.raises(ValueError):
        getattr(McpFlows(user=ALICE), method)(*arguments, **more)


@pytest.mark.anyio
async def test_the_text_of_an_error_is_what_helps(service: FakeService, elicit: Elicit) -> None:
    errors = [{"loc": ["params", "amount"], "message": "Give a whole number of minor units."}]
    service.on("POST", "/v1/elicitations", problem(422, "invalid", errors=errors))
    with pytest.raises(ElicitError, match="Give a whole number of minor units"):
        await elicit.create("payment", ALICE, {"amount": 5.5}, message="Pay.")


@pytest.mark.parametrize("user", ["alice", "ab"])
def test_who_is_no_user_is_refused_with_a_sentence(user: Any) -> None:
    """A name is taken apart into letters; one of two letters is even taken for an issuer and a subject."""
    with pytest.raises((TypeError, ValueError), match="issuer"):
        claim(user)
