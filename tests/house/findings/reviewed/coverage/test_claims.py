"""7: SECURITY.md said that every provider gets PKCE, and nothing named those that do not."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from pytest_django import Settings

from elicit_flows.models import Provider


@pytest.mark.django_db
def test_t143_a_provider_without_pkce_is_named_before_a_deployment(settings: Settings) -> None:
    """``check --deploy`` names it only where somebody adds ``--database default``."""
    settings.ELICIT_PUBLIC_URL, settings.ELICIT_ALLOW_LOOPBACK = "https://flows.example.com", False
    Provider.objects.create(slug="old", client_id="ours", pkce="off")
    said = [str(one.id) for one in run_checks(include_deployment_checks=True)]
    assert [one for one in said if one.startswith("elicit.")] == ["elicit.W005"]
