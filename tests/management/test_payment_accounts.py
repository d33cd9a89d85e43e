"""``manage.py apply``: the operator's accounts at payment providers."""

from __future__ import annotations

import pytest

from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.models import Agent, PaymentAccount
from sandbox.configure import configuration
from tests.doubles.policy import loopback_allowed
from tests.management.files import STRIPE_HOOK, STRIPE_KEY, WHOLE, Operator
from tests.management.test_apply import stored
from tests.support import money, rows

ACCOUNT = """\
[[payment_account]]
slug = "main"
provider = "stripe"
secret_key = "sk_test_1"
webhook_secrets = ["whsec_old"]
"""
LIVE = ACCOUNT.replace("sk_test_1", "sk_live_1") + "livemode = true\n"
NEAR = 'api_base = "http://127.0.0.1:8001"\n'


def test_an_account_opens_with_the_vault_and_its_secrets_stand_nowhere_in_the_clear(operator: Operator) -> None:
    operator.apply(WHOLE)
    account = vault.account(PaymentAccount.objects.get())
    assert (account.slug, account.provider, account.api_base, account.livemode) == ("main", "stripe", None, False)
    assert account.secret_key == Secret(STRIPE_KEY)
    assert account.webhook_secrets == (Secret(STRIPE_HOOK),)
    assert STRIPE_KEY not in stored()
    assert STRIPE_HOOK not in stored()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sk_test_1", "sk_test_2", "changed secret_key"),
        ('["whsec_old"]', '["whsec_new", "whsec_old"]', "changed webhook_secrets"),
        ('["whsec_old"]', '["whsec_old", "whsec_old"]', "as it was"),
        ('["whsec_old"]', "[]", "changed webhook_secrets"),
        ('"sk_test_1"', '"rk_live_1"\nlivemode = true', "changed livemode, secret_key"),
        ('"sk_test_1"', '"sk_test_1"\nkeep_late = true', "changed keep_late"),
        ('"sk_test_1"', '"sk_test_1"\nallow_save = true', "changed allow_save"),
        ('"sk_test_1"', '"sk_test_1"\nrefund_mismatch = true', "changed refund_mismatch"),
    ],
)
def test_what_differs_of_an_account_is_changed_and_named(operator: Operator, old: str, new: str, said: str) -> None:
    assert operator.apply(ACCOUNT).lines == ["payment account main: made"]
    before = stored()
    assert operator.apply(ACCOUNT.replace(old, new)).lines == [f"payment account main: {said}"]
    assert (stored() == before) == (said == "as it was")


def test_several_webhook_secrets_hold_side_by_side_in_their_order(operator: Operator) -> None:
    operator.apply(ACCOUNT.replace('["whsec_old"]', '["whsec_new", "whsec_old"]'))
    assert vault.account(PaymentAccount.objects.get()).webhook_secrets == (Secret("whsec_new"), Secret("whsec_old"))


def test_t99_an_account_without_webhook_secret_is_told_of(operator: Operator) -> None:
    ran = operator.apply(ACCOUNT.replace('webhook_secrets = ["whsec_old"]\n', ""))
    assert (ran.failed, ran.lines) == (0, ["payment account main: made"])
    assert ran.said == ["payment account main: has no webhook_secrets, so its provider's webhooks are refused"]
    assert vault.account(PaymentAccount.objects.get()).webhook_secrets == ()


MOLLIE = """\
[[payment_account]]
slug = "main"
provider = "mollie"
secret_key = "test_1"
"""


def test_an_account_at_mollie_needs_no_webhook_secret(operator: Operator) -> None:
    ran = operator.apply(MOLLIE)
    assert (ran.failed, ran.lines, ran.said) == (0, ["payment account main: made"], [])
    account = vault.account(PaymentAccount.objects.get())
    assert (account.provider, account.secret_key, account.webhook_secrets) == ("mollie", Secret("test_1"), ())
    assert operator.apply(MOLLIE + 'webhook_secrets = ["any letters"]\n').lines == [
        "payment account main: changed webhook_secrets"
    ]


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (
            MOLLIE.replace("test_1", "sk_test_1"),
            "secret_key: must begin with one of live_…, test_…: so do the keys of mollie",
        ),
        (
            ACCOUNT.replace("sk_test_1", "live_1"),
            "secret_key: must begin with one of sk_live_…, rk_live_…, sk_test_…, ",
        ),
        (MOLLIE.replace("test_1", "live_1"), "livemode: is false, but secret_key is a live key"),
        (MOLLIE + "livemode = true\n", "livemode: is true, but secret_key is no live key (live_…)"),
        (MOLLIE.replace("mollie", "adyen"), "provider: "),
        (MOLLIE + "allow_save = true\n", "allow_save: is true, but mollie has no mode save; leave it out"),
        (MOLLIE + "makes_invoices = true\n", "makes_invoices: is true, but mollie makes no invoices; leave it out"),
        (MOLLIE + "computes_tax = true\n", "computes_tax: is true, but mollie computes no tax; leave it out"),
    ],
    ids=["another's key", "mollie's key", "live", "test", "nobody", "nothing to save", "no invoices", "no tax"],
)
def test_a_key_is_one_of_its_provider_and_says_whether_money_is_real(
    operator: Operator, account: str, said: str
) -> None:
    [fault] = operator.faults(account)
    assert said in fault


