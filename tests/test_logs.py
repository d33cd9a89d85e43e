"""T116: whatever anybody writes, a log line is one record, and no line can be made to look like another."""

from __future__ import annotations

import json
import logging
import sys

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.logs import JsonFormatter, redact
from tests.cast import ALICE
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
        assert agent.get(path, headers={"user-agent": "a\tb"}).status_code in {400, 404}
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
