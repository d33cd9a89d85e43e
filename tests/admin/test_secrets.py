"""T112: no page, form, history or export contains a secret, plain or encrypted, and no query can ask for one."""

from __future__ import annotations

import json
import re

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.test import Client
from django.urls import URLPattern, URLResolver

from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.lib import clock
from elicit_flows.models import Agent, IdentityProvider, Provider
from tests.admin.rows import CANARIES, HOOK, OAUTH_SECRET, Rows

LINK = re.compile(r'href="(/admin/[^"#]*|\?[^"#]*)"')
PAGES = (
    "agent", "provider", "identityprovider", "connection", "elicitation", "delivery", "event", "paymentaccount",
    "payment", "refund",
)  # fmt: skip
FIELDS = {"identityprovider": "openid", "paymentaccount": "account"}

MENUS = {
    "token_auth": "client_secret_basic",
    "grant": "authorization_code",
    "pkce": "S256",
    "par": "auto",
    "dpop": "off",
    "registration": "off",
}


def crawl(browser: Client, start: str = "/admin/", most: int = 400, *, queries: bool = True) -> dict[str, str]:
    """Every page that links lead to, by address. ``queries``: also the filters and orders of the lists."""
    seen: dict[str, str] = {}
    queue = [start]
    while queue:
        address = queue.pop(0)
        if address in seen or address.startswith("/admin/logout"):
            continue
        answer = browser.get(address, follow=False)
        assert answer.status_code in {200, 301, 302}, address
        seen[address] = answer.text
        assert len(seen) <= most
        for link in LINK.findall(answer.text.replace("&amp;", "&")):
            if not link.startswith("?"):
                queue.append(link.partition("?_changelist_filters")[0])  # where "back" leads, and no other page
            elif queries and "?" not in address:  # each filter and order by itself: together they are endless
                queue.append(address + link)
    return seen


def exports(browser: Client, rows: Rows) -> str:
    found = ""
    for name in ("elicitation", "delivery", "payment", "refund"):
        pk = getattr(rows, name).pk
        answer = browser.post(f"/admin/elicit_flows/{name}/", {"action": "export_csv", "_selected_action": pk})
        assert answer["Content-Type"].startswith("text/csv")
        found += answer.text
    month = f"{clock.now():%Y-%m}"
    grants = b"".join(browser.post("/admin/grants/", {"month": month})).decode()
    assert rows.connection.pk in grants
    found += grants
    for wanted in ("alice", "drive", "drive-bot"):
        found += browser.post("/admin/search/", {"q": wanted}, follow=True).text
    return found


@pytest.mark.slow
def test_t112_no_page_form_history_or_export_holds_a_secret_or_its_seal(admin: Client, rows: Rows) -> None:
    changed = admin.post(
        f"/admin/elicit_flows/provider/{rows.provider.pk}/change/",
        {"name": "D", "issuer": rows.provider.issuer, "client_id": "x", **MENUS,
         "new_client_secret": "canary-typed-secret"},
    )  # fmt: skip
    assert changed.status_code == 302
    pages = crawl(admin)
    for name in PAGES:
        pk = quote(str(getattr(rows, FIELDS.get(name, name)).pk))
        for view in ("change", "history"):
            address = f"/admin/elicit_flows/{name}/{pk}/{view}/"
            pages[address] = admin.get(address).text
            assert "Elicit Flows" in pages[address]
    pages["exports"] = exports(admin, rows)
    assert len(pages) > 40
    rows.provider.refresh_from_db()
    for secret in (*CANARIES, "canary-typed-secret", *rows.sealed(), "v1.k1."):
        assert secret
        assert [address for address, text in pages.items() if secret in text] == [], secret


def test_t112_whoever_is_not_signed_in_sees_nothing_but_the_login(anybody: Client, rows: Rows) -> None:
    for address in addresses(rows):
        answer = anybody.get(address)
        assert answer.status_code == 302, address
        assert answer["Location"].startswith(("/admin/login/", "/admin/")), address
        assert anybody.post(address, {"action": "revoke"}).status_code in {302, 403, 405}, address


