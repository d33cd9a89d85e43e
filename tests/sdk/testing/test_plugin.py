"""The plug-in, as an agent's author uses it: a folder with a test of theirs, and pytest."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from elicit_flows.sdk.testing import Service, installations
from elicit_flows.sdk.testing.installations import Image
from tests.docs.page import found
from tests.support.process import PROJECT, clean_env

pytestmark = pytest.mark.slow

CONFTEST = 'pytest_plugins = ["elicit_flows.sdk.testing"]\n'

THREE_LINES = """
from elicit_flows.sdk import Completed, Declined, SyncElicit


def agent(user, show):
    with SyncElicit() as elicit:
        outcome = elicit.oauth(user, "acme", scopes=["files.read"], message="To list your files.", on_url=show)
        return elicit.token(outcome).token_type if isinstance(outcome, Completed) else type(outcome).__name__


def test_it_connects(elicit_service, elicit_user):
    alice = elicit_user("alice")
    assert agent(alice.claim, alice.allow) == "Bearer"


def test_it_takes_no_for_an_answer(elicit_service, elicit_user):
    bob = elicit_user("bob")
    assert agent(bob.claim, bob.deny) == agent(bob.claim, bob.decline) == "Declined"
"""

EVERYTHING = """
import threading

import httpx2
import pytest

from elicit_flows.sdk import Completed, Declined

SCHEMA = {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "title": "Your name"}, "about": {"type": "string", "maxLength": 900},
    "plan": {"type": "string", "enum": ["free", "pro"], "enumNames": ["Free", "Professional"]},
    "sure": {"type": "boolean"}, "seats": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}}}
ANSWERS = {"name": "Atlas", "about": "Two\\nlines", "plan": "Professional", "sure": False, "seats": 1,
           "tags": ["a", "c"]}


@pytest.fixture
def elicit(elicit_service):
    with elicit_service.sync_elicit() as elicit:
        yield elicit


def test_a_form(elicit, elicit_user):
    alice = elicit_user()
    outcome = elicit.form(alice.claim, SCHEMA, message="Who?", on_url=lambda url: alice.submit(url, **ANSWERS))
    assert outcome.result["content"] == ANSWERS | {"plan": "pro"}


def test_money(elicit, elicit_user):
    alice = elicit_user()
    outcome = elicit.payment(alice.claim, 500, "usd", description="A report", message="Pay.", on_url=alice.pay)
    assert outcome.result["status"] == "paid"


def test_keys(elicit, elicit_user):
    alice = elicit_user()
    fields = [{"name": "key", "label": "API key"}]
    show = lambda url: alice.submit(url, key="sk-1")
    outcome = elicit.credentials(alice.claim, fields, message="Your key.", on_url=show)
    assert elicit.secret(outcome)["key"].reveal() == "sk-1"


def test_yes_and_no(elicit, elicit_user):
    bob = elicit_user("bob")
    assert isinstance(elicit.confirm(bob.claim, message="May I?", on_url=bob.submit), Completed)
    assert isinstance(elicit.confirm(bob.claim, message="May I?", on_url=bob.decline), Declined)
    danger = lambda url: bob.submit(url, typed="confirm")
    assert isinstance(elicit.confirm(bob.claim, message="?", on_url=danger, words={"danger": True}), Completed)


def test_several_things(elicit, elicit_user):
    bob = elicit_user("bob")
    steps = [{"kind": "confirm", "params": {}}, {"kind": "confirm", "params": {}}]
    outcome = elicit.steps(bob.claim, steps, message="Two.", on_url=lambda url: bob.go(url, "submit", "submit"))
    assert isinstance(outcome, Completed)


def test_somebody_else_gets_nowhere(elicit, elicit_user):
    alice, bob = elicit_user("alice"), elicit_user("bob")
    with pytest.raises(AssertionError, match="not submit"):
        elicit.confirm(alice.claim, message="May I?", on_url=bob.submit)


def test_a_crash_in_the_middle(elicit, elicit_service, elicit_user):
    alice = elicit_user()

    def show(url):
        elicit_service.crash()
        alice.submit(url)

    assert isinstance(elicit.confirm(alice.claim, message="May I?", on_url=show), Completed)
