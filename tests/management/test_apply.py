"""``manage.py apply``: what it makes of a good file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.admin.models import LogEntry
from django.core import serializers
from pytest_django import Settings

from elicit_flows import vault
from elicit_flows.api.auth import authenticate
from elicit_flows.domain.values import Secret
from elicit_flows.lib import clock
from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider
from tests.doubles.policy import loopback_allowed
from tests.management.files import API_KEY, CLIENT_SECRET, HOOK, SMALL, WHOLE, Operator

OTHER_HOOK = "whsec_" + "B" * 43 + "="


def stored() -> str:
    """Everything that apply may write, sealed texts included."""
    configured = [*IdentityProvider.objects.all(), *Provider.objects.all(), *PaymentAccount.objects.all()]
    rows = [*configured, *Agent.objects.all()]
    text: str = serializers.serialize("json", rows, indent=1)
    return text


def test_the_contracts_file_is_applied_whole(operator: Operator) -> None:
    ran = operator.apply(WHOLE)
    assert (ran.failed, ran.said) == (0, [])
    assert ran.lines == [
        "identity provider corp: made",
        "provider github: made",
        "provider drive: made",
        "payment account main: made",
        "agent drive-bot: made",
    ]
    corp, agent = IdentityProvider.objects.get(slug="corp"), Agent.objects.get(slug="drive-bot")
    assert (corp.issuer, corp.client_id, corp.scopes, corp.max_age) == (
        "https://idp.example.com", "elicit", ["openid", "profile"], 3600,
    )  # fmt: skip
    drive = vault.oauth(Provider.objects.get(slug="drive"))
    assert (drive.name, drive.token_auth, drive.client_secret) == ("drive", "none", None)
    assert drive.revocation_url == "https://drive.example.com/revoke"
    assert agent.name == "Drive Bot"
    held = sorted(agent.spend_limits.values_list("currency", "per_payment", "per_day"))
    assert held == [("eur", 2000, 5000), ("jpy", None, 9000)]
    assert [row.slug for row in agent.identity_providers.all()] == ["corp"]
    assert {row.slug for row in agent.providers.all()} == {"github", "drive"}
    assert not agent.all_providers
    assert [row.slug for row in agent.payment_accounts.all()] == ["main"]
    assert agent.return_urls == ["https://drive-bot.example.com/done"]
    assert agent.webhook_url == "https://drive-bot.example.com/hooks"


def test_secrets_open_with_the_vault_and_stand_nowhere_in_the_clear(operator: Operator) -> None:
    operator.apply(WHOLE)
    github, agent = Provider.objects.get(slug="github"), Agent.objects.get()
    assert vault.client_secret(github) == Secret(CLIENT_SECRET)
    assert vault.client_secret(IdentityProvider.objects.get()) == Secret("the-secret-of-our-client-at-corp")
    assert vault.webhook_secrets(agent) == [Secret(HOOK)]
    assert authenticate(f"Bearer {API_KEY}", "127.0.0.1") == agent
    for secret in (CLIENT_SECRET, "the-secret-of-our-client-at-corp", HOOK, API_KEY):
        assert secret not in stored()


def test_the_hint_of_a_key_gives_little_of_it_away(operator: Operator) -> None:
    operator.apply(WHOLE)
    assert Agent.objects.get().key_hint == API_KEY[:6]


def test_a_second_run_changes_nothing_and_says_so(operator: Operator) -> None:
    operator.apply(WHOLE)
    before = stored()
    ran = operator.apply(WHOLE)
    assert stored() == before
    assert ran.lines == [
        "identity provider corp: as it was",
        "provider github: as it was",
        "provider drive: as it was",
        "payment account main: as it was",
        "agent drive-bot: as it was",
    ]


def test_what_differs_is_changed_and_named(operator: Operator) -> None:
    operator.apply(WHOLE)
    changed = (
        WHOLE.replace('["read:user"]', '["repo"]')
        .replace(CLIENT_SECRET, "another-secret-of-ours")
        .replace("drive.example.com/token", "drive.example.com/oauth/token")
        .replace('providers = ["github", "drive"]', 'providers = ["drive"]')
        .replace(API_KEY, "another-key-of-drive-bot-0123456789")
        .replace("max_age = 3600", "")
    )
    assert operator.apply(changed).lines == [
        "identity provider corp: changed max_age",
        "provider github: changed scopes, client_secret",
        "provider drive: changed token_url",
        "payment account main: as it was",
        "agent drive-bot: changed api_key, providers",
    ]
    assert IdentityProvider.objects.get().max_age is None
    assert vault.client_secret(Provider.objects.get(slug="github")) == Secret("another-secret-of-ours")
    assert Agent.objects.get().key_hint == "anothe"
    assert [row.slug for row in Agent.objects.get().providers.all()] == ["drive"]


def test_rows_that_the_file_leaves_out_are_left_alone(operator: Operator) -> None:
    operator.apply(WHOLE)
    before = Agent.objects.values().get()
    operator.apply(SMALL)
    assert Agent.objects.values().get(slug="drive-bot") == before
    assert Provider.objects.filter(slug="github").exists()


def test_what_the_admin_switched_off_stays_off(operator: Operator) -> None:
    operator.apply(SMALL)
    Agent.objects.update(enabled=False)
    assert "agent bot: as it was" in operator.apply(SMALL).lines
    assert not Agent.objects.get().enabled


def test_an_agent_without_a_key_gets_one_that_is_shown_once_and_works(operator: Operator) -> None:
    ran = operator.apply(SMALL)
    [line] = [line for line in ran.lines if "api_key" in line]
    assert line.startswith("agent bot: api_key, shown only this once: ")
    key = line.rpartition(" ")[2]
    assert len(key) >= 32
    assert authenticate(f"Bearer {key}", "127.0.0.1") == Agent.objects.get()
    assert key not in "\n".join(operator.apply(SMALL).lines)
    assert authenticate(f"Bearer {key}", "127.0.0.1") == Agent.objects.get()


def test_a_webhook_url_brings_a_secret_that_is_shown_once(operator: Operator) -> None:
    operator.apply(SMALL)
    with_hook = SMALL + 'webhook_url = "https://bot.example.com/hooks"\n'
    ran = operator.apply(with_hook)
    assert "agent bot: changed webhook_url, webhook_secret" in ran.lines
    secret = ran.lines[-1].removeprefix("agent bot: webhook_secret, shown only this once: ")
    assert vault.webhook_secrets(Agent.objects.get()) == [Secret(secret)]
    assert operator.apply(with_hook).lines[-1] == "agent bot: as it was"
    assert vault.webhook_secrets(Agent.objects.get()) == [Secret(secret)]


def test_a_changed_webhook_secret_keeps_the_old_one_signing_for_a_day(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.apply(WHOLE)
    assert operator.apply(WHOLE.replace(HOOK, OTHER_HOOK)).lines[-1] == "agent drive-bot: changed webhook_secret"
    agent, now = Agent.objects.get(), datetime.now(UTC)
    assert vault.webhook_secrets(agent) == [Secret(OTHER_HOOK), Secret(HOOK)]
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=23, minutes=59))
    assert vault.webhook_secrets(agent) == [Secret(OTHER_HOOK), Secret(HOOK)]
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=24, minutes=1))
    assert vault.webhook_secrets(agent) == [Secret(OTHER_HOOK)]


def test_another_webhook_url_forgets_that_the_one_before_was_gone(operator: Operator) -> None:
    operator.apply(WHOLE)
    Agent.objects.update(webhook_disabled_at=clock.now(), webhook_failures=3)
    operator.apply(WHOLE)
    assert Agent.objects.get().webhook_disabled_at is not None
    operator.apply(WHOLE.replace("example.com/hooks", "example.com/new-hooks"))
    agent = Agent.objects.get()
    assert (agent.webhook_disabled_at, agent.webhook_failures) == (None, 0)


def test_without_providers_an_agent_may_use_all_and_with_an_empty_list_none(operator: Operator) -> None:
    operator.apply(SMALL)
    assert Agent.objects.get().all_providers
    assert "agent bot: changed providers" in operator.apply(SMALL + "providers = []\n").lines
    assert not Agent.objects.get().all_providers
    assert "agent bot: changed providers" in operator.apply(SMALL).lines
    assert Agent.objects.get().all_providers


def test_a_client_secret_that_is_left_out_is_forgotten(operator: Operator) -> None:
    operator.apply(WHOLE)
    ran = operator.apply(WHOLE.replace('client_secret = "env:CORP_SECRET"\n', ""))
    assert ran.lines[0] == "identity provider corp: changed client_secret"
    assert vault.openid(IdentityProvider.objects.get()).client_secret is None


def test_secrets_come_from_files_without_the_line_end(operator: Operator, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("kept-in-a-file\n")
    operator.apply(SMALL.replace("of-our-client", f"file:{tmp_path}/secret"))
    assert vault.client_secret(Provider.objects.get()) == Secret("kept-in-a-file")


def test_a_byte_order_mark_is_part_of_no_file_and_no_secret(operator: Operator, tmp_path: Path) -> None:
    """Editors on Windows may put one first; nobody sees it."""
    (tmp_path / "secret").write_text("of our client", encoding="utf-8-sig")
    ran = operator.apply(SMALL.replace("of-our-client", f"file:{tmp_path}/secret").encode("utf-8-sig"))
    assert (ran.failed, ran.said[1:]) == (0, [])
    assert vault.client_secret(Provider.objects.get()) == Secret("of our client")


def test_a_preset_fills_in_what_the_file_leaves_out_and_yields_to_what_it_says(operator: Operator) -> None:
    operator.apply(WHOLE)
    github = vault.oauth(Provider.objects.get(slug="github"))
    assert github.authorize_url == "https://github.com/login/oauth/authorize"
    assert github.token_url == "https://github.com/login/oauth/access_token"
    assert (github.name, github.token_auth, github.scopes) == ("Our GitHub", "client_secret_post", ("read:user",))


def test_references_may_point_at_rows_made_before(operator: Operator) -> None:
    operator.apply(SMALL)
    ran = operator.apply('[[agent]]\nslug = "late"\nidentity_providers = ["corp"]\nproviders = ["drive"]\n')
    assert ran.lines[0] == "agent late: made"
    assert [row.slug for row in Agent.objects.get(slug="late").providers.all()] == ["drive"]


def test_t19_pkce_off_is_applied_with_a_warning_every_time(operator: Operator) -> None:
    without = SMALL.replace('client_secret = "of', 'pkce = "off"\nclient_secret = "of')
    for _ in range(2):
        assert operator.apply(without).said == ["provider drive: pkce is off, so a stolen code can be redeemed"]
    assert Provider.objects.get().pkce == "off"


def test_t120_codes_that_anybody_can_type_are_applied_with_a_warning_every_time(operator: Operator) -> None:
    typed = SMALL.replace('client_secret = "of', 'grant = "device_code"\nclient_secret = "of')
    for _ in range(2):
        said = operator.apply(typed).said
        assert said == ["provider drive: grant is device_code, so nobody can know who types the code at the provider"]
    assert Provider.objects.get().grant == "device_code"


def test_an_agent_that_may_ask_nobody_is_told_of(operator: Operator) -> None:
    assert operator.apply('[[agent]]\nslug = "mute"\n').said == [
        "agent mute: may ask nobody until it has identity_providers"
    ]


def test_addresses_of_this_machine_are_for_development_alone(operator: Operator) -> None:
    near = SMALL.replace("https://drive.example.com", "http://127.0.0.1:8001") + (
        'return_urls = ["http://127.0.0.1:8001/back"]\nwebhook_url = "http://localhost:9000/hooks"\n'
    )
    refused = [fault.split(": ")[:2] for fault in operator.faults(near)]
    assert refused == [["8", "issuer"], ["15", "return_urls"], ["16", "webhook_url"]]
    with loopback_allowed():
        assert operator.apply(near).failed == 0


def test_t113_what_a_file_changes_is_in_the_audit_log_without_its_secrets(operator: Operator) -> None:
    operator.apply(WHOLE)
    made = LogEntry.objects.count()
    assert made == 5
    operator.apply(WHOLE)
    assert LogEntry.objects.count() == made, "nothing changed"
    operator.apply(WHOLE.replace('name = "Drive Bot"', 'name = "Drive Two"').replace(HOOK, OTHER_HOOK))
    entry = LogEntry.objects.latest("pk")
    assert entry.get_change_message() == (
        'By manage.py apply. Changed name from "Drive Bot" to "Drive Two"; webhook_secret.'
    )
    assert (entry.user.username, entry.user.is_active, entry.user.has_usable_password()) == ("manage.py", False, False)
    said = " ".join(one.get_change_message() for one in LogEntry.objects.all())
    for secret in (CLIENT_SECRET, API_KEY, HOOK, OTHER_HOOK):
        assert secret not in said


def test_t131_a_file_that_moves_a_provider_says_so_and_nothing_stored_follows(operator: Operator) -> None:
    operator.apply(WHOLE)
    moved = operator.apply(WHOLE.replace("https://drive.example.com/token", "https://evil.example.com/token"))
    assert moved.lines[3] == (
        "provider drive: other hosts now (token at https://evil.example.com); "
        "what people connected before has to be connected again"
    )
    assert 'from "https://drive.example.com/token"' in LogEntry.objects.latest("pk").get_change_message()


def test_t132_an_identity_provider_keeps_its_issuer(operator: Operator) -> None:
    operator.apply(WHOLE)
    before = stored()
    ran = operator.apply(WHOLE.replace('issuer = "https://idp.example.com"', 'issuer = "https://evil.example.com"'))
    assert ran.failed
    assert "4: issuer: is https://idp.example.com for this slug and cannot change" in ran.said[0]
    assert "make a new identity provider with another slug" in ran.said[0]
    assert stored() == before


def test_a_sandbox_on_this_machine_may_change_its_port(operator: Operator, settings: Settings) -> None:
    text = '[[identity_provider]]\nslug = "here"\nissuer = "http://127.0.0.1:8001"\nclient_id = "x"\n'
    settings.ELICIT_ALLOW_LOOPBACK = True
    with loopback_allowed():
        operator.apply(text)
        assert operator.apply(text.replace("8001", "9001")).lines == ["identity provider here: changed issuer, hosts"]
        settings.ELICIT_ALLOW_LOOPBACK = False
        assert "cannot change" in operator.apply(text).said[0]
