"""The guards for frameworks, without the frameworks: whose yes runs a call that says it was answered."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.sdk.fake import COMPLETED, ELICITATION, FakeService, Reply, problem
from tests.sdk.typescript.conftest import PACKAGE
from tests.sdk.typescript.frameworks.conftest import PROGRAMS
from tests.support import op
from tests.support.process import clean_env

OPEN = ELICITATION | {"kind": "confirm"}
YES = COMPLETED | {"kind": "confirm", "id": "el_2", "result": {"confirmed": True}}
USED = problem(409, "already_consumed")


def _called(service: FakeService, elicitation: str = "") -> list[Any]:
    """What both calls come to; the source runs as it is, since Node takes the types out by itself."""
    command = [str(op.node()), "--experimental-strip-types", "--no-warnings", str(PROGRAMS / "alone.mjs")]
    given = [str(PACKAGE / "src"), service.url, elicitation]
    ran = subprocess.run([*command, *given], env=clean_env(), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def _keys(service: FakeService) -> list[dict[str, Any]]:
    """The metadata of the question that each of the two calls asks."""
    service.on("POST", "/v1/elicitations", *[Reply(OPEN, 201)] * 2)
    assert _called(service) == [["ai", "waiting", []], ["mastra", "ran", ["asks el_1"]]]
    return [one.body["metadata"] for one in service.asked]


def test_t205_a_yes_to_something_else_runs_no_call_that_says_it_was_answered(service: FakeService) -> None:
    keys = _keys(service)
    mallory = {"subject": {"iss": "https://idp.example", "sub": "mallory"}}
    for wrong in (
        [YES] * 2,
        [YES | mallory | {"metadata": key} for key in keys],
        [YES | {"metadata": key} for key in reversed(keys)],
    ):
        service.on("GET", "/v1/elicitations/el_2", *[Reply(one) for one in wrong])
        service.on("POST", "/v1/elicitations", *[Reply(OPEN, 201)] * 2)
        assert _called(service, "el_2") == [["ai", "waiting", []], ["mastra", "ran", ["asks el_1"]]]


def test_t206_of_two_runs_with_one_answer_one_goes_on(service: FakeService) -> None:
    right = [Reply(YES | {"metadata": key}) for key in _keys(service)]
    service.on("GET", "/v1/elicitations/el_2", *right, *right)
    service.on("POST", "/v1/elicitations/el_2/consume", Reply(YES), Reply(YES), USED, USED)
    assert _called(service, "el_2") == [["ai", "ran", [12]], ["mastra", "ran", [12]]]
    assert _called(service, "el_2") == [["ai", "already_used", []], ["mastra", "already_used", []]]
