"""The rules for every test, tested with small test files in a run of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import policy
from tests.support.process import PROJECT, clean_env

OUTSIDE = "192.0.2.1"  # TEST-NET-1 (RFC 5737): nobody is there


def run(folder: Path, source: str, **env: str) -> subprocess.CompletedProcess[str]:
    file = folder / "test_inner.py"
    file.write_text("import socket, pytest\n" + source)
    given = [str(file), "-c", "pyproject.toml", f"--rootdir={PROJECT}", "-p", "tests.support.policy", "-p", "no:django"]
    command = [sys.executable, "-m", "pytest", *given, "-p", "no:cacheprovider", "--strict-markers"]
    surroundings = clean_env({"PYTHONDONTWRITEBYTECODE": "1", **env})
    return subprocess.run(command, cwd=PROJECT, env=surroundings, capture_output=True, text=True, check=False)


ATTEMPTS = [
    f"socket.create_connection(('{OUTSIDE}', 80), 1)",
    f"socket.socket().connect_ex(('{OUTSIDE}', 80))",
    f"socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('{OUTSIDE}', 53))",
    "socket.getaddrinfo('example.com', 443)",
    "socket.create_connection(('example.com', 443), 1)",
]


def test_who_reaches_outside_fails_even_if_the_refusal_is_swallowed(tmp_path: Path) -> None:
    body = "@pytest.mark.parametrize('attempt', ATTEMPTS)\ndef test_it(attempt):\n"
    swallow = "    try:\n        eval(attempt)\n    except OSError:\n        pass\n"
    ran = run(tmp_path, f"ATTEMPTS = {ATTEMPTS!r}\n{body}{swallow}")
    assert ran.returncode == 1, ran.stdout
    assert ran.stdout.count("E   AssertionError: the test reached outside") == len(ATTEMPTS)


@pytest.mark.slow
def test_who_means_to_reach_outside_is_refused_as_without_a_network(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        "@pytest.mark.reaches_out\ndef test_it():\n    with pytest.raises(OSError, match='stay on this machine'):\n"
        f"        with socket.socket() as one:\n            one.connect(('{OUTSIDE}', 80))\n",
    )
    assert ran.returncode == 0, ran.stdout


@pytest.mark.slow
def test_this_machine_may_be_reached(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        "def test_it():\n    with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "        socket.create_connection(('localhost', server.getsockname()[1])).close()\n",
    )
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    "address", [("::1", 1, 0, 0), "/run/socket", b"localhost", "a.localhost", "127.8.9.1", ("", 1)]
)
def test_addresses_of_this_machine_are_known(address: object) -> None:
    assert policy.is_local(address)


@pytest.mark.parametrize("address", [("10.0.0.1", 1), "example.com", b"localhost.example", ("fe80::1%eth0", 1, 0, 2)])
def test_other_addresses_are_not(address: object) -> None:
    assert not policy.is_local(address)


def test_a_test_that_takes_too_long_fails_and_shows_where_it_was(tmp_path: Path) -> None:
    ran = run(tmp_path, "import time\n@pytest.mark.limit(0.3)\ndef test_it():\n    time.sleep(20)\n")
    assert ran.returncode == 1
    assert "test_it took more than 0.3 s" in ran.stdout
    assert "most recent call first" in ran.stdout  # every thread's stack


@pytest.mark.slow
def test_a_code_that_catches_everything_does_not_catch_the_limit(tmp_path: Path) -> None:
    body = "    try:\n        time.sleep(20)\n    except Exception:\n        pass\n"
    assert run(tmp_path, f"import time\n@pytest.mark.limit(0.3)\ndef test_it():\n{body}").returncode == 1


@pytest.mark.slow
def test_warnings_are_errors(tmp_path: Path) -> None:
    ran = run(tmp_path, "import warnings\ndef test_it():\n    warnings.warn('old')\n")
    assert "UserWarning: old" in ran.stdout
    assert ran.returncode == 1


LEAVING = (
    "from tests.support.left_out import left_out\n"
    "@pytest.fixture\ndef thing():\n    left_out('Chromium: not found (remedy)')\n"
    "def test_one(thing): pass\ndef test_two(thing): pass\n"
)


@pytest.mark.slow
def test_what_is_left_out_is_named_in_the_last_lines(tmp_path: Path) -> None:
    ran = run(tmp_path, LEAVING)
    assert ran.returncode == 0
    assert "Chromium: not found (remedy) (2 tests)" in "\n".join(ran.stdout.splitlines()[-4:])


@pytest.mark.slow
def test_ci_fails_where_something_is_left_out(tmp_path: Path) -> None:
    ran = run(tmp_path, LEAVING, REQUIRE_ALL="1")
    assert ran.returncode == 1
    assert "Chromium: not found (remedy) (and REQUIRE_ALL=1)" in ran.stdout


@pytest.mark.slow
def test_a_failure_is_named_with_its_reason_when_it_happens(tmp_path: Path) -> None:
    ran = run(tmp_path, "def test_it():\n    assert False\ndef test_next():\n    pass\n")
    named = ran.stdout.find("\nfailed in call: ::test_it: assert False\n")
    assert 0 <= named < ran.stdout.index("[100%]"), ran.stdout
