"""Presets in the configuration file: every entry of the catalogue makes a provider; the operator has the last word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from elicit_flows import catalogue, vault
from elicit_flows.catalogue import Entry
from elicit_flows.models import Provider
from tests.management.files import Operator

TABLE = '[[provider]]\nslug = "ours"\npreset = "{}"\nclient_id = "client"\nclient_secret = "secret"\n'
SHOP = TABLE.format("shopify") + 'variables = {{ shop = "{}" }}\n'


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """The folder of the operator's own entries."""
    folder = tmp_path / "own"
    folder.mkdir()
    catalogue.configure(folder)
    yield folder
    catalogue.configure(None)


def table(entry: Entry) -> str:
    said = f'[[provider]]\nslug = "{entry.slug}"\npreset = "{entry.slug}"\n'
    if entry.variables:
        said += "variables = { " + ", ".join(f'{one.name} = "{one.example}"' for one in entry.variables) + " }\n"
    if entry.kind == "oauth":
        said += 'client_id = "client"\n' + ('client_secret = "secret"\n' if entry.token_auth != "none" else "")
    return said


@pytest.mark.slow
def test_every_entry_makes_a_provider_as_it_says(operator: Operator) -> None:
    ran = operator.apply("".join(map(table, catalogue.entries().values())))
    assert ran.failed == 0, ran.said
    assert [line for line in ran.said if "pkce is off" not in line] == []
    for row in Provider.objects.all():
        entry = catalogue.entries()[row.slug]
        assert (row.sort, row.settings()) == (entry.sort, row.settings() | entry.settings(entry.examples))
        if entry.kind == "oauth":
            made = vault.oauth(row)
            assert (made.pkce, made.quirks) == (entry.pkce, entry.oddities(entry.examples))
            assert "{" not in f"{made.authorize_url}{made.token_url}"
            # Whose account it is may be asked of a host that the token's answer names.
            assert set(re.findall(r"{(\w+)}", made.userinfo_url or "")) <= {one.name for one in entry.metadata}
        else:
            made = vault.credentials_provider(row)
            assert made.fields
            assert (made.token is not None) == (entry.kind == "client_credentials")
            assert made.token is None or made.token.quirks == entry.oddities(entry.examples)


def test_any_field_of_the_file_overrides_the_preset(operator: Operator) -> None:
    own = "".join(
        f'{key} = "https://git.example.com/{key}"\n'
        for key in ("issuer", "authorize_url", "token_url", "revocation_url", "userinfo_url")
    )
    operator.apply(TABLE.format("gitlab") + own + 'name = "Our Git"\nscopes = []\ntoken_auth = "client_secret_post"\n')
    made = vault.oauth(Provider.objects.get())
    assert (made.name, made.scopes, made.token_auth) == ("Our Git", (), "client_secret_post")
    assert made.issuer == "https://git.example.com/issuer"
    assert made.revocation_url == "https://git.example.com/revocation_url"


def test_the_words_for_a_dead_grant_are_the_presets_until_the_operator_says_others(operator: Operator) -> None:
    operator.apply(TABLE.format("hubspot"))
    (sign,) = vault.oauth(Provider.objects.get()).quirks.dead_grant
    assert (sign.words, sign.path, sign.status) == (("BAD_REFRESH_TOKEN",), ("status",), 400)
    own = 'dead_grant = [{ words = ["gone", "190"], path = ["error", "code"] }]\n'
    assert not operator.apply(TABLE.format("hubspot") + own).failed
    (sign,) = vault.oauth(Provider.objects.get()).quirks.dead_grant
    assert (sign.words, sign.path, sign.status) == (("gone", "190"), ("error", "code"), None)
    operator.apply(TABLE.format("hubspot") + "dead_grant = []\n")
    assert vault.oauth(Provider.objects.get()).quirks.dead_grant == ()
    keys = '[[provider]]\nslug = "keys"\nfields = [{ name = "key", label = "Key" }]\n'
    assert operator.apply(keys + own).failed


MENDED = """\
name = "GitHub"
kind = "oauth"
source_url = "https://example.com/"
checked = "unverified"

[endpoints]
authorize = "https://github.com/authorize-as-of-today"
token = "https://github.com/token-as-of-today"

[scopes]
separator = ","
"""


def test_what_is_mended_in_the_catalogue_reaches_rows_that_said_nothing_else(operator: Operator, own: Path) -> None:
    operator.apply(TABLE.format("github") + 'token_url = "https://git.example.com/token"\n')
    (own / "github.toml").write_text(MENDED)
    catalogue.configure(own)
    made = vault.oauth(Provider.objects.get())
    assert made.authorize_url == "https://github.com/authorize-as-of-today"
    assert made.token_url == "https://git.example.com/token"
    assert made.quirks.scope_separator == ","


def test_a_row_from_before_says_all_itself(operator: Operator, own: Path) -> None:
    operator.apply(TABLE.format("github"))
    Provider.objects.update(given=None)
    (own / "github.toml").write_text(MENDED)
    catalogue.configure(own)
    assert vault.oauth(Provider.objects.get()).token_url == "https://github.com/login/oauth/access_token"


def test_a_preset_that_is_gone_goes_on_as_it_was_written(operator: Operator, own: Path) -> None:
    (own / "house.toml").write_text(MENDED)
    catalogue.configure(own)
    operator.apply(TABLE.format("house"))
    catalogue.configure(None)
    assert vault.oauth(Provider.objects.get()).token_url == "https://github.com/token-as-of-today"


def test_what_differs_from_customer_to_customer_is_filled_in(operator: Operator) -> None:
    operator.apply(SHOP.format("our-shop"))
    made = vault.oauth(Provider.objects.get())
    assert made.token_url == "https://our-shop.myshopify.com/admin/oauth/access_token"


def test_what_differs_from_person_to_person_may_be_left_to_them(operator: Operator) -> None:
    assert not operator.apply(TABLE.format("shopify")).failed
    row = Provider.objects.get()
    assert [one.name for one in row.open_variables()] == ["shop"]
    assert vault.oauth(vault.for_person(row, {"shop": "hers"})).token_url == (
        "https://hers.myshopify.com/admin/oauth/access_token"
    )
    faults = operator.faults('[[provider]]\nslug = "x"\npreset = "microsoft-tenant"\nregistration = "dynamic"\n')
    assert any("registration: cannot be dynamic while variables" in fault for fault in faults), faults


WRONG = {
    "missing": (TABLE.format("okta"), "are not what Okta needs: domain is needed ("),
    "unfit": (SHOP.format("our-shop/../x"), "are not what Shopify needs: shop is needed"),
    "another host": (SHOP.format("evil.com/"), "are not what Shopify needs: shop is needed"),
    "unknown": (TABLE.format("github") + 'variables = { shop = "x" }\n', "the preset has no variable shop"),
    "no preset": ('[[provider]]\nslug = "x"\nvariables = { a = "b" }\n', "are for a preset that has them"),
    "no texts": (TABLE.format("shopify") + "variables = { shop = 1 }\n", "must be a table of texts"),
    "inside": (TABLE.format("gitea") + 'variables = { host = "10.0.0.1" }\n', "lead to https://10.0.0.1/login/"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_filled_in_is_said(operator: Operator, name: str) -> None:
    text, said = WRONG[name]
    faults = operator.faults(text)
    assert any(": variables: " in fault and said in fault for fault in faults), faults
