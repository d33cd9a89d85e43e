"""A provider with a preset in the admin: it shows the preset's current values, and keeps those that an operator
changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from elicit_flows import catalogue, vault
from elicit_flows.kinds.credentials.config import TokenRequest
from elicit_flows.models import Provider
from tests.admin.rows import Rows
from tests.doubles import github

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


OWN_CLIENT = {
    "slug": "meters", "sort": "credentials", "name": "Meters", "enabled": "on", "pkce": "S256", "par": "auto",
    "dpop": "off", "grant": "authorization_code", "registration": "off", "token_auth": "client_secret_post",
    "scopes": "meters.read", "token_url": "https://id.example.com/token", "fields": "[]", "verify": "null",
}  # fmt: skip


def test_a_client_that_people_type_is_made_without_saying_its_fields(admin: Client, rows: Rows) -> None:
    answer = admin.post("/admin/elicit_flows/provider/add/", OWN_CLIENT)
    assert answer.status_code == 302, answer.context["errors"]
    made = vault.credentials_provider(Provider.objects.get(slug="meters"))
    assert made.token == TokenRequest("https://id.example.com/token", "client_secret_post", ("meters.read",))
    assert [field["name"] for field in made.fields] == ["client_id", "client_secret"]


def test_a_preset_of_such_a_provider_is_enough(admin: Client, rows: Rows) -> None:
    alone = {
        "preset": "microsoft-app",
        "variables": '{"tenant": "ours.example"}',
        "name": "",
        "scopes": "",
        "fields": "",
    }
    answer = admin.post("/admin/elicit_flows/provider/add/", {**OWN_CLIENT, **alone, "token_url": "", "verify": ""})
    assert answer.status_code == 302, answer.context["errors"]
    made = vault.credentials_provider(Provider.objects.get(slug="meters"))
    assert made.token
    assert made.token.url == "https://login.microsoftonline.com/ours.example/oauth2/v2.0/token"
    assert made.token.scopes == ("https://graph.microsoft.com/.default",)


def test_what_such_a_provider_cannot_be_is_said_beside_it(admin: Client, rows: Rows) -> None:
    check = '{"url": "https://api.example.com/", "headers": {"x": "{client_secret}"}}'
    wrong = {"verify": check, "token_auth": "none", "fields": '[{"name": "key", "label": "Key"}]'}
    answer = admin.post("/admin/elicit_flows/provider/add/", {**OWN_CLIENT, **wrong})
    assert answer.status_code == 200
    assert {"fields", "verify", "token_auth"} <= answer.context["adminform"].form.errors.keys()
    assert not Provider.objects.filter(slug="meters").exists()


NEW = {
    "slug": "code", "preset": "github", "variables": "", "sort": "oauth", "name": "", "client_id": "ours",
    "new_client_secret": "s3cret", "token_auth": "client_secret_basic",
    "grant": "authorization_code", "pkce": "S256", "par": "auto", "dpop": "off",
    "registration": "off", "fields": "", "verify": "", "scopes": "repo", "enabled": "on",
}  # fmt: skip


def test_a_new_provider_is_as_its_preset_says_but_for_what_the_operator_says(admin: Client, rows: Rows) -> None:
    answer = admin.post("/admin/elicit_flows/provider/add/", NEW)
    assert answer.status_code == 302, answer.context["errors"]
    made = Provider.objects.get(slug="code")
    entry = catalogue.find("github")
    assert entry
    assert (made.preset, made.name, made.given) == ("github", entry.name, ["scopes"])
    said = made.settings()
    assert (said["token_url"], said["token_auth"]) == (entry.endpoints.token, entry.token_auth)
    assert said["scopes"] == ["repo"]


def test_a_new_provider_has_the_sort_of_its_preset(admin: Client, rows: Rows) -> None:
    nothing = {"client_id": "", "new_client_secret": "", "scopes": ""}
    answer = admin.post("/admin/elicit_flows/provider/add/", NEW | nothing | {"preset": "github-token"})
    assert answer.status_code == 302, answer.context["errors"]
    made = Provider.objects.get(slug="code")
    assert (made.sort, made.given) == ("credentials", [])
    assert made.settings()["fields"]


def test_what_a_preset_still_needs_is_said_beside_it(admin: Client, rows: Rows) -> None:
    def faults(**said: str) -> dict[str, list[str]]:
        answer = admin.post("/admin/elicit_flows/provider/add/", NEW | said)
        assert answer.status_code == 200
        return dict(answer.context["adminform"].form.errors)

    assert list(faults(preset="okta")) == ["variables"]
    assert list(faults(variables='{"shop": "x"}')) == ["variables"]
    assert list(faults(preset="", issuer="https://idp.example")) == ["name"]
    assert list(faults(preset="nothing")) == ["preset"]
    assert not Provider.objects.filter(slug="code").exists()


def test_t112_an_apps_private_key_is_noted_by_its_name_alone_and_not_shown_again(admin: Client, rows: Rows) -> None:
    page, key = f"/admin/elicit_flows/provider/{rows.provider.pk}/change/", github.pem()
    Provider.objects.filter(pk=rows.provider.pk).update(preset="github-app", given=["scopes"], issuer="")
    fields = admin.get(page).context["adminform"].form
    form = {name: fields[name].value() for name in fields.fields if fields[name].value() is not None}
    form |= {"new_client_secret": "s3cret", "new_app_key": key}
    within = key.splitlines()[1]
    assert within not in admin.post(page, {**form, "issuer": "no address"}).text
    answer = admin.post(page, form)
    assert answer.status_code == 302, answer.context["errors"]
    assert vault.app_key(Provider.objects.get(pk=rows.provider.pk)) is not None
    noted = LogEntry.objects.latest("pk").get_change_message()
    assert within not in noted
    assert "App's private key" in noted