def addresses(rows: Rows) -> list[str]:
    """Every address of the admin but the login itself and the translations for scripts."""
    values = {"object_id": str(rows.agent.pk), "pk": str(rows.agent.pk), "content_type_id": "1", "id": "1",
              "app_label": "elicit_flows", "url": "x", "reference": rows.elicitation.pk, "slug": "drive"}  # fmt: skip

    def below(patterns: list[URLPattern | URLResolver], prefix: str) -> list[str]:
        found: list[str] = []
        for pattern in patterns:
            text = prefix + re.sub(r"\(\?P<app_label>.*?\)", "<app_label>", str(pattern.pattern)).strip("^$")
            if isinstance(pattern, URLResolver):
                found += below(pattern.url_patterns, text)
            elif pattern.name not in {"login", "jsi18n", "logout"}:
                found.append(re.sub(r"<(?:\w+:)?(\w+)>", lambda match: values[match[1]], text))
        return found

    found = below(django_admin.site.get_urls(), "/admin/")
    assert len(found) > 40
    return found


@pytest.mark.parametrize(
    "question",
    [
        "agent/?key_hash__startswith=0",
        "agent/?webhook_secret__startswith=v1",
        "provider/?client_secret__startswith=v1",
        "identityprovider/?client_secret__contains=v1",
        "connection/?access_token__startswith=v1",
        "connection/?agent__key_hash__startswith=0",
        "connection/?provider__client_secret__startswith=v1",
        "elicitation/?attempts__stash__startswith=v1",
        "elicitation/?agent__webhook_secret__startswith=v1",
        "event/?data__contains=x",
        "paymentaccount/?secret_key__startswith=v1",
        "payment/?account__secret_key__startswith=v1",
        "payment/?checkouts__url__startswith=v1",
        "refund/?payment__account__webhook_secrets__startswith=v1",
    ],
)
def test_t112_a_list_cannot_be_asked_about_columns_that_it_does_not_show(
    admin: Client, rows: Rows, question: str
) -> None:
    assert admin.get(f"/admin/elicit_flows/{question}").status_code == 400


@pytest.mark.parametrize(
    "question",
    ["agent/?enabled__exact=1", "connection/?status__exact=active", "elicitation/?agent__id__exact=1",
     "delivery/?created_at__gte=2020-01-01%2000:00:00%2B00:00", "event/?q=x", "connection/?o=1.-2",
     "payment/?status__exact=mismatch", "payment/?q=alice", "paymentaccount/?livemode__exact=0",
     "refund/?by__exact=policy"],
)  # fmt: skip
def test_the_filters_that_a_list_offers_work(admin: Client, rows: Rows, question: str) -> None:
    assert admin.get(f"/admin/elicit_flows/{question}").status_code == 200


def test_the_audit_log_can_be_asked_whose_and_about_what(admin: Client, rows: Rows) -> None:
    admin.post(f"/admin/elicit_flows/agent/{rows.agent.pk}/switch/", {"to": "off"})
    [entry] = LogEntry.objects.all()
    for question in (f"content_type__id__exact={entry.content_type_id}", f"user__id__exact={entry.user_id}"):
        assert "Switched off." in admin.get(f"/admin/admin/logentry/?{question}").text
    assert admin.get("/admin/admin/logentry/?user__password__startswith=m").status_code == 400


def test_an_empty_secret_keeps_what_there_is_and_a_typed_one_replaces_it(admin: Client, rows: Rows) -> None:
    address = f"/admin/elicit_flows/identityprovider/{rows.openid.pk}/change/"
    form = {"issuer": rows.openid.issuer, "client_id": "elicit", "scopes": "openid\nprofile", "enabled": "on"}
    before = rows.openid.client_secret
    assert admin.post(address, form).status_code == 302
    row = IdentityProvider.objects.get()
    assert (row.client_secret, row.scopes) == (before, ["openid", "profile"])
    admin.post(address, {**form, "new_client_secret": "another"})
    assert vault.client_secret(IdentityProvider.objects.get()) == Secret("another")
    admin.post(address, {**form, "forget_client_secret": "on"})
    assert vault.client_secret(IdentityProvider.objects.get()) is None


