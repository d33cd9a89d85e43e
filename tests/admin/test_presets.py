"""A provider of the catalogue in the admin: shown as the preset is today, and what an operator changes is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from elicit_flows import catalogue
from elicit_flows.models import Provider
from tests.admin.rows import Rows

TODAY = """\
name = "GitHub as of today"
kind = "oauth"
source_url = "https://example.com/"
checked = "unverified"

[endpoints]
authorize = "https://github.com/authorize-as-of-today"
token = "https://github.com/token-as-of-today"
"""


@pytest.fixture
def provider(rows: Rows, tmp_path: Path) -> Iterator[Provider]:
    """Made when the preset said something else."""
    (tmp_path / "github.toml").write_text(TODAY)
    catalogue.configure(tmp_path)
    Provider.objects.filter(pk=rows.provider.pk).update(preset="github", given=["scopes"], scopes=["repo"], issuer="")
    yield Provider.objects.get(pk=rows.provider.pk)
    catalogue.configure(None)


def test_what_an_operator_changes_is_theirs_and_the_rest_follows_the_preset(admin: Client, provider: Provider) -> None:
    page = f"/admin/elicit_flows/provider/{provider.pk}/change/"
    shown = admin.get(page)
    assert shown.context["adminform"].form.initial["token_url"] == "https://github.com/token-as-of-today"
    form = {
        name: "\n".join(value) if isinstance(value, list) else value or ""
        for name, value in shown.context["adminform"].form.initial.items()
    }
    form |= {
        "token_url": "https://git.example.com/token",
        "fields": "[]",
        "verify": "null",
        "new_client_secret": "s3cret",
    }
    answer = admin.post(page, form)
    assert answer.status_code == 302, answer.context["errors"]
    provider.refresh_from_db()
    assert provider.given == ["token_url", "scopes"]
    said = provider.settings()
    assert (said["token_url"], said["scopes"]) == ("https://git.example.com/token", ["repo"])
    assert (said["name"], said["authorize_url"]) == ("GitHub as of today", "https://github.com/authorize-as-of-today")
