"""The language of the page goes with the person to the OAuth provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation import override

from elicit_flows import catalogue
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.models.provider import SETTINGS
from tests.doubles.provider import Provider
from tests.oauth.journey import ask, come_back, press, query
from tests.support.rows import Known

STRICT = """\
name = "Strict"
kind = "oauth"
source_url = "https://strict.example.com/docs"
checked = "unverified"

[endpoints]
authorize = "https://strict.example.com/authorize"
token = "https://strict.example.com/token"

[quirks]
ui_locales = false
"""


@pytest.fixture
def own_entries(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    catalogue.configure(None)


@pytest.mark.parametrize(("language", "tag"), [("en", "en"), ("pt-br", "pt-BR"), ("zh-hans", "zh-Hans")])
def test_the_provider_is_told_the_language_of_the_page(known: Known, double: Provider, language: str, tag: str) -> None:
    row = ask(known)
    with override(language):
        url = press(row)
    assert query(url)["ui_locales"] == tag
    assert come_back(double, row, url).status == "completed"


def test_a_pushed_request_has_the_language_too(known: Known, double: Provider, drive_row: ProviderRow) -> None:
    double.metadata = {"pushed_authorization_request_endpoint": f"{double.url}/par"}
    ProviderRow.objects.filter(pk=drive_row.pk).update(par="required")
    with override("de"):
        assert "ui_locales" not in query(press(ask(known)))
    assert [request.form["ui_locales"] for request in double.seen("par")] == ["de"]


def test_a_language_that_the_operator_wrote_in_the_address_stays(
    known: Known, double: Provider, drive_row: ProviderRow
) -> None:
    ProviderRow.objects.filter(pk=drive_row.pk).update(authorize_url=f"{double.url}/authorize?ui_locales=fr")
    with override("de"):
        url = press(ask(known))
    assert url.count("ui_locales=") == 1
    assert query(url)["ui_locales"] == "fr"


def test_a_provider_whose_entry_says_that_it_refuses_unknown_parameters_is_not_told(
    known: Known, drive_row: ProviderRow, own_entries: Path
) -> None:
    (own_entries / "strict.toml").write_text(STRICT)
    catalogue.configure(own_entries)
    ProviderRow.objects.filter(pk=drive_row.pk).update(preset="strict", given=list(SETTINGS))
    assert "ui_locales" not in query(press(ask(known)))
