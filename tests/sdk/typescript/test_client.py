"""The TypeScript client: programs in Node, against the real service and against one that says what a test tells it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import elicit_flows
from elicit_flows.sdk import SyncElicit
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.cast import ALICE
from tests.sdk.fake import COMPLETED, DROP, ELICITATION, FakeService, Reply, problem
from tests.sdk.test_webhooks import BODY, KEY, OLDER, secret, signed
from tests.sdk.typescript.conftest import PACKAGE, PROGRAMS, Faults, Program, TypeScript
from tests.support import op
from tests.support.box import Box
from tests.support.left_out import left_out
from tests.support.op import Op
from tests.support.process import clean_env
from tests.support.sink import Sink

Start = Callable[..., Program]


def answers(service: FakeService) -> None:
    """What the program ``quick`` is told."""
    errors = [{"loc": ["params", "currency"], "message": "Give an ISO 4217 code."}]
    service.on(
        "POST", "/v1/elicitations", DROP, problem(503, "busy", {"Retry-After": "0"}), Reply(ELICITATION, 201),
        problem(422, "invalid", {"X-Request-Id": "r-1"}, errors=errors),
    )  # fmt: skip
    service.on("GET", "/v1/elicitations/el_1", DROP, Reply(ELICITATION), problem(500, "restarting"), Reply(COMPLETED))


def surroundings(service: FakeService) -> dict[str, str]:
    return {"ELICIT_URL": service.url, "ELICIT_API_KEY": "key-of-the-tests", "WEBHOOK": json.dumps(webhooks())}


def webhooks() -> dict[str, Any]:
    """One that is signed now, and what was signed too early and too late."""

    def headers(at: float) -> dict[str, str]:
        return {name.lower(): value for name, value in signed(KEY, BODY, time.time() + at).items()}

    hook = {"headers": headers(0), "body": BODY.decode(), "secret": secret(KEY)}
    return hook | {"untimely": [headers(-4_000), headers(40_000)]}


def held(service: FakeService, lines: list[dict[str, Any]]) -> None:
    """That ``quick`` asked once in spite of lost answers, waited, and told a webhook from a forged one."""
    asked = [one for one in service.asked if one.method == "POST"]
    keys = [one.headers["idempotency-key"] for one in asked]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert len(keys[0]) == 32
    assert asked[0].body["subject"] == {"iss": "https://idp.example", "sub": "alice"}
    assert asked[0].headers["authorization"] == "Bearer key-of-the-tests"
    waits = [one.query for one in service.asked if one.method == "GET"]
    assert waits == [{"wait": "25", "after_seq": "1"}] * 4
    why = "params.currency: Give an ISO 4217 code. [invalid, request r-1]"
    assert lines == [
        {"link": ELICITATION["url"]}, {"outcome": "cn_1"}, {"refused": ["InvalidRequestError", why, 422, "r-1"]},
        {"event": "elicitation.completed"}, *[{"forged": "bad_signature"}] * 5,
    ]  # fmt: skip


def test_it_asks_once_in_spite_of_lost_answers_and_tells_a_webhook_from_a_forged_one(
    service: FakeService, tmp_path: Path
) -> None:
    """From the source: Node takes the types out by itself."""
    node = op.node()
    source = (PROGRAMS / "quick.ts").read_text().replace('"elicit-flows"', json.dumps(str(PACKAGE / "src/index.ts")))
    (tmp_path / "quick.mts").write_text(source)
    answers(service)
    command = [str(node), "--experimental-strip-types", "--no-warnings", "quick.mts"]
    env = clean_env(surroundings(service))
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    held(service, [json.loads(line) for line in ran.stdout.splitlines()])


def test_its_version_is_that_of_the_service() -> None:
    """As npm writes it."""
    version = re.sub(r"rc(\d+)$", r"-rc.\1", elicit_flows.__version__)
    package = json.loads((PACKAGE / "package.json").read_text())
    assert package["version"] == version
    assert f'VERSION = "{version}"' in (PACKAGE / "src/version.ts").read_text()
    assert not {"dependencies", "optionalDependencies"} & set(package)
    peers = package["peerDependencies"]
    assert package["peerDependenciesMeta"] == {name: {"optional": True} for name in peers}, "only their types are used"


@pytest.mark.slow
def test_it_runs_on_the_node_of_this_machine_too(start: Start, service: FakeService, tmp_path: Path) -> None:
    found = shutil.which("node")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout if found else "v0"
    if int(re.findall(r"\d+", version)[0]) < 20:
        left_out("Node 20 or newer beside that of the peers (Debian: apt-get install nodejs)")
    answers(service)
    program = start("quick", surroundings(service), str(found))
    program.wait_until(lambda: len(program.lines) == 9, "it has said all")
    held(service, program.lines)


@pytest.mark.slow
@pytest.mark.limit(120)
def test_the_type_checker_knows_every_call(faults: Faults) -> None:
    lines = (PROGRAMS / "types.ts").read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("// wrong")}
    assert faults == {"types": wrong}


@pytest.mark.slow
def test_the_package_has_what_it_exports_and_no_source(typescript: TypeScript) -> None:
    npm = shutil.which("npm")
    if npm is None:
        left_out("npm (Debian: apt-get install npm)")
    command = [npm, "pack", "--dry-run", "--json", "--offline"]
    ran = subprocess.run(command, cwd=typescript.installed, capture_output=True, text=True, check=True)
    [packed] = json.loads(ran.stdout)
    files = {one["path"] for one in packed["files"]}
    assert files >= {"package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts"}
    assert not {file for file in files if file.startswith(("src", "tsconfig"))}


@pytest.fixture
def env(elicit_service: Service) -> dict[str, str]:
    return {
        "ELICIT_URL": elicit_service.url, "ELICIT_API_KEY": elicit_service.api_key, "ISS": elicit_service.sandbox_url,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.limit(180)
def test_every_kind_is_asked_and_heard(start: Start, env: dict[str, str], stranger: ScriptedUser) -> None:
    alice = stranger
    program = start("asks", env)
    for number, answer in enumerate([
        alice.allow,
        lambda url: alice.submit(url, api_key="sk-very-secret"),
        alice.pay,
        lambda url: alice.submit(url, name="Atlas", seats=3),
        lambda url: alice.submit(url, typed="CONFIRM"),
        lambda url: alice.go(url, "submit", "submit"),
        alice.decline,
    ]):  # fmt: skip
        answer(program.link(number))
    said = program.end()
    ath, token = said.pop("ath")
    assert ath == base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
    assert {name: said[name] for name in said if name not in {"link", "end"}} == {
        "files": said["files"], "again": True, "connection": "active", "reported": "active", "secret": "sk-very-secret",
        "paid": [500, "paid", False], "refund": 200, "form": {"name": "Atlas", "seats": 3}, "confirm": True,
        "steps": ["confirm", "confirm"], "return": "button", "code": True, "completed": "completed",
        "no": ["declined", "decline"], "late": ["expired", "cancel"], "revoked": ["GoneError", "connection_revoked"],
    }  # fmt: skip
    assert said["files"]
    printed = "\n".join(line for line in program.output().splitlines() if not line.startswith('{"'))
    assert "Secret(***)" in printed
    for hidden in (token, "sk-very-secret", env["ELICIT_API_KEY"]):
        assert hidden not in printed


@pytest.mark.slow
def test_what_goes_wrong_is_said_with_its_class_and_its_request(start: Start, env: dict[str, str]) -> None:
    said = start("trouble", env).end()
    for word, name, status, code in [
        ("key", "AuthenticationError", 401, "unauthenticated"),
        ("invalid", "InvalidRequestError", 422, "invalid"),
        ("missing", "NotFoundError", 404, "not_found"),
        ("nowhere", "UnreachableError", None, "unreachable"),
        ("still", "StillWaiting", None, "still_waiting"),
        ("open", "ConflictError", 409, "not_over"),
        ("another", "ConflictError", 409, "already_consumed"),
    ]:
        assert (said[word]["name"], said[word].get("status"), said[word]["code"]) == (name, status, code)
        if status:
            assert re.search(rf"\[{code}, request {said[word]['request']}\]$", said[word]["message"])
    assert said["invalid"]["message"].startswith("params.amount: Give a whole number of minor units")
    assert "http://127.0.0.1:9 does not answer" in said["nowhere"]["message"]
    assert (said["waited"], said["aborted"], said["cancelled"]) == (False, "TimeoutError", "cancel")
    assert said["consumed"] is said["twice"] is True


@pytest.mark.slow
@pytest.mark.limit(180)
def test_waiting_and_both_feeds_go_on_through_a_restart_of_the_service(
    start: Start, env: dict[str, str], elicit_service: Service, alice: ScriptedUser
) -> None:
    program = start("waits", env)
    link = program.link()
    program.wait_until(lambda: len(program.said("event")) == 2, "both follow the feed")
    elicit_service.crash()
    alice.submit(link)
    status, streamed, polled = program.end()["over"]
    assert status == "completed"
    ways = [f"elicitation.{way}" for way in ("created", "started", "settling", "completed")]
    assert streamed == polled == ways


@pytest.mark.slow
@pytest.mark.limit(120)
def test_a_webhook_of_the_service_is_taken_and_no_other(start: Start, embedded_box: Box, corp: Op, sink: Sink) -> None:
    agent = embedded_box.fresh_agent()
    with SyncElicit(embedded_box.url, agent.api_key) as elicit:
        asked = elicit.create("confirm", (corp.issuer, ALICE.sub), {}, message="Dürfen wir?")
        elicit.cancel(asked)
    delivery = sink.wait_for_event(f"/{agent.slug}", "elicitation.cancelled")
    hook = {
        "headers": delivery.headers, "body": base64.b64encode(delivery.body).decode(),
        "secret": agent.webhook_secret, "foreign": secret(OLDER),
    }  # fmt: skip
    said = start("webhook", {"WEBHOOK": json.dumps(hook)}).end()
    assert said.pop("genuine") == ["elicitation.cancelled", asked.id]
    assert said.pop("end") is said.pop("either") is said.pop("text") is True
    assert said.pop("secret") == "TypeError"
    assert said == dict.fromkeys(["changed", "foreign", "old", "id", "garbage", "time", "none"], "bad_signature")