@pytest.mark.parametrize("key", ["sk_live_1", "rk_live_1"])
def test_a_live_key_is_shown_to_no_double(operator: Operator, key: str) -> None:
    with loopback_allowed():
        faults = operator.faults(LIVE.replace("sk_live_1", key) + NEAR)
        assert faults == ["7: api_base: must not be set with a live key: such a key is sent to its own provider alone"]
        assert operator.apply(ACCOUNT + NEAR).failed == 0
    assert PaymentAccount.objects.get().api_base == "http://127.0.0.1:8001"


@pytest.mark.parametrize("address", ["http://127.0.0.1:8001/", "http://127.0.0.1:8001?a=1", "http://10.0.0.1:8001"])
def test_the_address_of_a_double_is_one_that_a_path_can_stand_behind(operator: Operator, address: str) -> None:
    with loopback_allowed():
        [fault] = operator.faults(ACCOUNT + f'api_base = "{address}"\n')
    assert fault.startswith("6: api_base: ")


def test_live_and_test_money_never_share_an_account(operator: Operator) -> None:
    operator.apply(ACCOUNT)
    assert operator.apply(LIVE).lines == ["payment account main: changed livemode, secret_key"]
    money.payment(rows.agent(), PaymentAccount.objects.get())
    assert operator.faults(ACCOUNT) == [
        "1: livemode: cannot change once there are payments; give the other account a slug of its own"
    ]
    assert operator.apply(LIVE.replace("sk_live_1", "sk_live_2")).failed == 0


def test_an_agent_may_use_the_accounts_that_its_table_names(operator: Operator) -> None:
    bot = '[[agent]]\nslug = "bot"\npayment_accounts = {}\n'
    operator.apply(ACCOUNT + bot.format('["main"]'))
    agent = Agent.objects.get()
    assert [row.slug for row in agent.payment_accounts.all()] == ["main"]
    assert "agent bot: as it was" in operator.apply(bot.format('["main"]')).lines
    assert "agent bot: changed payment_accounts" in operator.apply(bot.format("[]")).lines
    assert not agent.payment_accounts.exists()


@pytest.mark.parametrize("secret", ["sk_live_canary", "pk_test_canary", "sk_test_a canary"])
def test_t112_no_fault_repeats_a_payment_key(operator: Operator, secret: str) -> None:
    faults = operator.faults(ACCOUNT.replace("sk_test_1", secret))
    assert faults
    assert "canary" not in "".join(faults)


def test_the_sandboxs_account_is_applied_where_loopback_is_allowed_and_nowhere_else(operator: Operator) -> None:
    at, key = "http://127.0.0.1:18001", "the-key-of-the-demo-agent-0123456789"
    demo = configuration("http://127.0.0.1:18000", at).replace("file:var/demo.key", key)
    assert any(": api_base: is for the sandbox" in fault for fault in operator.faults(demo))
    with loopback_allowed():
        ran = operator.apply(demo)
    assert (ran.failed, ran.said) == (0, [])
    account = vault.account(PaymentAccount.objects.get())
    assert (account.slug, account.api_base, account.livemode) == ("sandbox", at, False)
    assert len(account.webhook_secrets) == 1
    assert [row.slug for row in Agent.objects.get(slug="demo").payment_accounts.all()] == ["sandbox"]


PAYPAL = """\
[[payment_account]]
slug = "wallet"
provider = "paypal"
client_id = "AbC-1_2"
secret_key = "a-secret-of-the-app"
webhook_secrets = ["WEBHOOK1"]
"""


def test_an_account_at_paypal_has_a_client_id_which_is_no_secret(operator: Operator) -> None:
    assert operator.apply(PAYPAL).lines == ["payment account wallet: made"]
    account = vault.account(PaymentAccount.objects.get())
    assert (account.client_id, account.secret_key) == ("AbC-1_2", Secret("a-secret-of-the-app"))
    changed = operator.apply(PAYPAL.replace("AbC-1_2", "AbC-2"))
    assert changed.lines == ["payment account wallet: changed client_id"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('client_id = "AbC-1_2"\n', "", "client_id: is missing: keys of paypal have one"),
        ("AbC-1_2", "a b", "client_id: must be 1 to 200 of A-Z a-z 0-9 _ -"),
        ('provider = "paypal"', 'provider = "mollie"', "client_id: must not be set: keys of mollie have none"),
        ('"paypal"', '"paypal"\nlivemode = true\n' + NEAR, "api_base: must not be set with a live key"),
        ('"paypal"', '"paypal"\nallow_save = true', "allow_save: is true, but paypal has no mode save"),
    ],
)
def test_what_does_not_fit_an_account_at_paypal_is_refused(operator: Operator, old: str, new: str, said: str) -> None:
    with loopback_allowed():
        faults = operator.faults(
            PAYPAL.replace(old, new).replace('"a-secret', f'"{"test_" * ("mollie" in new)}a-secret')
        )
    assert [said in fault for fault in faults] == [True]
    assert "a-secret-of-the-app" not in str(faults)


def test_no_key_of_paypals_tells_the_mode_so_either_is_taken(operator: Operator) -> None:
    assert operator.apply(PAYPAL + "livemode = true\n").lines == ["payment account wallet: made"]
