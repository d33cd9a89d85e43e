"""MCP's own conformance suite against the example, with the suite's fixtures beside its tools."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conformance import flows
from tests.sdk.mcp.conformance.suite import Report, required, run
from tests.sdk.mcp.conftest import Server

pytestmark = pytest.mark.slow

OLD, NEW = "2025-11-25", "2026-07-28"
LEAST = {OLD: 65, NEW: 110}  # checks of required scenarios; when this was written 70 and 119 passed
TASKS = {
    f"tasks-{name}" for name in (
        "lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "request-headers",
        "dispatch-and-envelope", "required-task-error", "mrtr-composition", "mrtr-input",
    )
}  # fmt: skip
LEAST_ON_TASKS = 30
BESIDES = {
    OLD: {"json-schema-2020-12", "server-sse-polling"},
    NEW: {"json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation", *TASKS},
}
EXAMPLE = {"list_files", "buy_report", "store_api_key", "wipe_files", "choose_plan", "accept_terms"}

Reports = Callable[[str], Report]


@pytest.fixture(scope="module")
def fixtures(elicit_box: Service, servers: list[Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """For bob alone."""
    module, user = "tests.sdk.mcp.conformance.server", [elicit_box.sandbox_url, "bob"]
    log = tmp_path_factory.mktemp("conformance") / "server.log"
    server = Server(elicit_box, log, lambda port: [sys.executable, "-m", module, str(port), *user])
    servers.append(server)
    return server.start()


@pytest.fixture(scope="module")
def bob(elicit_box: Service) -> Iterator[ScriptedUser]:
    user = elicit_box.user("bob")
    yield user
    user.close()


@pytest.fixture(scope="module")
def report(
    elicit_box: Service, fixtures: Server, bob: ScriptedUser, tmp_path_factory: pytest.TempPathFactory
) -> Reports:
    """Each revision is run once, when it is first asked for."""

    def yes() -> None:
        for asked in questions_to(elicit_box, bob, kind="confirm", status="pending"):
            if asked["message"] in flows.ANSWERED and not (asked["message"] in flows.LATE and is_new(asked)):
                bob.open(asked["url"])
                if "submit" in bob.page.forms:  # else it was taken back meanwhile
                    bob.press("submit")

    return functools.cache(lambda revision: run(fixtures.url, revision, tmp_path_factory.mktemp(revision), yes))


def is_new(asked: dict[str, Any]) -> bool:
    """Whether the suite may still look at a question that it has not answered."""
    return datetime.now(UTC) - datetime.fromisoformat(asked["created_at"]) < timedelta(seconds=3)


def questions_to(service: Service, user: ScriptedUser, **which: str) -> list[dict[str, Any]]:
    about = {"iss": user.claim.iss, "sub": user.claim.sub, **which}
    key = {"authorization": f"Bearer {service.api_key}"}
    answer = httpx2.get(f"{service.url}/v1/elicitations", params=about, headers=key, trust_env=False)
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]
    return found


@pytest.mark.parametrize("revision", LEAST)
def test_everything_that_a_revision_requires_passes(report: Reports, revision: str) -> None:
    seen, wanted = report(revision), required(revision)
    checks = [check for check in seen.checks if check.scenario in wanted]
    assert {check.scenario for check in checks if check.passed} == wanted
    assert [check for check in checks if check.status not in {"SUCCESS", "INFO"}] == []
    assert sum(check.passed for check in checks) >= LEAST[revision]
    assert seen.status == 0, seen.said[-2000:]


@pytest.mark.parametrize("revision", LEAST)
def test_no_tool_fails_but_the_one_that_is_to(report: Reports, revision: str) -> None:
    """The suite accepts the text of an error as a text, so a missing fixture would pass."""
    assert {check.id for check in report(revision).checks if check.tool_failed} == {"tools-call-error"}


@pytest.mark.parametrize("revision", LEAST)
def test_what_no_revision_requires_passes_too(report: Reports, revision: str) -> None:
    """The suite may only warn where a server lacks a tool of its."""
    besides = [one for one in report(revision).checks if one.scenario not in required(revision)]
    missing = BESIDES[revision] - {one.scenario for one in besides if one.passed}
    assert not missing, [one for one in besides if one.scenario in missing]
    assert [one for one in besides if one.status in {"FAILURE", "WARNING"}] == []


def test_all_that_the_suite_has_on_tasks_passes(report: Reports) -> None:
    """A scenario without a failure may have stopped early."""
    checks = [one for one in report(NEW).checks if one.scenario in TASKS]
    assert {one.scenario for one in checks} == TASKS
    assert [one for one in checks if not one.passed] == []
    assert len(checks) >= LEAST_ON_TASKS


@pytest.mark.parametrize("revision", LEAST)
def test_the_guarded_tools_are_among_those_that_the_suite_saw(report: Reports, revision: str) -> None:
    assert set(report(revision).of("tools-list").details["tools"]) > EXAMPLE


def test_links_of_the_service_went_through_the_suite(report: Reports, elicit_box: Service) -> None:
    """No scenario expects links. It accepts the answer of a guard, and checks it against the schema."""
    seen = report(NEW)
    for asks in ("request-state-incomplete", "multi-round-r1", "multi-round-r2"):
        (asked,) = seen.of(f"sep-2322-{asks}").details["result"]["inputRequests"].values()
        assert asked["params"]["mode"] == "url"
        assert asked["params"]["url"].startswith(f"{elicit_box.url}/c/")
    for ends in ("request-state-complete", "multi-round-r3"):
        (said,) = seen.of(f"sep-2322-{ends}").details["result"]["content"]
        assert said["text"] == flows.DONE


def test_forms_that_the_suite_answered_are_completed_at_the_service(
    report: Reports, elicit_box: Service, bob: ScriptedUser
) -> None:
    assert report(OLD).of("tools-call-elicitation").passed
    forms = questions_to(elicit_box, bob, kind="form", status="completed")
    content = {form["message"]: form["result"]["content"] for form in forms}
    assert content["Please provide your information"] == {"username": "testuser", "email": "test@example.com"}
    assert content[flows.ASKED_WITH_DEFAULTS]["name"] == "Jane Smith"
    assert content[flows.ASKED_FOR_CHOICES]["titledMulti"] == ["value1", "value2"]
