"""What an exception says, of which sort it is, and what is tried again before there is one."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator

import httpx2
import pytest

import elicit_flows.sdk as sdk
from elicit_flows import __version__
from elicit_flows.sdk import Elicit, ElicitError, SyncElicit
from tests.sdk.fake import COMPLETED, DROP, ELICITATION, SILENCE, FakeService, Reply, problem
from tests.support.machine import within
from tests.support.ports import free_port

pytestmark = pytest.mark.anyio
ALICE = ("https://idp.example", "alice")
SUBJECT = ELICITATION["subject"]
CREATE = ("POST", "/v1/elicitations")
ONE = ("GET", "/v1/elicitations/el_1")
TOKEN = ("POST", "/v1/connections/cn_1/token")
GOOD_TOKEN = Reply({"access_token": "at", "token_type": "Bearer", "expires_at": None, "scopes": []})


@pytest.fixture
async def brisk(service: FakeService, anyio_backend: str) -> AsyncIterator[Elicit]:
    """One that tries nothing again."""
    async with Elicit(service.url, "key-of-the-tests", max_retries=0) as client:
        yield client


async def test_the_text_of_an_error_is_what_helps(service: FakeService, brisk: Elicit) -> None:
    errors = [
        {"loc": ["params", "amount"], "message": "Give a whole number of minor units."},
        {"loc": ["params", "currency"], "message": "Give an ISO 4217 code."},
    ]
    refused = problem(422, "invalid", {"X-Request-Id": "0123abcd"}, errors=errors)
    service.on(*CREATE, refused)
    with pytest.raises(sdk.InvalidRequestError) as raised:
        await brisk.create("payment", ALICE, {"amount": 5.5}, message="Pay.")
    assert str(raised.value) == (
        "params.amount: Give a whole number of minor units.; params.currency: Give an ISO 4217 code. "
        "[invalid, request 0123abcd]"
    )
    assert (raised.value.request_id, raised.value.status, raised.value.code) == ("0123abcd", 422, "invalid")
    assert raised.value.errors == errors
    assert raised.value.reason == "Give a whole number of minor units."


async def test_an_error_with_many_places_is_not_a_page(service: FakeService, brisk: Elicit) -> None:
    errors = [{"loc": ["params", n], "message": "Wrong."} for n in range(30)]
    service.on(*CREATE, problem(422, "invalid", errors=errors))
    with pytest.raises(ElicitError, match=r"params\.4: Wrong\.; and 25 more \[invalid\]"):
        await brisk.create("form", ALICE, {}, message="Answer.")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "bad_request", sdk.InvalidRequestError), (401, "unauthenticated", sdk.AuthenticationError),
        (403, "forbidden", sdk.PermissionDeniedError), (404, "not_found", sdk.NotFoundError),
        (409, "already_over", sdk.ConflictError), (410, "connection_revoked", sdk.GoneError),
        (413, "too_large", sdk.InvalidRequestError), (422, "invalid", sdk.InvalidRequestError),
        (429, "too_many_requests", sdk.RateLimitedError), (500, "internal_error", sdk.ServerError),
        (502, "provider_broken", sdk.ServiceUnavailableError), (503, "unavailable", sdk.ServiceUnavailableError),
        (504, "http_504", sdk.ServiceUnavailableError),
        # OAuth's errors are all 400
        (400, "reauthorization_required", sdk.ConflictError), (400, "connection_revoked", sdk.GoneError),
        (400, "not_found", sdk.NotFoundError), (400, "user_token_refused", sdk.InvalidRequestError),
    ],
)  # fmt: skip
async def test_each_sort_of_error_has_a_class(
    service: FakeService, brisk: Elicit, status: int, code: str, kind: type[ElicitError]
) -> None:
    service.on(*ONE, problem(status, code, {"Retry-After": "7"}))
    with pytest.raises(ElicitError) as raised:
        await brisk.get("el_1")
    assert type(raised.value) is kind
    assert (raised.value.status, raised.value.code, raised.value.retry_after) == (status, code, 7)


async def test_who_does_not_answer_is_unreachable(service: FakeService, brisk: Elicit) -> None:
    service.on(*ONE, DROP)
    with pytest.raises(sdk.UnreachableError) as raised:
        await brisk.get("el_1")
    assert raised.value.code == "unreachable"
    assert isinstance(raised.value, sdk.ServiceUnavailableError)


@pytest.mark.slow
@pytest.mark.parametrize("failure", [DROP, *(problem(status, "x") for status in (500, 502, 503, 504))])
async def test_what_is_safe_to_repeat_is_tried_again(service: FakeService, elicit: Elicit, failure: Reply) -> None:
    service.on(*ONE, failure, failure, Reply(ELICITATION))
    service.on(*CREATE, failure, Reply(ELICITATION, 201))
    service.on(*TOKEN, failure, GOOD_TOKEN)
    assert (await elicit.get("el_1")).id == "el_1"
    await elicit.create("confirm", ALICE, {}, message="May I?")
    await elicit.token("cn_1")
    first, second = [asked.headers["idempotency-key"] for asked in service.asked if asked.path == CREATE[1]]
    assert first == second
    assert len(service.asked) == 7


@pytest.mark.parametrize("failure", [DROP, problem(500, "x"), problem(502, "x")])
async def test_what_is_not_safe_is_sent_once(service: FakeService, elicit: Elicit, failure: Reply) -> None:
    service.on("POST", "/v1/connections", failure)
    service.on("PUT", "/v1/elicitations/el_1/draft/q", failure)
    with pytest.raises(ElicitError):
        await elicit.import_connection(ALICE, "acme", access_token="at")
    with pytest.raises(ElicitError):
        await elicit.answer("el_1", "q", None, seq=3)
    assert len(service.asked) == 2


async def test_nor_is_it_given_up_where_nothing_was_done(service: FakeService, elicit: Elicit) -> None:
    one = {"id": "cn_1", "provider": "acme", "subject": ELICITATION["subject"]}
    service.on("POST", "/v1/connections", problem(503, "unavailable"), Reply(one, 201))
    assert (await elicit.import_connection(ALICE, "acme", access_token="at")).id == "cn_1"


@pytest.mark.slow
async def test_a_service_that_restarts_is_waited_for(anyio_backend: str) -> None:
    """What a proxy says in its place meanwhile is no answer; 500, and what the service says of a provider, are."""
    port, restart = free_port(), 8.0
    async with Elicit(f"http://127.0.0.1:{port}", "key") as client:
        refused = [
            asyncio.create_task(client.create("confirm", ALICE, {}, message="May I?")),
            asyncio.create_task(client.import_connection(ALICE, "acme", access_token="at")),
        ]
        await asyncio.sleep(restart)
        assert not any(one.done() for one in refused)
        service = FakeService(port)
        service.on(*CREATE, Reply(ELICITATION, 201))
        service.on("POST", "/v1/connections", Reply({"id": "cn_1", "provider": "acme", "subject": SUBJECT}, 201))
        assert [(await one).id for one in refused] == ["el_1", "cn_1"]
        for code, away in {"x502": True, "x503": True, "x500": False, "provider_broken": False}.items():
            page = problem(502, code) if code == "provider_broken" else Reply("<html>", int(code[1:]))
            service.on("GET", f"/v1/elicitations/{code}", *[page] * (6 if away else 99), Reply(ELICITATION))
        began = time.monotonic()
        wanted = ("x502", "x503", "x500", "provider_broken")
        found = await asyncio.gather(*(client.get(one) for one in wanted), return_exceptions=True)
        assert [getattr(one, "code", "answered") for one in found] == [*["answered"] * 2, "http_500", "provider_broken"]
        assert time.monotonic() - began < within(30)
        assert [sum(one.path.endswith(code) for one in service.asked) for code in wanted][:2] == [7, 7]
        service.close()


@pytest.mark.parametrize("limit", [{"max_retries": 0}, {"retry_for": 0}])
async def test_but_only_as_long_as_the_client_says(limit: dict[str, int]) -> None:
    async with Elicit(f"http://127.0.0.1:{free_port()}", "key", **limit) as client:
        began = time.monotonic()
        with pytest.raises(sdk.UnreachableError):
            await client.get("el_1")
    assert time.monotonic() - began < within(2)


async def test_a_refusal_is_not_tried_again(service: FakeService, elicit: Elicit) -> None:
    for status in (400, 401, 403, 404, 409, 410, 422):
        service.on(*ONE, problem(status, "x"))
        with pytest.raises(ElicitError):
            await elicit.get("el_1")
    assert len(service.asked) == 7


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_it_is_tried_again_as_often_as_the_client_says(service: FakeService, retries: int) -> None:
    service.on(*ONE, *[problem(500, "internal_error")] * 9)
    async with Elicit(service.url, "key", max_retries=retries) as client:
        with pytest.raises(sdk.ServerError):
            await client.get("el_1")
    assert len(service.asked) == retries + 1


@pytest.mark.slow
async def test_a_pause_that_the_service_asks_for_is_kept(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, *[problem(429, "too_many_requests", {"Retry-After": "3"})] * 2, Reply(ELICITATION))
    began = time.monotonic()
    await elicit.get("el_1")
    assert 6 <= time.monotonic() - began < within(12), "longer than it would be borne without"


async def test_but_not_one_that_is_too_long(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, problem(429, "too_many_requests", {"Retry-After": "31"}))
    began = time.monotonic()
    with pytest.raises(sdk.RateLimitedError) as raised:
        await elicit.get("el_1")
    assert time.monotonic() - began < within(2)
    assert raised.value.retry_after == 31


async def test_a_service_that_says_nothing_is_given_up_in_time(service: FakeService) -> None:
    service.on(*ONE, Reply(hold=True), Reply(hold=True))
    began = time.monotonic()
    async with Elicit(service.url, "key", timeout=0.3, max_retries=1) as client:
        with pytest.raises(sdk.UnreachableError):
            await client.get("el_1")
    assert time.monotonic() - began < within(3)
    assert len(service.asked) == 2


async def test_a_client_of_the_callers_own_is_used_and_left_open(service: FakeService) -> None:
    service.on(*ONE, Reply(ELICITATION))
    service.on("GET", "/v1/events", Reply(lines="", headers={"Content-Type": "text/event-stream"}))
    seen: list[httpx2.Request] = []

    async def see(request: httpx2.Request) -> None:
        seen.append(request)

    async with httpx2.AsyncClient(event_hooks={"request": [see]}, headers={"X-Mine": "1"}, trust_env=False) as mine:
        async with Elicit(service.url, "key-1", http_client=mine) as client:
            await client.get("el_1")
        assert not mine.is_closed
    assert [request.url.path for request in seen] == ["/v1/elicitations/el_1"]
    assert service.asked[0].headers["authorization"] == "Bearer key-1"
    assert service.asked[0].headers["x-mine"] == "1"


async def test_the_key_does_not_follow_where_the_callers_client_would(service: FakeService) -> None:
    service.on(*ONE, Reply({}, 302, {"Location": f"{service.url}/stolen"}))
    async with (
        httpx2.AsyncClient(follow_redirects=True, trust_env=False) as mine,
        Elicit(service.url, "key-1", http_client=mine) as client,
    ):
        with pytest.raises(ElicitError):
            await client.get("el_1")
    assert [asked.path for asked in service.asked] == ["/v1/elicitations/el_1"]


async def test_it_says_who_is_calling(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, Reply(ELICITATION))
    await elicit.get("el_1")
    assert re.match(rf"elicit-flows/{re.escape(__version__)} python/3\.\d+", service.asked[0].headers["user-agent"])


@pytest.mark.parametrize(
    "body", [{}, [], "text", None, 7, {"id": "el_1"}, ELICITATION | {"status": "new"}, ELICITATION | {"subject": None}]
)
async def test_an_answer_of_another_shape_is_a_sentence(service: FakeService, brisk: Elicit, body: object) -> None:
    service.on(*ONE, Reply(body))
    with pytest.raises(sdk.UnexpectedAnswerError, match="is not one of the Elicit Flows API") as raised:
        await brisk.get("el_1")
    assert raised.value.code == "unexpected_answer"


async def test_an_answer_that_cannot_be_decoded_is_one_that_did_not_come(service: FakeService, elicit: Elicit) -> None:
    """As when a proxy breaks off a compressed answer, or names the wrong encoding."""
    broken = Reply(ELICITATION, headers={"Content-Encoding": "gzip"})
    service.on(*ONE, broken, Reply(ELICITATION))
    assert (await elicit.get("el_1")).id == "el_1"
    service.on("GET", "/v1/connections/cn_1/proxy/me", broken)
    with pytest.raises(sdk.UnreachableError):
        await elicit.request("cn_1", "GET", "/me")


async def test_so_it_is_with_every_call(service: FakeService, brisk: Elicit) -> None:
    async def drained(many: AsyncIterator[object]) -> None:
        async for _ in many:
            pass

    calls = [
        ("POST", CREATE[1], lambda: brisk.create("confirm", ALICE, {}, message="May I?")),
        ("GET", "/v1/connections", brisk.connections),
        ("GET", "/v1/connections/cn_1", lambda: brisk.connection("cn_1")),
        ("POST", TOKEN[1], lambda: brisk.token("cn_1")),
        ("POST", "/v1/token", lambda: brisk.token("cn_1", user_token="ut")),
        ("POST", "/v1/connections/cn_1/secret", lambda: brisk.secret("cn_1")),
        ("POST", "/v1/connections/cn_1/proof", lambda: brisk.proof("cn_1", "GET", "https://x.example/")),
        ("GET", "/v1/elicitations/el_1/draft", lambda: brisk.draft("el_1")),
        ("GET", "/v1/elicitations/el_1/note", lambda: brisk.note("el_1")),
        ("POST", "/v1/elicitations/el_1/code", lambda: brisk.user_code("el_1")),
        ("GET", "/v1/events", brisk.newest),
        ("GET", "/v1/events", lambda: drained(brisk.events(stream=False))),
        ("GET", "/v1/elicitations", lambda: drained(brisk.elicitations())),
        ("GET", "/v1/payments", lambda: drained(brisk.payments())),
    ]
    for method, path, call in calls:
        service.on(method, path, Reply({"unknown": 1}))
        with pytest.raises(sdk.UnexpectedAnswerError):
            await call()  # type: ignore[no-untyped-call]
    stream = Reply(lines='id: 1\ndata: {"unknown": 1}\n\n', headers={"Content-Type": "text/event-stream"})
    service.on("GET", "/v1/events", stream)
    with pytest.raises(sdk.UnexpectedAnswerError):
        await drained(brisk.events())


async def test_every_page_of_the_connections_is_read(service: FakeService, elicit: Elicit) -> None:
    one = {"provider": "acme", "subject": ELICITATION["subject"]}
    service.on(
        "GET", "/v1/connections",
        Reply({"data": [one | {"id": "cn_3"}, one | {"id": "cn_2"}], "next_cursor": "older"}),
        Reply({"data": [one | {"id": "cn_1"}], "next_cursor": None}),
    )  # fmt: skip
    assert [found.id for found in await elicit.connections(ALICE)] == ["cn_3", "cn_2", "cn_1"]
    assert service.asked[1].query == {"iss": ALICE[0], "sub": ALICE[1], "limit": "100", "cursor": "older"}


async def test_payments_and_the_agent_are_read_as_they_are(service: FakeService, elicit: Elicit) -> None:
    service.on("GET", "/v1/payments", Reply({"data": [{"id": "pa_1"}], "next_cursor": None}))
    service.on("GET", "/v1/agent", Reply({"object": "agent", "slug": "bot"}))
    found = [one async for one in elicit.payments(ALICE, status="paid", elicitation="el_1")]
    assert found == [{"id": "pa_1"}]
    assert service.asked[0].query == {
        "iss": ALICE[0], "sub": ALICE[1], "status": "paid", "elicitation": "el_1", "limit": "100",
    }  # fmt: skip
    assert (await elicit.agent())["slug"] == "bot"


async def test_a_shown_outcome_is_true_when_it_was_done(service: FakeService, elicit: Elicit) -> None:
    service.on(
        *CREATE, Reply(COMPLETED, 201), *(Reply(ELICITATION | {"status": end}, 201) for end in ("declined", "failed"))
    )
    done, *others = [await elicit.confirm(ALICE, message="May I?", on_url=print) for _ in range(3)]
    assert done
    assert not any(others)


async def test_single_calls_have_time_outs_and_retries_of_their_own(service: FakeService, elicit: Elicit) -> None:
    path = "/v1/elicitations/el_1"
    service.on("GET", path, problem(503, "busy"), SILENCE, problem(503, "busy"), Reply(ELICITATION))
    with pytest.raises(sdk.ServiceUnavailableError, match="busy"):
        await elicit.with_options(max_retries=0).get("el_1")
    async with elicit.with_options(max_retries=0, timeout=0.2) as hasty:
        with pytest.raises(sdk.UnreachableError):
            await hasty.get("el_1")
    assert len(service.asked) == 2
    assert (await elicit.get("el_1")).id == "el_1", "this one still retries, and its connections are open"
    assert len(service.asked) == 4


def test_so_have_those_of_the_client_without_asyncio(service: FakeService) -> None:
    service.on("GET", "/v1/elicitations/el_1", problem(503, "busy"), Reply(ELICITATION))
    with SyncElicit(service.url, "key-of-the-tests") as elicit:
        with pytest.raises(sdk.ServiceUnavailableError, match="busy"):
            elicit.with_options(max_retries=0).get("el_1")
        assert elicit.get("el_1").id == "el_1"


async def test_each_answer_is_shown_as_it_came(service: FakeService, elicit: Elicit) -> None:
    number = {"X-Request-Id": "r-1", "Retry-After": "0"}
    service.on("GET", "/v1/elicitations/el_1", problem(503, "busy", number), Reply(ELICITATION), Reply(ELICITATION))
    seen: list[httpx2.Response] = []
    await elicit.with_options(on_response=seen.append).get("el_1")
    assert [one.status_code for one in seen] == [503, 200]
    assert (seen[0].headers["x-request-id"], seen[1].json()["added_by_a_later_service"]) == ("r-1", True)
    await elicit.get("el_1")
    assert len(seen) == 2, "the other client shows nobody anything"


def test_so_is_it_without_asyncio(service: FakeService) -> None:
    service.on("GET", "/v1/elicitations/el_1", problem(404, "not_found"))
    seen: list[httpx2.Response] = []
    elicit = SyncElicit(service.url, "key-of-the-tests", on_response=seen.append)
    with elicit, pytest.raises(sdk.NotFoundError):
        elicit.get("el_1")
    assert [one.status_code for one in seen] == [404]
