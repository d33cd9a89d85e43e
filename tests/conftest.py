"""Loads the fixtures (tests/support/fixtures.py) and the rules for every test (tests/support/policy.py)."""

from __future__ import annotations

from tests.support import certificates, environment

certificates.read_once()
environment.prepare()

pytest_plugins = [
    "tests.support.in_process",
    "tests.support.fixtures",
    "tests.support.rows",
    "tests.support.serving",
    "tests.support.two_ways",
    "tests.support.moving",
    "tests.support.several",
    "tests.support.order",
    "tests.support.examples",
    "tests.support.policy",
]