"""

# In place of docker: it writes down how it was called, and runs the clone as if that were the image's /app.
DOCKER = """#!{python}
import json, os, pathlib, signal, sys
place, told = pathlib.Path(__file__).parent, sys.argv[1:]
if os.environ.get("DOCKER_HOST") != "unix:///engine.sock":
    sys.exit("no engine there")
with (place / "calls").open("a") as calls:
    calls.write(json.dumps(told) + "\\n")
if told[0] == "kill":
    os.kill(int((place / told[1]).read_text()), signal.SIGKILL)
    sys.exit()
at = told.index("example/elicit:1")
options, command = told[1:at], [one.replace("/app/", "{project}/") for one in told[at + 1 :]]
(place / options[options.index("--name") + 1]).write_text(str(os.getpid()))
os.chdir(options[options.index("--workdir") + 1])
names = [value for option, value in zip(options, options[1:]) if option == "--env"]
env = {{name: os.environ[name] for name in names}} | {{"PATH": os.environ["PATH"], "PYTHONPATH": "{project}"}}
os.execve("{python}", ["{python}", *command[1:]], env)
"""


def docker(place: Path) -> Path:
    """A folder for the PATH."""
    place.mkdir()
    (place / "docker").write_text(DOCKER.format(python=sys.executable, project=PROJECT))
    (place / "docker").chmod(0o755)
    return place


def run(place: Path, env: dict[str, str] | None = None, **tests: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder with these files of tests; it names those that passed."""
    (place / "conftest.py").write_text(CONFTEST)
    for name, text in tests.items():
        (place / f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:django", str(place)]
    ours = {"PYTHONPATH": str(PROJECT), "ELICIT_API_KEY_FILE": "/nowhere", **(env or {})}
    return subprocess.run(command, cwd=place, env=clean_env(ours), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=["0", "1"], ids=["service", "double"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest said of an author's two files; one service, or one double of it, was started for both."""
    double = request.param == "1"
    # The double needs no clone: it runs from the wheel.
    env = {"ELICIT_DOUBLE": "1", "ELICIT_CHECKOUT": "/nowhere"} if double else {"ELICIT_DOUBLE": "0"}
    done = run(tmp_path_factory.mktemp("agent"), env, three_lines=THREE_LINES, everything=EVERYTHING)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_three_lines_test_an_agent(ran: str) -> None:
    assert ran.count("PASSED test_three_lines.py::") == 2


def test_every_kind_can_be_answered_by_the_scripted_user(ran: str) -> None:
    assert ran.count("PASSED test_everything.py::") == 7


def test_without_a_checkout_it_says_what_to_do(tmp_path: Path) -> None:
    ran = run(tmp_path, {"ELICIT_CHECKOUT": str(tmp_path)}, three_lines=THREE_LINES)
    assert ran.returncode == 1
    assert "set ELICIT_CHECKOUT to the folder where you ran" in ran.stdout


def test_an_image_serves_the_tests_as_a_clone_does(tmp_path: Path) -> None:
    there = docker(tmp_path / "bin")
    env = {"ELICIT_IMAGE": "example/elicit:1", "ELICIT_CHECKOUT": "/nowhere", "PATH": f"{there}:{os.environ['PATH']}"}
    env["DOCKER_HOST"] = "unix:///engine.sock"
    done = run(tmp_path, env, three_lines=THREE_LINES, everything=EVERYTHING)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED test_everything.py::") == 7
    calls = [json.loads(line) for line in (there / "calls").read_text().splitlines()]
    assert [one[0] for one in calls].count("kill") == 1, "the crash"
    runs = [one for one in calls if one[0] == "run"]
    assert [one[one.index("example/elicit:1") + 2] for one in runs if "serve" in one] == ["/app/manage.py"] * 2
    assert all({"--rm", "--network", "host", "--user", "--volume"} <= set(one) for one in runs)
    assert "SECRET_KEY" in runs[0]
    assert not {"PATH", "HOME", "TMPDIR", "DOCKER_HOST"} & set(runs[0]), "what is of this machine alone"
    assert not any("=" in one for call in runs for one in call if one != "example/elicit:1"), "no secret in an argument"


@pytest.mark.parametrize(
    ("said", "of_a_user", "mapped"),
    [
        ("podman version 4.3.1", 1000, True),
        ("podman version 4.3.1", 0, False),
        ("Docker version 28.2.2, build e6534b4", 1000, False),
    ],
)
def test_podman_keeps_the_number_of_a_user_who_has_no_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, of_a_user: int, mapped: bool
) -> None:
    """Else what runs in the container may not write into the folder of its data."""
    (tmp_path / "docker").write_text(f"#!/bin/sh\necho {said}\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(os, "getuid", lambda: of_a_user)
    command = Image("example/elicit:1").command("service", {}, tmp_path, "manage.py", "serve")
    assert ("--userns", "keep-id") in pairwise(command) if mapped else "--userns" not in command
    assert ("--user", f"{of_a_user}:{os.getgid()}") in pairwise(command)


@pytest.mark.parametrize(("has_it", "runs_it"), [("docker", "docker"), ("podman", "podman"), ("neither", "docker")])
def test_of_docker_and_podman_the_one_that_has_the_image_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_it: str, runs_it: str
) -> None:
    """A machine may have docker without its engine, and the image built by podman."""
    for name in ("docker", "podman"):
        inspected = '[ "$*" = "image inspect example/elicit:1" ]' if name == has_it else "false"
        (tmp_path / name).write_text(f'#!/bin/sh\n[ "$1" = --version ] || {inspected}\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    command = Image("example/elicit:1").command("service", {}, tmp_path, "manage.py", "serve")
    assert command[:2] == [str(tmp_path / runs_it), "run"]


def test_a_container_that_cannot_be_killed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\necho no such container >&2\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(installations, "KILL_SECONDS", 0.1)
    process = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(RuntimeError, match="the service could not be killed: no such container"):
            Image("example/elicit:1").kill("service", process)
    finally:
        process.kill()
        process.wait()


def test_the_image_itself_serves_the_tests(tmp_path: Path) -> None:
    image = "elicit-flows-testing"
    inspect = [[program, "image", "inspect", image] for name in ("docker", "podman") if (program := shutil.which(name))]
    if all(subprocess.run(command, capture_output=True, check=False).returncode for command in inspect):
        pytest.skip(f"no image {image}: docs/how-to/test-your-agent.md builds it with docker or podman")
    done = run(tmp_path, {**os.environ, "ELICIT_IMAGE": image, "ELICIT_CHECKOUT": "/nowhere"}, everything=EVERYTHING)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED test_everything.py::") == 7


def test_the_guide_builds_the_image_that_it_names(tmp_path: Path) -> None:
    """By a stand-in for docker, which writes down what it is asked for."""
    [block] = found("how-to/test-your-agent.md", "image")
    (tmp_path / "docker").write_text('#!/bin/sh\necho "$*" >> "$0.calls"\n')
    (tmp_path / "docker").chmod(0o755)
    env = clean_env({"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    command = ["sh", "-euc", f'{block.text}\necho "$ELICIT_IMAGE"']
    ran = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, check=True)
    service, testing = [line.split() for line in (tmp_path / "docker.calls").read_text().splitlines()]
    assert service == ["build", "-t", "elicit-flows", "."]
    assert testing == ["build", "-t", ran.stdout.strip(), "-f", "Dockerfile.testing", "."]
    assert "ARG IMAGE=elicit-flows\nFROM ${IMAGE}\n" in (PROJECT / "Dockerfile.testing").read_text()


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (None, "ELICIT_IMAGE is example/elicit:1, but there is neither docker nor podman on the PATH to run it"),
        ("exit 125", "the image example/elicit:1: -m sandbox.configure"),
        ("case $* in *configure*|*migrate*|*apply*) exit 0;; esac; echo no such image; exit 125", "no such image"),
    ],
)
def test_of_an_image_that_does_not_run_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, said: str
) -> None:
    if program:
        (tmp_path / "docker").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin" if program else str(tmp_path))
    monkeypatch.setenv("ELICIT_IMAGE", "example/elicit:1")
    with pytest.raises(RuntimeError, match=re.escape(said)), Service(tmp_path):
        raise AssertionError("It runs.")


def test_a_port_that_another_program_took_meanwhile_is_left_to_it(tmp_path: Path) -> None:
    service = Service(tmp_path)
    taken = urlsplit(service.url).port
    with socket.create_server(("127.0.0.1", taken)), service:
        assert urlsplit(service.url).port != taken
        with service.sync_elicit() as elicit:
            assert elicit.connections() == []
