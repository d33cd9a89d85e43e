"""Asking and waiting, over real HTTP to a service that follows a script."""

from __future__ import annotations

import time

import pytest

from elicit_flows.sdk import (
    Cancelled,
    Claim,
    Completed,
    Declined,
    Elicit,
    ElicitError,
    Expired,
    Failed,
    NotCompleted,
    Options,
    StillWaiting,
)
from tests.sdk.fake import COMPLETED, DROP, ELICITATION, FakeService, Reply, problem

pytestmark = pytest.mark.anyio

ALICE = ("https://idp.example", "alice")
CREATE = ("POST", "/v1/elicitations")
ONE = ("GET", "/v1/elicitations/el_1")
TOKEN = {"access_token": "at-very-secret", "token_type": "Bearer", "expires_at": "2026-11-21T11:00:00Z", "scopes": []}


async def test_oauth_shows_the_link_waits_and_its_outcome_buys_a_token(service: FakeService, elicit: Elicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(ELICITATION | {"status": "started", "seq": 2}), Reply(COMPLETED))
    service.on("POST", "/v1/connections/cn_1/token", Reply(TOKEN))
    shown: list[str] = []

    outcome = await elicit.oauth(ALICE, "acme", scopes=["files.read"], message="Connect Acme.", on_url=shown.append)
    token = await elicit.token(outcome, min_ttl=90)

    assert isinstance(outcome, Completed)
    assert (outcome.connection, outcome.scopes, outcome.reused) == ("cn_1", ("files.read",), False)
    assert shown == ["http://127.0.0.1/c/el_1"]
    assert token.authorization == "Bearer at-very-secret"
    create, first, second, buy = service.asked
    assert create.body["params"] == {"provider": "acme", "scopes": ["files.read"]}
    assert create.headers["authorization"] == "Bearer key-of-the-tests"
    assert (first.query["after_seq"], second.query["after_seq"]) == ("1", "2")
    assert buy.body == {"min_ttl": 90}


async def test_payment_says_what_for_and_its_outcome_names_the_payment(service: FakeService, elicit: Elicit) -> None:
    result = {
        "payment": "pa_1", "livemode": False, "amount": 1999, "currency": "eur", "status": "paid", "receipt_url": None,
    }  # fmt: skip
    service.on(*CREATE, Reply(COMPLETED | {"kind": "payment", "result": result}, 201))
    outcome = await elicit.payment(
        ALICE, 1999, "eur", description="A report", message="Pay.", on_url=print,
        terms={"item": "report", "uses": 3}, idempotency_key="order-7",
    )  # fmt: skip
    [asked] = service.asked
    assert (asked.body["kind"], asked.headers["idempotency-key"]) == ("payment", "order-7")
    wanted = {"amount": 1999, "currency": "eur", "description": "A report", "item": "report", "uses": 3}
    assert asked.body["params"] == wanted
    assert isinstance(outcome, Completed)
    assert outcome.payment == "pa_1"
    assert outcome.livemode is False


async def test_an_answer_that_still_holds_asks_nobody(service: FakeService, elicit: Elicit) -> None:
    service.on(*CREATE, Reply(COMPLETED | {"reused": True}, 201))
    shown: list[str] = []
    outcome = await elicit.oauth(ALICE, "acme", message="Connect Acme.", on_url=shown.append)
    assert isinstance(outcome, Completed)
    assert outcome.reused
    assert shown == []
    assert len(service.asked) == 1


async def test_a_coroutine_function_may_take_the_link(service: FakeService, elicit: Elicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(COMPLETED))
    shown: list[str] = []

    async def show(url: str) -> None:
        shown.append(url)

    await elicit.oauth(ALICE, "acme", message="Connect Acme.", on_url=show)
    assert shown == ["http://127.0.0.1/c/el_1"]


@pytest.mark.parametrize(("status", "kind"), [("declined", Declined), ("cancelled", Cancelled), ("expired", Expired)])
async def test_an_end_without_a_connection_is_a_value(
    service: FakeService, elicit: Elicit, status: str, kind: type
) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(ELICITATION | {"status": status, "seq": 3}))
    outcome = await elicit.oauth(ALICE, "acme", message="Connect Acme.", on_url=print)
    assert type(outcome) is kind
    assert not outcome
    with pytest.raises(NotCompleted) as refused:
        await elicit.token(outcome)
    assert refused.value.outcome is outcome
    assert len(service.asked) == 2


async def test_only_what_was_done_is_true(service: FakeService, elicit: Elicit) -> None:
    service.on(*CREATE, Reply(ELICITATION | {"status": "completed", "seq": 3, "action": "accept"}, 201))
    assert await elicit.confirm(ALICE, message="May I?", on_url=print)


async def test_a_failure_says_why(service: FakeService, elicit: Elicit) -> None:
    failed = {"status": "failed", "seq": 3, "error": {"code": "provider_error", "message": "It refused."}}
    service.on(*CREATE, Reply(ELICITATION | failed, 201))
    outcome = await elicit.oauth(ALICE, "acme", message="Connect Acme.", on_url=print)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.message) == ("provider_error", "It refused.")


