"""The ground the tests stand on. Fixtures are in tests/support/fixtures.py, what every test is held to in policy.py."""

from __future__ import annotations

from tests.support import certificates, environment

certificates.read_once()
environment.prepare()

pytest_plugins = [
    "tests.support.in_process",
    "tests.support.fixtures",
    "tests.support.rows",
    "tests.support.serving",
    "tests.support.moving",
    "tests.support.several",
    "tests.support.policy",
]
