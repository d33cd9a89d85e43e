"""L13: ``check --deploy`` said nothing of settings that take a defence away."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from pytest_django import Settings


@pytest.mark.django_db
def test_t143_what_is_dangerous_is_warned_of_before_a_deployment(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ELICIT_PUBLIC_URL, settings.ELICIT_ALLOW_LOOPBACK = "https://flows.example.com", False
    settings.ELICIT_ADMIN_SECOND_FACTOR = False
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    said = " ".join(one.msg for one in run_checks(include_deployment_checks=True) if str(one.id).startswith("elicit."))
    assert [name for name in ("ELICIT_ADMIN_SECOND_FACTOR", "FORWARDED_ALLOW_IPS") if name not in said] == []
