"""The plain calls, the errors and the surroundings."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.sdk import Elicit, ElicitError, NotCompleted, Outcome, Token
from elicit_flows.sdk.environment import api_key, service_url
from tests.sdk.fake import COMPLETED, DROP, ELICITATION, FakeService, Reply, problem

pytestmark = pytest.mark.anyio
ONE = ("GET", "/v1/elicitations/el_1")


async def outcome_of(service: FakeService, elicit: Elicit, said: dict[str, Any]) -> Outcome:
    service.on("POST", "/v1/elicitations", Reply(said, 201))
    return await elicit.oauth(("https://idp.example", "alice"), "acme", message="Connect.", on_url=print)


async def test_a_refusal_carries_code_status_detail_and_errors(service: FakeService, elicit: Elicit) -> None:
    errors = [{"loc": ["params", "provider"], "message": "There is no such provider."}]
    service.on("POST", "/v1/elicitations", problem(422, "invalid", errors=errors))
    with pytest.raises(ElicitError) as refused:
        await elicit.create("oauth", ("i", "s"), {"provider": "nope"}, message="Hi")
    error = refused.value
    assert (error.code, error.status, error.detail, error.errors) == ("invalid", 422, "It is invalid", errors)
    assert len(service.asked) == 1


async def test_elicitations_are_listed_page_by_page(service: FakeService, elicit: Elicit) -> None:
    service.on(
        "GET", "/v1/elicitations",
        Reply({"data": [ELICITATION | {"id": "el_3"}, ELICITATION | {"id": "el_2"}], "next_cursor": "older"}),
        Reply({"data": [ELICITATION], "next_cursor": None}),
    )  # fmt: skip
    listed = [one.id async for one in elicit.elicitations(("https://idp.example", "alice"), status="pending")]
    assert listed == ["el_3", "el_2", "el_1"]
    first, second = (asked.query for asked in service.asked)
    assert first == {"iss": "https://idp.example", "sub": "alice", "status": "pending", "limit": "100"}
    assert second == {**first, "cursor": "older"}


async def test_what_will_not_pass_soon_is_not_waited_for(service: FakeService, elicit: Elicit) -> None:
    service.on(*ONE, problem(429, "too_many_requests", {"Retry-After": "60"}))
    with pytest.raises(ElicitError) as refused:
        await elicit.get("el_1")
    assert refused.value.retry_after == 60
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply("<html>Proxy</html>", 500, {"Content-Type": "text/html"}), "http_500"),
        (Reply("<html>Another site</html>", 200, {"Content-Type": "text/html"}), "unexpected_answer"),
        (Reply({}, 302, {"Location": "http://127.0.0.1:1/stolen"}), "http_302"),
    ],
)
async def test_what_is_not_the_service_is_named_as_such(
    service: FakeService, elicit: Elicit, reply: Reply, code: str
) -> None:
    service.on(*ONE, *[reply] * 9)
    with pytest.raises(ElicitError) as refused:
        await elicit.get("el_1")
    assert refused.value.code == code


async def test_cancel_connections_and_revoke(service: FakeService, elicit: Elicit) -> None:
    one = {"id": "cn_1", "provider": "acme", "subject": ELICITATION["subject"], "scopes": ["files.read"], "new": 1}
    service.on("POST", "/v1/elicitations/el_1/cancel", Reply(ELICITATION | {"status": "cancelled"}))
    service.on("GET", "/v1/connections", Reply({"data": [one], "next_cursor": None}))
    service.on("DELETE", "/v1/connections/cn_1", Reply(status=204))

    assert (await elicit.cancel("el_1")).over
    [connection] = await elicit.connections(("https://idp.example", "alice"), provider="acme")
    await elicit.revoke(connection)

    assert connection.scopes == ("files.read",)
    wanted = {"iss": "https://idp.example", "sub": "alice", "provider": "acme", "limit": "100"}
    assert service.asked[1].query == wanted


async def test_a_link_can_be_told_as_a_code(service: FakeService, elicit: Elicit) -> None:
    said = {"user_code": "WDJB-MJHT", "verification_uri": "https://elicit.example/device", "new": 1}
    service.on("POST", "/v1/elicitations/el_1/code", Reply(said | {"expires_at": "2026-11-21T11:00:00Z"}))
    code = await elicit.user_code("el_1")
    assert (code.code, code.url) == ("WDJB-MJHT", "https://elicit.example/device")
    assert code.expires_at == datetime(2026, 11, 21, 11, tzinfo=UTC)


async def test_tokens_from_elsewhere_are_brought_with_what_is_known_of_them(
    service: FakeService, elicit: Elicit
) -> None:
    one = {"id": "cn_1", "provider": "acme", "subject": ELICITATION["subject"], "scopes": ["files.read"]}
    service.on("POST", "/v1/connections", Reply(one, 201))
    until = datetime(2026, 11, 21, 11, tzinfo=UTC)
    brought = await elicit.import_connection(
        ("i", "s"), "acme", refresh_token="rt", expires_at=until, scopes=["files.read"], account={"id": "a"}
    )
    assert brought.id == "cn_1"
    assert service.asked[0].body == {
        "provider": "acme", "subject": {"iss": "i", "sub": "s"}, "scopes": ["files.read"], "refresh_token": "rt",
        "expires_at": "2026-11-21T11:00:00+00:00", "account": {"id": "a"},
    }  # fmt: skip


async def test_a_refused_token_is_reported_and_the_connection_says_how_it_stands(
    service: FakeService, elicit: Elicit
) -> None:
    stands = {"status": "active", "health": "failing", "last_refresh_error": "provider_unavailable"}
    one = {"id": "cn_1", "provider": "acme", "subject": ELICITATION["subject"], "scopes": ["files.read"], **stands}
    service.on("POST", "/v1/connections/cn_1/report", Reply(one | {"next_refresh_at": "2026-11-21T11:00:00Z"}))

    connection = await elicit.report("cn_1")

    assert service.asked[0].body == {"status": 401}
    assert (connection.status, connection.health, connection.last_refresh_error) == tuple(stands.values())
    assert connection.next_refresh_at == datetime(2026, 11, 21, 11, tzinfo=UTC)


async def test_a_charge_names_the_mandate_of_an_outcome_and_is_made_once(service: FakeService, elicit: Elicit) -> None:
    charge = {"id": "mc_1", "mandate": "ma_1", "amount": 200, "status": "paid"}
    service.on("POST", "/v1/mandates/ma_1/charges", Reply(charge, 201), Reply(charge, 201))
    service.on("POST", "/v1/mandates/ma_1/end", Reply({"id": "ma_1", "status": "ended"}))
    allowed = await outcome_of(service, elicit, {**COMPLETED, "result": {"mandate": "ma_1"}})
    assert await elicit.charge(allowed, 200, description="A ticket", metadata={"order": 7}) == charge
    await elicit.charge("ma_1", 200, description="A ticket", item="ride", idempotency_key="ticket-1")
    assert (await elicit.end_mandate(allowed))["status"] == "ended"
    first, second = [one for one in service.asked if one.path.endswith("/charges")]
    assert first.body == {"amount": 200, "description": "A ticket", "metadata": {"order": 7}}
    assert first.headers["idempotency-key"] != "ticket-1"
    assert (second.body["item"], second.headers["idempotency-key"]) == ("ride", "ticket-1")
    declined = await outcome_of(service, elicit, {**ELICITATION, "status": "declined", "action": "decline"})
    with pytest.raises(NotCompleted):
        await elicit.charge(declined, 200, description="A ticket")


async def test_a_refund_names_the_payment_of_an_outcome_and_is_asked_once(service: FakeService, elicit: Elicit) -> None:
    refund = {"id": "re_1", "payment": "pa_1", "amount": 200, "status": "pending"}
    service.on("POST", "/v1/payments/pa_1/refunds", Reply(refund, 201), Reply(refund, 201))
    paid = await outcome_of(service, elicit, COMPLETED | {"result": {"payment": "pa_1", "amount": 500}})
    declined = await outcome_of(service, elicit, ELICITATION | {"status": "declined"})

    assert await elicit.refund(paid, amount=200, reason="Half of it failed.") == refund
    await elicit.refund("pa_1", idempotency_key="refund-1")

    first, second = service.asked[2:]
    assert first.body == {"amount": 200, "reason": "Half of it failed."}
    assert len(first.headers["idempotency-key"]) >= 32
    assert (second.body, second.headers["idempotency-key"]) == ({}, "refund-1")
    with pytest.raises(NotCompleted):
        await elicit.refund(declined)


async def test_a_consume_that_lost_its_answer_is_sent_again_under_its_key(service: FakeService, elicit: Elicit) -> None:
    taken = Reply(COMPLETED | {"consumed_at": "2026-11-21T10:05:00Z"})
    service.on("POST", "/v1/elicitations/el_1/consume", DROP, taken, taken, taken, problem(409, "already_consumed"))
    consumed = await elicit.consume("el_1")
    assert consumed.consumed_at == datetime(2026, 11, 21, 10, 5, tzinfo=UTC)
    await elicit.consume(consumed)
    await elicit.consume(consumed, key="run-1")
    with pytest.raises(ElicitError, match="already_consumed"):
        await elicit.consume(consumed)
    keys = [asked.headers["idempotency-key"] for asked in service.asked]
    assert keys[0] == keys[1]
    assert keys[3] == "run-1"
    assert len({*keys}) == 4, "another call is another key"
    assert min(len(key) for key in keys if key != "run-1") >= 32


async def test_an_id_cannot_lead_to_another_path(service: FakeService, elicit: Elicit) -> None:
    with pytest.raises(ElicitError):
        await elicit.get("../connections")
    assert service.asked[0].path == "/v1/elicitations/..%2Fconnections"


def test_a_token_does_not_show_itself() -> None:
    token = Token.read({"access_token": "at-very-secret", "token_type": "Bearer", "expires_at": None, "scopes": None})
    assert "at-very-secret" not in repr(token)
    assert "at-very-secret" not in f"{token}"


def test_the_key_comes_from_the_argument_the_environment_a_file_or_the_demo(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ELICIT_API_KEY", raising=False)
    monkeypatch.delenv("ELICIT_API_KEY_FILE", raising=False)
    with pytest.raises(ElicitError, match="ELICIT_API_KEY"):
        api_key()
    (tmp_path / "var").mkdir()
    (tmp_path / "var/demo.key").write_text("of-the-demo\n")
    assert api_key() == "of-the-demo"
    monkeypatch.setenv("ELICIT_API_KEY", "of-the-environment")
    assert api_key() == "of-the-environment"
    (tmp_path / "key").write_text("of-the-file\n")
    monkeypatch.setenv("ELICIT_API_KEY_FILE", str(tmp_path / "key"))
    assert api_key() == "of-the-file"
    assert api_key("given") == "given"


def test_the_address_is_the_one_of_make_run_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELICIT_URL", raising=False)
    assert service_url() == "http://127.0.0.1:8000"
    assert service_url("https://flows.example/") == "https://flows.example"
    monkeypatch.setenv("ELICIT_URL", "flows.example")
    with pytest.raises(ElicitError, match="ELICIT_URL"):
        service_url()


def test_the_sdk_needs_neither_django_nor_pytest() -> None:
    unwanted = {"django", "authlib", "celery", "stripe", "pytest"}
    script = f"import sys, elicit_flows.sdk; print(sorted({unwanted} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ})
    assert ran.stdout.strip() == "[]"


def test_a_scripted_user_needs_no_pytest() -> None:
    """None stands for a module that is not there."""
    script = (
        "import sys; sys.modules['pytest'] = None; from elicit_flows.sdk.testing import ScriptedUser, Service; "
        "print(ScriptedUser('http://127.0.0.1:8001', 'alice').claim.sub)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, "alice"), ran.stderr


@pytest.mark.parametrize("key", ["key-of-a-file\n", "two words", "clé"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ElicitError) as refused:
        Elicit("http://127.0.0.1:1", key)
    assert refused.value.code == "bad_api_key"
    assert key.strip() not in str(refused.value)


@pytest.mark.parametrize("url", ["http://[x", "http://127.0.0.1:99999", "http://a b", "https://:443"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ElicitError) as refused:
        Elicit(url, "key-of-the-tests")
    assert refused.value.code == "bad_url"
