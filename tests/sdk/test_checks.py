"""What is wrong with a question as it is written is said where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.sdk import Elicit, ElicitError, InvalidQuestionError, InvalidRequestError
from elicit_flows.sdk.mcp import McpFlows
from elicit_flows.sdk.questions import Plain
from elicit_flows.sdk.shapes import claim
from tests.sdk.fake import COMPLETED, ELICITATION, FakeService, Reply

ALICE = ("https://idp.example", "alice")
PLAIN = Plain()
# method, arguments, where it is wrong
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("payment", (5.5, "eur"), {"description": "A report"}, "params.amount"),
    ("payment", (0, "eur"), {"description": "A report"}, "params.amount"),
    ("payment", (True, "eur"), {"description": "A report"}, "params.amount"),
    ("payment", ("5.00", "eur"), {"description": "A report"}, "params.amount"),
    ("payment", (500, "EUR"), {"description": "A report"}, "params.currency"),
    ("payment", (500, "euro"), {"description": "A report"}, "params.currency"),
    ("payment", (500, "eur"), {"description": ""}, "params.description"),
    ("payment", (500, "eur"), {"description": "A report", "terms": {"mode": "once"}}, "params.mode"),
    ("payment", (500, "eur"), {"description": "A report", "terms": {"itme": "x"}}, "params.itme"),
    ("form", ({"type": "object", "properties": {"password": {"type": "string"}}},), {"message": "Answer."},
     "params.schema.properties.password"),
    ("form", ({"type": "array"},), {"message": "Answer."}, "params.schema.type"),
    ("form", ("schema",), {"message": "Answer."}, "params.schema"),
    ("form", ({"properties": {"a": {"type": "text"}}},), {"message": "Answer."}, "params.schema.properties.a.type"),
    ("confirm", ("May I?",), {"words": {"confirm_label": ""}}, "params.confirm_label"),
    ("confirm", ("May I?",), {"words": {"danger": "yes"}}, "params.danger"),
    ("confirm", ("May I?",), {"words": {"label": "Yes"}}, "params.label"),
    ("confirm", ("",), {}, "message"),
    ("confirm", ("x" * 2001,), {}, "message"),
    ("confirm", ("May I?",), {"expires_in": 0}, "expires_in"),
    ("confirm", ("May I?",), {"expires_in": "900"}, "expires_in"),
    ("confirm", ("May I?",), {"reuse": "always"}, "reuse"),
    ("oauth", ("",), {"message": "Connect."}, "params.provider"),
    ("credentials", (), {"provider": ""}, "params.provider"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "arguments", "more", "place"), WRONG)
def test_a_question_that_would_be_refused_is_refused_where_it_is_made(
    method: str, arguments: tuple[Any, ...], more: dict[str, Any], place: str
) -> None:
    for made in (PLAIN, McpFlows()):
        with pytest.raises(ValueError, match=place) as raised:
            getattr(made, method)(*arguments, **more)
        refused = raised.value
        assert isinstance(refused, InvalidQuestionError)
        assert isinstance(refused, ElicitError)
        assert isinstance(refused, InvalidRequestError)
        assert refused.code == "invalid"
        assert place in [".".join(map(str, one["loc"])) for one in refused.errors]


def test_an_option_that_there_is_not_is_named() -> None:
    with pytest.raises(TypeError, match=r"expires: There is no such option; use one of expires_in,"):
        PLAIN.confirm("May I?", expires="soon")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^scope: There is no such option; use one of .*, scopes,"):
        PLAIN.oauth("acme", scope=["files.read"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^link: There is no such option; use one of .*, url,"):
        PLAIN.url_action("https://example.com", message="Read.", link="x")  # type: ignore[call-arg]


def test_one_scope_is_one_scope() -> None:
    assert PLAIN.oauth("acme", scopes="files.read").params["scopes"] == ["files.read"]
    assert PLAIN.oauth("acme", scopes=("a", "b")).params["scopes"] == ["a", "b"]
    assert PLAIN.oauth("acme", scopes=iter(["a"])).params["scopes"] == ["a"]
    for wrong in ([1], [None], [["a"]]):
        with pytest.raises(TypeError, match="scopes: Give texts"):
            PLAIN.oauth("acme", scopes=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scopes: A text is empty"):
        PLAIN.oauth("acme", scopes="")


@pytest.mark.anyio
async def test_so_it_is_with_every_client(service: FakeService, elicit: Elicit) -> None:
    service.on("POST", "/v1/elicitations", Reply(COMPLETED, 201))
    one = {"id": "cn_1", "provider": "acme", "subject": ELICITATION["subject"]}
    service.on("POST", "/v1/connections", Reply(one, 201))
    await elicit.oauth(ALICE, "acme", scopes="files.read", on_url=print)
    await elicit.import_connection(ALICE, "acme", access_token="at", scopes="files.read")
    assert service.asked[0].body["params"] == {"provider": "acme", "scopes": ["files.read"]}
    assert service.asked[0].body["message"] == "Connect your account at acme."
    assert service.asked[1].body["scopes"] == ["files.read"]
    with pytest.raises(ValueError, match=r"params\.amount: Give a whole number of minor units"):
        await elicit.payment(ALICE, 5.5, "eur", description="A report", on_url=print)  # type: ignore[arg-type]
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    "user",
    ["alice", "ab", "", b"ab", None, 7, ("i",), ("i", "s", "x"), ("i", 7), ("", "s"), ("i", ""), {"iss": "i"},
     {"a": "b"}, ["i"], {"i", "s"}],
)  # fmt: skip
def test_who_is_no_user_is_refused_with_a_sentence(user: Any) -> None:
    with pytest.raises(TypeError, match=r"user: Give the issuer and the subject"):
        claim(user)


@pytest.mark.anyio
async def test_nobody_is_asked_for_a_user_who_is_none(service: FakeService, elicit: Elicit) -> None:
    with pytest.raises(TypeError, match="user: "):
        await elicit.confirm("ab", message="May I?", on_url=print)  # type: ignore[arg-type]
    assert service.asked == []
