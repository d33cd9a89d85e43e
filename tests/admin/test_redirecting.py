"""T131, T132: no change of a provider sends secrets to another host or changes who a person is."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client

from elicit_flows import vault
from elicit_flows.domain.errors import ReauthorizationRequired
from elicit_flows.domain.values import Secret
from elicit_flows.models import IdentityProvider, Provider
from tests.admin.rows import NO_LIMITS, OAUTH_SECRET, OPENID_SECRET, PAY_KEY, Rows
from tests.admin.test_secrets import MENUS
from tests.doubles.policy import loopback_allowed

EVIL = "https://evil.example.com"


def noted() -> str:
    found: LogEntry | None = LogEntry.objects.order_by("-pk").first()
    return found.get_change_message() if found else ""


def change(admin: Client, page: str, pk: int, **said: Any) -> str:
    """What is wrong with it; "" where it was saved."""
    answer = admin.post(f"/admin/elicit_flows/{page}/{pk}/change/", said)
    return "" if answer.status_code == 302 else str(answer.context["adminform"].form.errors.as_json())


def provider(admin: Client, row: Provider, **said: Any) -> str:
    kept = {"name": row.name, "issuer": row.issuer, "client_id": row.client_id, **MENUS}
    return change(admin, "provider", row.pk, **kept | said)


@pytest.mark.parametrize("field", ["issuer", "token_url", "revocation_url", "userinfo_url", "device_authorization_url"])
def test_t131_an_address_at_another_host_needs_the_client_secret_again(admin: Client, rows: Rows, field: str) -> None:
    before = Provider.objects.values().get()
    faults = provider(admin, rows.provider, **{field: f"{EVIL}/x"})
    assert "Type it again: it would go to another host now" in faults
    assert EVIL in faults
    assert Provider.objects.values().get() == before
    assert LogEntry.objects.count() == 0
    assert provider(admin, rows.provider, **{field: f"{EVIL}/x"}, new_client_secret="of evil") == ""
    assert vault.client_secret(Provider.objects.get()) == Secret("of evil")
    assert OAUTH_SECRET not in noted()
    assert "of evil" not in noted()
    assert f'to "{EVIL}/x"' in noted()
    assert noted().endswith("Client secret.")


def test_t131_without_a_secret_an_address_may_change_and_the_connections_do_not_follow(
    admin: Client, rows: Rows
) -> None:
    rows.connection.expires_at = rows.connection.issued_at
    rows.connection.save()
    asked = {"token_url": f"{EVIL}/token", "token_auth": "none", "forget_client_secret": "on", "enabled": "on"}
    assert provider(admin, rows.provider, **asked) == ""
    with pytest.raises(ReauthorizationRequired):
        vault.token(rows.agent, rows.connection.pk)


def test_another_path_at_the_same_host_needs_nothing_again(admin: Client, rows: Rows) -> None:
    assert provider(admin, rows.provider, token_url=f"{rows.provider.issuer}/v2/token") == ""
    assert vault.oauth(Provider.objects.get()).client_secret == Secret(OAUTH_SECRET)


def test_t131_what_a_preset_said_is_compared_too(admin: Client, db: None) -> None:
    row = Provider(slug="github", name="GitHub", preset="github", client_id="x", given=[])
    vault.seal_client_secret(row, Secret(OAUTH_SECRET))
    row.save()
    kept = {name: value for name, value in row.settings().items() if isinstance(value, str)}
    kept |= {"scopes": "\n".join(row.settings()["scopes"])}
    assert "Type it again" in provider(admin, row, **kept | {"token_url": f"{EVIL}/token"})
    assert provider(admin, row, **kept | {"name": "Our GitHub"}) == ""
    assert "token_url" not in Provider.objects.get(slug="github").given


def test_t131_a_payment_account_at_another_host_needs_its_key_again(admin: Client, rows: Rows) -> None:
    with loopback_allowed():
        faults = change(admin, "paymentaccount", rows.account.pk, provider="stripe", api_base="http://127.0.0.1:9")
        assert "Type it again" in faults
        said = {"provider": "stripe", "api_base": "http://127.0.0.1:9", "new_secret_key": PAY_KEY}
        assert change(admin, "paymentaccount", rows.account.pk, **said) == ""
    assert PAY_KEY not in noted()


def identity(admin: Client, row: IdentityProvider, **said: Any) -> str:
    return change(admin, "identityprovider", row.pk, **{"client_id": "elicit", "scopes": "openid", **said})


def test_t132_an_identity_provider_keeps_its_issuer(admin: Client, rows: Rows) -> None:
    assert identity(admin, rows.openid, issuer=EVIL, client_id="another") == ""
    row = IdentityProvider.objects.get()
    assert (row.issuer, row.client_id) == ("https://idp.example.com", "another")
    assert vault.openid(row).client_secret == Secret(OPENID_SECRET)
    assert 'from "elicit" to "another"' in noted()
    assert EVIL not in noted()


def test_t132_no_other_identity_provider_speaks_for_the_same_people(admin: Client, rows: Rows) -> None:
    """An outsider configures a site with their own keys and with the issuer of another site."""
    answer = admin.post(
        "/admin/elicit_flows/identityprovider/add/",
        {"slug": "evil", "sort": "site", "issuer": rows.openid.issuer, "scopes": "openid", "enabled": "on",
         "sign_in_url": f"{rows.openid.issuer}/vouch", "jwks_url": f"{EVIL}/keys"},
    )  # fmt: skip
    assert "already exists" in answer.context["adminform"].form.errors.as_json()
    assert IdentityProvider.objects.count() == 1


def test_t113_the_log_has_the_old_values_and_the_new(admin: Client, rows: Rows) -> None:
    kept = {"name": "Drive Two", "enabled": "on", "identity_providers": [rows.openid.pk], **NO_LIMITS}
    kept |= {"spend_limits-TOTAL_FORMS": "1", "spend_limits-0-currency": "eur", "spend_limits-0-per_day": "500"}
    assert (
        change(admin, "agent", rows.agent.pk, **kept, all_providers="on", return_urls="https://x.example.com/a") == ""
    )
    assert noted() == (
        'Changed Name from "Drive-Bot" to "Drive Two"; Return URLs from nothing to ["https://x.example.com/a"]; '
        'Webhook URL from "https://drive-bot.example.com/hooks" to nothing; '
        'spend limit drive-bot, eur: Currency from nothing to "eur"; '
        "spend limit drive-bot, eur: Per day from nothing to 500."
    )
    assert noted().replace('"', "&quot;") in admin.get(f"/admin/elicit_flows/agent/{rows.agent.pk}/history/").text


def test_t113_what_a_superuser_makes_of_an_operator_is_in_the_log(admin: Client, db: None) -> None:
    ole = User.objects.create_user("ole", is_staff=True)
    ole.groups.set([Group.objects.get(name="viewer")])
    said = {"username": "ole", "is_active": "on", "is_staff": "on", "groups": [Group.objects.get(name="operator").pk]}
    said |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    assert admin.post(f"/admin/auth/user/{ole.pk}/change/", said).status_code == 302
    assert 'Groups from ["viewer"] to ["operator"]' in noted()


def test_t113_what_was_added_is_in_the_log(admin: Client, rows: Rows) -> None:
    admin.post(
        "/admin/elicit_flows/provider/add/",
        {"slug": "two", "sort": "oauth", "name": "Two", "issuer": EVIL, "client_id": "x", "enabled": "on", **MENUS,
         "new_client_secret": "canary-of-two"},
    )  # fmt: skip
    assert noted().startswith('Added. Slug "two"')
    assert f'Issuer "{EVIL}"' in noted()
    assert noted().endswith("Client secret.")
    assert "canary" not in noted()