def test_a_form_with_a_fault_does_not_show_the_typed_secret_again(admin: Client, rows: Rows) -> None:
    answer = admin.post(
        f"/admin/elicit_flows/agent/{rows.agent.pk}/change/",
        {"name": "", "webhook_url": "http://insecure.example.com", "new_webhook_secret": HOOK},
    )
    assert answer.status_code == 200
    assert "The URL must begin with https://" in answer.text
    assert HOOK not in answer.text


@pytest.mark.parametrize("typed", ["env:SECRET_KEY", "file:/etc/hostname", "whsec_short"])
def test_a_typed_webhook_secret_is_the_secret_itself_and_reads_nothing_of_the_server(
    admin: Client, rows: Rows, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", HOOK)
    answer = admin.post(
        f"/admin/elicit_flows/agent/{rows.agent.pk}/change/",
        {"name": "Bot", "all_providers": "on", "webhook_url": rows.agent.webhook_url, "new_webhook_secret": typed},
    )
    assert answer.status_code == 200
    assert "Must be whsec_ and base64 of 24 to 64 bytes" in answer.text
    assert vault.webhook_secrets(Agent.objects.get())[0] == Secret(HOOK)


def test_a_provider_is_held_to_the_rules_of_the_configuration_file(admin: Client, rows: Rows) -> None:
    answer = admin.post(
        "/admin/elicit_flows/provider/add/",
        {"slug": "new", "name": "New", "client_id": "x", **MENUS,
         "authorize_url": "https://10.0.0.1/", "scopes": "two words"},
    )  # fmt: skip
    assert "The address is not on the public internet" in answer.text
    assert "must be one scope" in answer.text
    answer = admin.post(
        "/admin/elicit_flows/provider/add/",
        {"slug": "new", "name": "New", "client_id": "x", **MENUS},
    )
    assert "It is missing, and so is authorize_url or token_url" in answer.text
    assert "It is missing, and token_auth is client_secret_basic" in answer.text
    assert not Provider.objects.filter(slug="new").exists()


def test_a_slug_stays_because_secrets_are_sealed_to_it(admin: Client, rows: Rows) -> None:
    admin.post(
        f"/admin/elicit_flows/provider/{rows.provider.pk}/change/",
        {"slug": "renamed", "name": "Drive", "issuer": rows.provider.issuer, "client_id": "ours",
         **MENUS},
    )  # fmt: skip
    rows.provider.refresh_from_db()
    assert rows.provider.slug == "drive"
    assert vault.client_secret(rows.provider) == Secret(OAUTH_SECRET)


def credentials_form(**more: str) -> dict[str, str]:
    fields = json.dumps([{"name": "key", "label": "API key"}])
    usual = {"slug": "keys", "name": "Keys", "sort": "credentials", "fields": fields, "enabled": "on"}
    return {**usual, **MENUS, **more}


def test_a_credentials_provider_is_made_and_changed_by_the_rules_of_the_configuration_file(
    admin: Client, rows: Rows
) -> None:
    add = "/admin/elicit_flows/provider/add/"
    verify = {"url": "https://api.example.com/me", "headers": {"x-key": "{key}"}}
    for wrong, said in (
        ({"fields": ""}, "It is missing; add the fields to ask for"),
        ({"fields": '[{"name": "Key", "label": "x"}]'}, "Number 1, name: give a name of 1 to 40"),
        ({"client_id": "x"}, "It is for OAuth providers"),
        ({"sort": "oauth"}, "It is for credentials, and this one is an OAuth provider"),
        ({"verify": json.dumps(verify | {"url": "https://10.0.0.1/"})}, "Url is refused: The address is not on the"),
        ({"verify": json.dumps(verify | {"headers": {"x-key": "{token}"}})}, "It names the field token, which is not"),
    ):
        assert said in admin.post(add, credentials_form(**wrong)).text, wrong
    assert not Provider.objects.filter(slug="keys").exists()
    admin.post(add, credentials_form(verify=json.dumps(verify)))
    row = Provider.objects.get(slug="keys")
    assert (row.sort, row.verify) == ("credentials", verify)
    assert vault.credentials_provider(row).fields[0]["secret"] is True
    change = f"/admin/elicit_flows/provider/{row.pk}/change/"
    assert admin.post(change, credentials_form(sort="oauth", verify="")).status_code == 302
    row.refresh_from_db()
    assert (row.sort, row.verify) == ("credentials", None)
