"""T116: every log line is one record, whatever text it contains, and no text can imitate another line."""

from __future__ import annotations

import io
import json
import logging
import sys

import httpx2
import pytest
from django.conf import LazySettings
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client, RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from config.logs import JsonFormatter, LimitedHandler, redact
from elicit_flows.lib import telemetry
from elicit_flows.web.middleware import RequestLog
from tests.cast import ALICE
from tests.support import rows
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op

FORGED = (
    '\r\n{"at": "2026-01-01T00:00:00+00:00", "level": "critical", "message": "forged"}\n\x1b[31mred\x1b[0m\x85\u2028'
)
FIELDS = {"at", "level", "logger", "message"}


def record(message: str, *args: object, error: BaseException | None = None) -> str:
    info = (type(error), error, None) if error else None
    return JsonFormatter().format(logging.LogRecord("a.logger", logging.WARNING, "f.py", 1, message, args, info))


@given(st.text(), st.text())
def test_t116_any_text_is_one_line_of_plain_ascii(message: str, argument: str) -> None:
    line = record("%s and %s", message, argument, error=ValueError(argument))
    assert line.isascii()
    assert line.isprintable()
    said = json.loads(line)
    assert said.keys() == FIELDS | {"trace"}
    assert (said["level"], said["logger"]) == ("warning", "a.logger")


def test_t116_a_text_that_looks_like_a_record_stays_inside_its_own() -> None:
    line = record("refused: %s", FORGED)
    assert "\n" not in line
    assert "\x1b" not in line
    assert json.loads(line)["level"] == "warning"
    assert "forged" in json.loads(line)["message"], "and can still be read"


@pytest.mark.parametrize(
    ("said", "kept", "gone"),
    [
        ("GET /callback/drive?code=SECRET&state=SECRET HTTP/1.1", "/callback/drive?***", "SECRET"),
        ("at https://x.test/a?b=SECRET.", "https://x.test/a?***", "SECRET"),
        ("Authorization: Bearer SECRET-1.2_3~4+5/6=", "Bearer ***", "SECRET"),
        ("authorization: basic U0VDUkVUOlNFQ1JFVA==", "basic ***", "U0VDUkVU"),
        ("('/v1/events?api_key=SECRET',)", "/v1/events?***", "SECRET"),
    ],
)
def test_t87_what_follows_a_question_mark_or_names_a_bearer_is_cut_from_a_log_line(
    said: str, kept: str, gone: str
) -> None:
    for line in (redact(said), record("%s", said), record("x", error=ValueError(said))):
        assert kept in line
        assert gone not in line


def test_t87_the_trace_of_an_exception_is_cut_too() -> None:
    try:
        raise RuntimeError("https://x.test/token?code=SECRET")
    except RuntimeError:
        line = JsonFormatter().format(logging.LogRecord("a", logging.ERROR, "f.py", 1, "failed", (), sys.exc_info()))
    said = json.loads(line)
    assert "RuntimeError" in said["trace"]
    assert "Traceback" in said["trace"]
    assert "code=SECRET" not in said["trace"].rpartition("RuntimeError:")[2]


def lines_of(box: Box, name: str, so_far: int = 0) -> list[str]:
    return [line for line in box.logs(name)[so_far:].split("\n") if line]


def test_t116_no_field_that_others_fill_makes_a_line_of_its_own(box: Box, corp: Op, http_user: HttpUser) -> None:
    """Both shapes: what the agent, the browser and the provider say, in every place where they may say something."""
    agent = box.fresh_agent()
    before = {name: len(box.logs(name)) for name in box.processes}
    body = {
        "kind": "oauth", "subject": {"iss": corp.issuer, "sub": FORGED},
        "message": FORGED, "metadata": {FORGED: "x"}, "params": {"provider": "drive"},
    }  # fmt: skip
    assert agent.post("/v1/elicitations", json=body).status_code == 201
    for wrong in ({**body, "kind": FORGED}, {**body, "params": {"provider": FORGED}}, {**body, FORGED: 1}):
        assert agent.post("/v1/elicitations", json=wrong).status_code in {400, 422}
    coded = "%0D%0A%7B%22level%22%3A%22critical%22%2C%22message%22%3A%22forged%22%7D%1B%5B31m"
    for path in (f"/v1/elicitations/{coded}", f"/c/{coded}", f"/{coded}", f"/v1/elicitations/{coded}?wait=1&x={coded}"):
        assert agent.get(path, headers={"user-agent": "a\tb"}).status_code in {400, 404, 422}
    httpx2.post(f"{box.url}/c/x/continue", data={"press": FORGED}, headers={"origin": coded}, trust_env=False)
    link = agent.post("/v1/elicitations", json={**body, "subject": ALICE.subject(corp.issuer)}).json()["url"]
    with http_user.stopping_at(f"{box.url}/callback/"):
        http_user.connect(link, ALICE.sub)
    location = http_user.location
    assert "code=" in location
    http_user.get(location.replace("code=", f"error=x&error_description={coded}&was="))
    for name in ["web", *(["worker", "beat"] if box.shape == "full" else [])]:
        lines = lines_of(box, name, before[name])
        assert lines or name != "web", "something was logged"
        for line in lines:
            assert line.isprintable(), line
            assert json.loads(line).keys() >= FIELDS, line
            assert json.loads(line)["message"] != "forged"