async def test_a_lost_answer_to_create_is_asked_for_again_under_the_same_key(
    service: FakeService, elicit: Elicit
) -> None:
    service.on(*CREATE, DROP, problem(409, "idempotency_in_flight"), Reply(ELICITATION, 200))
    await elicit.create("oauth", ALICE, {"provider": "acme"}, message="Connect Acme.")
    keys = [asked.headers["idempotency-key"] for asked in service.asked]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert len(keys[0]) >= 32


async def test_two_questions_have_two_keys_unless_the_caller_names_one(service: FakeService, elicit: Elicit) -> None:
    service.on(*CREATE, *[Reply(ELICITATION, 201)] * 3)
    named: Options = {"idempotency_key": "call-17"}
    for options in (Options(), Options(), named):
        await elicit.create("oauth", ALICE, {"provider": "acme"}, message="Connect Acme.", **options)
    keys = [asked.headers["idempotency-key"] for asked in service.asked]
    assert len(set(keys)) == 3
    assert keys[2] == "call-17"
    assert "idempotency_key" not in service.asked[2].body


@pytest.mark.parametrize("user", [Claim(*ALICE), ALICE, {"iss": ALICE[0], "sub": ALICE[1]}])
async def test_a_user_may_be_a_claim_a_pair_or_a_mapping(
    service: FakeService, elicit: Elicit, user: Claim | tuple[str, str] | dict[str, str]
) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    elicitation = await elicit.create("oauth", user, {"provider": "acme"}, message="Hi", expires_in=60, metadata={})
    assert elicitation.subject == Claim(*ALICE)
    sent = service.asked[0].body
    assert sent["subject"] == {"iss": ALICE[0], "sub": ALICE[1]}
    assert sent["expires_in"] == 60


@pytest.mark.slow
async def test_waiting_goes_on_after_lost_connections_and_503(service: FakeService, elicit: Elicit) -> None:
    busy = problem(503, "unavailable", {"Retry-After": "1"})
    service.on(*ONE, Reply(ELICITATION), DROP, busy, problem(500, "internal_error"), Reply(COMPLETED))
    began = time.monotonic()
    elicitation = await elicit.wait("el_1")
    assert elicitation.over
    assert time.monotonic() - began >= 1.0
    assert [asked.query.get("after_seq") for asked in service.asked] == [None, "1", "1", "1", "1"]


async def test_waiting_ends_when_the_service_stays_away(service: FakeService) -> None:
    service.on(*ONE, *[DROP] * 20)
    async with Elicit(service.url, "key", retry_for=0.3) as impatient:
        with pytest.raises(ElicitError) as gone:
            await impatient.wait("el_1")
    assert gone.value.code == "unreachable"
    assert service.url in gone.value.detail


async def test_a_timeout_leaves_the_question_open(service: FakeService, elicit: Elicit) -> None:
    service.on(*CREATE, Reply(ELICITATION, 201))
    service.on(*ONE, Reply(ELICITATION, when=lambda: time.sleep(0.2)))
    with pytest.raises(StillWaiting) as waiting:
        await elicit.oauth(ALICE, "acme", message="Connect Acme.", on_url=print, timeout=0.1)
    assert waiting.value.elicitation.id == "el_1"
    assert not waiting.value.elicitation.over
    assert service.asked[-1].query["wait"] == "1"


async def test_each_kind_says_what_it_asks(service: FakeService, elicit: Elicit) -> None:
    service.on(*CREATE, *[Reply(COMPLETED, 201)] * 5)
    schema = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "boolean"}}}
    await elicit.form(ALICE, schema, message="Answer.", on_url=print)
    fields = [{"name": "key", "label": "API key"}]
    await elicit.credentials(ALICE, fields, message="Hand it over.", on_url=print)
    await elicit.credentials(ALICE, provider="openai", message="Hand it over.", on_url=print)
    await elicit.confirm(ALICE, message="May I?", on_url=print, words={"danger": True, "detail": "Delete 12 files."})
    await elicit.url_action(ALICE, "https://agent.example/x", completion="by_agent", message="Visit.", on_url=print)
    assert [(asked.body["kind"], asked.body["params"]) for asked in service.asked] == [
        ("form", {"schema": schema, "order": ["b", "a"]}),
        ("credentials", {"fields": fields}),
        ("credentials", {"provider": "openai"}),
        ("confirm", {"danger": True, "detail": "Delete 12 files."}),
        ("link", {"url": "https://agent.example/x", "completion": "by_agent"}),
    ]


async def test_a_secret_is_fetched_wrapped_and_a_link_is_said_to_be_done(service: FakeService, elicit: Elicit) -> None:
    service.on("POST", "/v1/connections/cn_1/secret", Reply({"fields": {"key": "sk-typed"}}))
    service.on("POST", "/v1/elicitations/el_1/complete", Reply(COMPLETED))
    fields = await elicit.secret("cn_1")
    assert "sk-typed" not in repr(fields)
    assert fields["key"].reveal() == "sk-typed"
    assert (await elicit.complete("el_1")).over
