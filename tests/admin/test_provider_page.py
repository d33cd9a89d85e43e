"""The pages of a provider: a new one by its preset, and an existing one with its callback, its test and its fields."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client

from elicit_flows import catalogue, vault
from elicit_flows.models import Provider
from tests.admin.rows import OAUTH_SECRET, Rows
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider as OAuthProvider
from tests.doubles.server import Response

ADD = "/admin/providers/add/"
GITHUB = {"preset": "github", "slug": "code", "client_id": "ours", "new_client_secret": "s3cret", "scopes": "repo"}


def fields(admin: Client, address: str) -> list[str]:
    """What the page asks for."""
    return [field.name for field in admin.get(address).context["fields"]]


def test_a_preset_leaves_open_only_the_client_and_what_it_asks_for(admin: Client, rows: Rows) -> None:
    begun = f"{ADD}?preset=github&slug=code"
    shown, registration = admin.get(begun).text, catalogue.entries()["github"].registration
    assert f'value="{settings.ELICIT_PUBLIC_URL}/callback/code"' in shown
    assert registration
    assert f'href="{registration.page}"' in shown
    assert registration.field in shown
    assert fields(admin, begun) == ["client_id", "new_client_secret", "scopes"]
    answer = admin.post(ADD, GITHUB)
    assert (answer.status_code, answer["Location"]) == (302, "/admin/provider/code/")
    made, entry = Provider.objects.get(slug="code"), catalogue.entries()["github"]
    assert (made.name, made.preset, made.client_id, made.given, made.enabled) == (
        entry.name, "github", "ours", ["scopes"], True,
    )  # fmt: skip
    secret = vault.client_secret(made)
    assert secret is not None
    assert secret.reveal() == "s3cret"
    assert made.settings()["token_url"] == entry.endpoints.token
    [logged] = LogEntry.objects.all()
    assert logged.object_id == str(made.pk)
    assert "s3cret" not in logged.change_message


def test_the_list_offers_it_and_all_the_settings_stay_one_link_away(admin: Client, rows: Rows) -> None:
    at = "/admin/elicit_flows/provider/"
    assert admin.get(f"{at}add/")["Location"] == ADD
    assert admin.get(f"{at}add/?all=yes").status_code == 200
    assert f'href="/admin/provider/{rows.provider.slug}/"' in admin.get(at).text
    assert f'href="{at}{rows.provider.pk}/change/"' in admin.get(f"/admin/provider/{rows.provider.slug}/").text
    choose = admin.get(ADD)
    assert f"{at}add/?all=yes" in choose.text
    assert len(choose.context["entries"]) == len(catalogue.entries())


@pytest.mark.parametrize(("slug", "said"), [("Not One", "Must be 1 to 64 letters"), ("drive", "already")])
def test_a_slug_that_cannot_be_is_said_before_anything_is_typed(
    admin: Client, rows: Rows, slug: str, said: str
) -> None:
    Provider.objects.filter(pk=rows.provider.pk).update(slug="drive")
    answer = admin.get(ADD, {"preset": "github", "slug": slug})
    assert (answer.status_code, said in answer.context["problem"]) == (400, True), answer.context["problem"]
    assert admin.post(ADD, GITHUB | {"slug": slug}).status_code == 400
    assert Provider.objects.count() == 1


def test_a_variable_is_typed_by_its_label_or_left_to_each_person(admin: Client, rows: Rows) -> None:
    begun = admin.get(ADD, {"preset": "shopify"})
    [variable] = begun.context["variables"]
    assert (variable.input_name, variable.may_ask) == ("variable-shop", True)
    shop = {"preset": "shopify", "slug": "ours", "client_id": "x", "new_client_secret": "y"}
    assert admin.post(ADD, shop | {"variable-shop": "our-shop"}).status_code == 302
    assert Provider.objects.get(slug="ours").variables == {"shop": "our-shop"}
    assert admin.post(ADD, shop | {"slug": "theirs", "variable-shop": ""}).status_code == 302
    assert Provider.objects.get(slug="theirs").variables == {}
    wrong = admin.post(ADD, shop | {"slug": "other", "variable-shop": "no/shop"})
    assert wrong.status_code == 400
    assert 'value="no/shop"' in wrong.text
    assert any("shop" in fault for fault in wrong.context["faults"])


def test_a_preset_whose_people_type_leaves_nothing_open(admin: Client, rows: Rows) -> None:
    assert fields(admin, f"{ADD}?preset=openai") == []
    assert admin.post(ADD, {"preset": "openai", "slug": "openai"}).status_code == 302
    assert Provider.objects.get(slug="openai").sort == "credentials"


def test_what_the_page_does_not_show_stays_as_it_is(admin: Client, rows: Rows) -> None:
    admin.post(ADD, GITHUB)
    made = Provider.objects.get(slug="code")
    made.metadata, made.given = [{"name": "team", "from": "token", "path": ["team"]}], ["scopes", "metadata"]
    made.save()
    before = dict(Provider.objects.filter(pk=made.pk).values().get())
    answer = admin.post("/admin/provider/code/", {"client_id": "other", "new_client_secret": "", "scopes": "repo"})
    assert answer.status_code == 302, answer.context["faults"]
    after = dict(Provider.objects.filter(pk=made.pk).values().get())
    assert {name for name in before if before[name] != after[name]} == {"client_id"}
    change = LogEntry.objects.order_by("-pk")[0].change_message
    assert "other" in change


def test_what_is_wrong_is_said_beside_it_and_nothing_is_saved(admin: Client, rows: Rows) -> None:
    for wrong in ({"client_id": ""}, {"scopes": "two words"}):
        answer = admin.post(ADD, GITHUB | wrong)
        assert answer.status_code == 400
        [field] = [field for field in answer.context["fields"] if field.errors]
        assert {field.name} == wrong.keys()
        assert f'id="id_{field.name}_error"' in answer.text
        assert "s3cret" not in answer.text
    assert not Provider.objects.filter(slug="code").exists()


def test_only_those_who_may_configure_providers_see_the_form(rows: Rows) -> None:
    viewer = User.objects.create_user("vera", is_staff=True)
    viewer.groups.add(Group.objects.get(name="viewer"))
    browser = Client()
    browser.force_login(viewer)
    at = f"/admin/provider/{rows.provider.slug}/"
    shown = browser.get(at)
    assert shown.status_code == 200
    assert 'data-action="save"' not in shown.text
    assert OAUTH_SECRET not in shown.text
    for address in (at, f"{at}test/", ADD):
        assert browser.post(address, GITHUB).status_code == 403, address
    assert browser.get(ADD).status_code == 403
    assert browser.get("/admin/provider/nowhere/").status_code == 404


def test_the_test_asks_where_the_row_leads(admin: Client, rows: Rows) -> None:
    with loopback_allowed(), OAuthProvider() as provider:
        names = {"authorize_url": "authorize", "token_url": "token", "revocation_url": "revoke", "issuer": ""}
        values = {name: f"{provider.url}/{path}" if path else "" for name, path in names.items()}
        Provider.objects.filter(pk=rows.provider.pk).update(preset="", given=None, userinfo_url="", **values)
        at = f"/admin/provider/{rows.provider.slug}/test/"
        answer = admin.post(at)
        assert [(one.what, one.fine) for one in answer.context["results"]] == [
            ("authorize", True), ("token", True), ("revoke", True),
        ]  # fmt: skip
        provider.scripted["token"] = Response(404, b"gone")
        found = {one.what: one.fine for one in admin.post(at).context["results"]}
        assert found == {"authorize": True, "token": False, "revoke": True}
    assert OAUTH_SECRET not in answer.text
    assert admin.get(at)["Location"] == f"/admin/provider/{rows.provider.slug}/"


def test_requests_that_the_preset_got_later_are_named_until_the_secret_is_typed_again(
    admin: Client, rows: Rows
) -> None:
    admin.post(ADD, GITHUB)
    made = Provider.objects.get(slug="code")
    assert not admin.get("/admin/provider/code/").context["left_out"]
    made.bound_to = {name: host for name, host in made.bound_to.items() if name != "revoke_call"}
    made.save()
    shown = admin.get("/admin/provider/code/")
    assert shown.context["left_out"] == "revoke_call at https://api.github.com"
    assert vault.oauth(made).quirks.revoke_call is None
    admin.post("/admin/provider/code/", {"client_id": "ours", "new_client_secret": "s3cret", "scopes": "repo"})
    assert not admin.get("/admin/provider/code/").context["left_out"]
