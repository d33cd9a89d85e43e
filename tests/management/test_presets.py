"""The catalogue of providers."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from elicit_flows import vault
from elicit_flows.kinds.oauth.presets import PRESETS
from elicit_flows.models import Provider
from tests.management.files import Operator

TABLE = '[[provider]]\nslug = "ours"\npreset = "{}"\nclient_id = "client"\nclient_secret = "secret"\n'


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_a_client_and_its_secret_make_a_provider(operator: Operator, name: str) -> None:
    ran = operator.apply(TABLE.format(name))
    assert (ran.failed, ran.said) == (0, [])
    made = vault.oauth(Provider.objects.get())
    assert made.name == PRESETS[name].name
    assert made.pkce == "S256"
    assert made.authorize_url
    assert made.token_url


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_where_its_facts_come_from(name: str) -> None:
    source = urlsplit(PRESETS[name].source_url)
    assert (source.scheme, bool(source.path)) == ("https", True)


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
