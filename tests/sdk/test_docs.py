"""Every block of docs/how-to/python-sdk.md is run, against the service and the sandbox as the plug-in starts them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks import Webhook

from elicit_flows.sdk import Completed
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser
from tests.support.process import PROJECT

pytestmark = pytest.mark.slow

PAGE = (PROJECT / "docs" / "how-to/python-sdk.md").read_text(encoding="utf-8")
TESTED = {
    "Ask and wait", "Without await", "Outcomes", "Forms from types", "Errors", "Waiting for long", "Events",
    "Forms that several people fill in", "Webhooks", "Charge later",
}  # fmt: skip
Run = Callable[..., dict[str, Any]]


def blocks(heading: str) -> list[str]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python sdk\n(.*?)```", section, re.DOTALL)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("elicit")) as started:
        yield started


@pytest.fixture
def run(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs the one block below a heading, which may await at its top; what it leaves behind by name."""
    monkeypatch.setenv("ELICIT_URL", service.url)
    monkeypatch.setenv("ELICIT_API_KEY", service.api_key)
    alice = service.user("alice")

    def run(heading: str, **names: Any) -> dict[str, Any]:
        [block] = blocks(heading)
        names = {"user": alice.claim, "send_to_user": lambda url: says_yes(alice, url), **names}
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(block, "docs/how-to/python-sdk.md", "exec", flags=flags, dont_inherit=True)
        left = eval(code, names)
        if inspect.isawaitable(left):
            asyncio.run(awaited(left))
        return names

    yield run
    alice.close()


async def awaited(left: Any) -> None:
    await left


def says_yes(user: ScriptedUser, url: str) -> None:
    user.open(url)
    for action in ["submit"] if "submit" in user.page.forms else ["continue", "allow"]:
        user.press(action)


def test_ask_and_wait(run: Run) -> None:
    assert run("Ask and wait")["token"].token_type == "Bearer"


def test_without_await(run: Run) -> None:
    assert run("Without await")["token"].token_type == "Bearer"


def test_outcomes(run: Run) -> None:
    assert run("Outcomes")["answer"] == "done"


def test_forms_from_types(run: Run, service: Service) -> None:
    with closing(service.user("alice")) as alice:
        trip = run(
            "Forms from types",
            send_to_user=lambda url: alice.submit(url, city="Rome", travels="train", nights="3"),
        )["trip"]
    assert (trip.city, trip.travels, trip.nights, trip.start) == ("Rome", "train", 3, None)


def test_charge_later(run: Run, service: Service) -> None:
    with closing(service.user("alice")) as alice:
        left = run("Charge later", send_to_user=alice.pay)
    assert (left["charge"]["status"], left["charge"]["amount"]) == ("paid", 1290)


def test_errors(run: Run) -> None:
    assert re.fullmatch(r"params\.amount: Give a whole .* \[invalid, request [0-9a-f]{16}\]", run("Errors")["why"])


def test_waiting_for_long(run: Run) -> None:
    left = run("Waiting for long")
    assert left["elicitation"].over
    assert isinstance(left["outcome"], Completed)
    assert left["outcome"].elicitation.id == left["kept"]


def test_events(run: Run) -> None:
    left = run("Events")
    assert left["event"].data["status"] == "completed"
    assert left["cursor"] == left["event"].cursor is not None


def test_forms_that_several_people_fill_in(run: Run) -> None:
    form = run("Forms that several people fill in")["form"]
    assert form.message == "For the project, which begins on Monday."
    assert form.result == {"content": {"name": "Atlas"}}


def test_webhooks(run: Run) -> None:
    secret, body = "whsec_" + "A" * 43 + "=", b'{"id": "ev_1", "type": "elicitation.completed", "data": {}}'
    left = run("Webhooks", webhook_secret=secret, dealt_with=set())
    now = datetime.now(UTC)
    headers = {"webhook-id": "ev_1", "webhook-timestamp": str(int(now.timestamp()))}
    headers["webhook-signature"] = Webhook(secret).sign("ev_1", now, body.decode())
    assert left["receive"](headers, body) == 204
    assert left["dealt_with"] == {"ev_1"}
    assert left["receive"](headers, body + b" ") == 400


def test_every_block_of_the_page_is_run_by_one_of_these() -> None:
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert {heading for heading in headings if blocks(heading)} == TESTED
    assert sum(len(blocks(heading)) for heading in headings) == PAGE.count("```") / 2
