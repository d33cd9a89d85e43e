"""Settings of Hypothesis for all tests: how long this machine takes for one example says nothing about the example.

Where slow tests are left out (``make test``), each test tries a quarter of its examples.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

QUICK = 25  # examples; otherwise Hypothesis' own hundred

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("any machine"), max_examples=QUICK)
settings.load_profile("any machine")


def times(factor: int) -> settings:
    """For a test that tries so many times as many examples as others."""
    return settings(max_examples=factor * settings().max_examples)


def pytest_configure(config: pytest.Config) -> None:
    if "not slow" in config.option.markexpr:
        settings.load_profile("quick")