@pytest.mark.parametrize(
    "secret",
    [
        "ek_0123456789abcdefghij", "whsec_QUJDREVGR0hJSktMTU5PUA==", "sk_live_0123456789", "rk_test_0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl", "v1.k1.AAAAAAAAAAAAAAAAAAAAAAAA",
    ],
)  # fmt: skip
def test_t87_what_looks_like_a_secret_is_cut_wherever_it_comes_from(secret: str) -> None:
    line = record("it said %s, and went on", secret, error=ValueError(secret))
    assert secret not in line
    assert "it said ***, and went on" in line


def test_a_line_of_a_request_says_which_it_was_and_whose(
    caplog: pytest.LogCaptureFixture, db: None, settings: LazySettings
) -> None:
    settings.ELICIT_LOG_REQUESTS = True
    agent = rows.agent()
    lines: list[dict[str, object]] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(JsonFormatter().format(record)))

    handler = Kept()
    logging.getLogger("elicit_flows").addHandler(handler)
    try:
        answer = Client().get(
            "/v1/elicitations/el_nothing?code=SECRET", headers={"authorization": f"Bearer {agent.who.api_key}"}
        )
        Client().get("/healthz")
    finally:
        logging.getLogger("elicit_flows").removeHandler(handler)
    line, other = (one for one in lines if one["message"] == "answered")
    assert line["request"] == answer["X-Request-Id"] != other["request"]
    assert (line["agent"], line["elicitation"]) == (agent.who.slug, "el_nothing")
    assert (line["method"], line["path"], line["status"]) == ("GET", "/v1/elicitations/el_nothing", 422)
    assert isinstance(line["milliseconds"], int)
    assert {"agent", "elicitation"}.isdisjoint(other), "nothing is left of the request before"
    assert telemetry.current_log_fields() == {}


def test_a_line_whose_message_is_no_text_is_written() -> None:
    """uvicorn logs the exception itself when its port is taken."""
    stream = io.StringIO()
    handler = LimitedHandler(stream)
    handler.setFormatter(JsonFormatter())
    handler.handle(logging.LogRecord("uvicorn.error", logging.ERROR, "f.py", 1, OSError("in use"), (), None))
    assert json.loads(stream.getvalue())["message"] == "in use"


def test_an_outage_of_the_database_is_told_in_a_few_lines() -> None:
    """Every job and every request logs it: at most ten lines a minute of each kind, and no traceback."""
    stream = io.StringIO()
    handler = LimitedHandler(stream)
    handler.setFormatter(JsonFormatter())
    gone = OperationalError("connection failed")
    for _ in range(200):
        for logger, message in (
            ("elicit_flows.jobs.worker", "job %s: the worker cannot reach the database; it tries again: %s"),
            ("elicit_flows.jobs.metrics_store", "what was counted cannot be kept now; it is tried again: %s %s"),
            ("elicit_flows.jobs.worker", "a round of job %s failed; the next one comes: %s"),
            ("elicit_flows.api.streaming.app", "a request that waits was ended: %s %s"),
        ):
            info = (type(gone), gone, None)
            args = ("deliver", "connection failed")
            handler.handle(logging.LogRecord(logger, logging.WARNING, "f.py", 1, message, args, info))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) == 40
    assert not [line for line in lines if "trace" in line]


def test_quiet_requests_are_not_told_and_those_that_break_are(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(request: object) -> HttpResponse:
        return HttpResponse(status=503)

    request = RequestFactory().get("/c/el_1/continue?x=SECRET")
    for view in (broken, lambda _: HttpResponse()):
        RequestLog(view)(request)
    assert [one.getMessage() for one in caplog.records] == ["answered"]
