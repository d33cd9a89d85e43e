"""`manage.py apply --dry-run`, and what needs `--yes`."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.core import serializers

from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider, SpendLimit, VaultKey
from tests.management.files import CLIENT_SECRET, SMALL, STRIPE_KEY, WHOLE, Operator

MODELS = (IdentityProvider, Provider, PaymentAccount, Agent, SpendLimit, VaultKey, LogEntry)
DRY = "Nothing was changed: this was a dry run."


def everything() -> str:
    rows = [row for model in MODELS for row in model.objects.order_by("pk")]
    links = [list(agent.providers.values_list("slug", flat=True)) for agent in Agent.objects.all()]
    return f"{serializers.serialize('json', rows)} {links}"


def test_of_an_empty_service_all_would_be_made_and_nothing_is(operator: Operator) -> None:
    before = everything()
    ran = operator.apply(WHOLE, "--dry-run")
    assert (ran.failed, ran.said) == (0, [DRY])
    assert everything() == before
    assert [line for line in ran.lines if not line.startswith(" ")] == [
        "identity provider corp: would be made",
        "provider github: would be made",
        "provider drive: would be made",
        "payment account main: would be made",
        "agent drive-bot: would be made",
    ]
    assert '  issuer: "https://idp.example.com"' in ran.lines
    assert "  secret_key: set" in ran.lines


def test_of_a_service_that_is_so_already_nothing_would_change(operator: Operator) -> None:
    operator.apply(WHOLE)
    ran = operator.apply(WHOLE, "--dry-run")
    assert [line.partition(": ")[2] for line in ran.lines] == ["as it is"] * 5


def test_each_field_that_would_change_is_shown_and_secrets_are_not(operator: Operator) -> None:
    operator.apply(WHOLE)
    before = everything()
    changed = (
        WHOLE.replace("max_age = 3600", "max_age = 60")
        .replace(CLIENT_SECRET, "another-canary")
        .replace('"env:STRIPE_KEY"', '"sk_test_another-canary"')
        .replace('userinfo_url = "https://drive.example.com/me"\n', "")
        .replace('providers = ["github", "drive"]', "")
        .replace("per_payment = 2000", "per_payment = 1")
    )
    ran = operator.apply(changed, "--dry-run")
    assert ran.lines == [
        "identity provider corp: would change",
        "  max_age: 3600 -> 60",
        "provider github: would change",
        "  client_secret: changed",
        "provider drive: would change",
        '  userinfo_url: "https://drive.example.com/me" -> nothing (emptied)',
        *[line for line in ran.lines if line.startswith("  hosts that get")],
        "payment account main: would change",
        "  secret_key: changed",
        "agent drive-bot: would change",
        '  spend_limits: [["eur", 2000, 5000], ["jpy", null, 9000]] -> [["eur", 1, 5000], ["jpy", null, 9000]]',
        '  providers: ["drive", "github"] -> all',
    ]
    assert "canary" not in str(ran)
    assert STRIPE_KEY not in str(ran)
    assert everything() == before


def test_what_is_switched_off_and_what_the_file_does_not_mention_is_said(operator: Operator) -> None:
    operator.apply(SMALL + "require_user_token = true\n")
    ran = operator.apply(
        SMALL.partition("[[provider]]")[0] + '[[agent]]\nslug = "bot"\nidentity_providers = ["corp"]', "--dry-run"
    )
    assert ran.lines == [
        "identity provider corp: as it is",
        "agent bot: would change",
        "  require_user_token: true -> false (switched off)",
        "provider drive: not in the file, stays as it is",
    ]


def test_an_mcp_server_that_was_discovered_is_no_part_of_the_file(operator: Operator) -> None:
    """Nobody configured it, so that no file could mention it."""
    operator.apply(SMALL)
    Provider.objects.create(slug="mcp-0123", name="A server", mcp="https://mcp.example.com/mcp", client_id="ours")
    assert [line.partition(": ")[2] for line in operator.apply(SMALL, "--dry-run").lines] == ["as it is"] * 3


def test_a_file_does_not_change_what_was_discovered(operator: Operator) -> None:
    Provider.objects.create(slug="drive", name="A server", mcp="https://mcp.example.com/mcp", client_id="ours")
    ran = operator.apply(SMALL)
    assert ran.failed == 1
    assert any("slug: belongs to a provider for mcp; use another slug" in line for line in ran.said), ran


def test_a_dry_run_shows_no_secret_that_would_be_made(operator: Operator) -> None:
    ran = operator.apply(SMALL + 'webhook_url = "https://bot.example.com/hooks"', "--dry-run")
    assert "  api_key: set" in ran.lines
    assert "  webhook_secret: set" in ran.lines
    assert "ek_" not in str(ran)
    assert "whsec_" not in str(ran)


def test_a_dry_run_meets_what_apply_would_meet(operator: Operator) -> None:
    assert operator.apply('[[agent]]\nslug = "bot"\nproviders = ["nobody"]', "--dry-run").failed == 1


@pytest.mark.parametrize(
    ("left_out", "named"),
    [
        ('client_secret = "env:CORP_SECRET"\n', "identity provider corp: client_secret"),
        ("max_age = 3600\n", "identity provider corp: max_age"),
        ('revocation_url = "https://drive.example.com/revoke"\n', "provider drive: revocation_url"),
        ('webhook_secrets = ["env:STRIPE_WEBHOOK_SECRET"]\n', "payment account main: webhook_secrets"),
        ('identity_providers = ["corp"]\n', "agent drive-bot: identity_providers"),
        ('payment_accounts = ["main"]\n', "agent drive-bot: payment_accounts"),
        ('return_urls = ["https://drive-bot.example.com/done"]\n', "agent drive-bot: return_urls"),
        ('webhook_url = "https://drive-bot.example.com/hooks"\n', "agent drive-bot: webhook_url"),
        (WHOLE[WHOLE.index("spend_limits") :], "agent drive-bot: spend_limits"),
    ],
)
def test_what_would_be_emptied_needs_a_yes(operator: Operator, left_out: str, named: str) -> None:
    operator.apply(WHOLE)
    before, without = everything(), WHOLE.replace(left_out, "")
    assert without != WHOLE
    ran = operator.apply(without, "--skip-checks")
    assert ran.failed == 1
    assert ran.lines == []
    assert ran.said == [
        f"{named} would be emptied",
        "Nothing was changed: the file would empty what is listed above. Add it to the file, or say --yes.",
    ]
    assert everything() == before
    assert operator.apply(without, "--yes").failed == 0
    assert everything() != before
    assert operator.apply(without, "--skip-checks").failed == 0, "it is empty now"


def test_a_first_webhook_url_empties_nothing_and_brings_a_new_secret(operator: Operator) -> None:
    operator.apply(SMALL)
    ran = operator.apply(SMALL + 'webhook_url = "https://bot.example.com/hooks"')
    assert not ran.failed, ran.said
    assert "agent bot: changed webhook_url, webhook_secret" in ran.lines


def test_to_leave_an_agent_no_provider_needs_a_yes_and_to_leave_it_all_does_not(operator: Operator) -> None:
    operator.apply(SMALL)
    assert operator.apply(SMALL + "providers = []", "--skip-checks").said[0] == "agent bot: providers would be emptied"
    assert operator.apply(SMALL + 'providers = ["drive"]', "--skip-checks").failed == 0
    assert operator.apply(SMALL + "providers = []", "--skip-checks").failed == 1
    assert operator.apply(SMALL, "--skip-checks").failed == 0
    assert Agent.objects.get().all_providers


def test_to_follow_a_preset_again_empties_nothing(operator: Operator) -> None:
    own = SMALL + '[[provider]]\nslug = "gh"\npreset = "github"\nclient_id = "ours"\nclient_secret = "of-our-client"\n'
    operator.apply(own + 'scopes = ["repo"]\n')
    assert operator.apply(own, "--skip-checks").failed == 0
