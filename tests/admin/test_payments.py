"""Payment accounts, payments and refunds in the admin."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from elicit_flows import events, vault
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Cancellation, Event, PaymentAccount, Refund
from tests.admin.rows import NO_LIMITS, PAY_HOOK, PAY_KEY, Rows, payment
from tests.admin.test_actions import act, exported, notes
from tests.doubles.policy import loopback_allowed

TEST_KEY, LIVE_KEY = "sk_test_typed", "rk_live_typed"


def stored() -> Account:
    return vault.account(PaymentAccount.objects.get(slug="main"))


def change(browser: Client, rows: Rows, **form: str) -> str:
    """The page that comes back; "" when the change was taken."""
    usual = {"provider": "stripe", "enabled": "on", "renewal_grace": "3", "application_fee_basis_points": "0"}
    answer = browser.post(f"/admin/elicit_flows/paymentaccount/{rows.account.pk}/change/", {**usual, **form})
    return answer.text if answer.status_code == 200 else ""


def test_a_payment_account_is_made_and_its_key_noted_by_its_name_alone(admin: Client, olga: User, rows: Rows) -> None:
    form = {"slug": "second", "provider": "stripe", "new_secret_key": TEST_KEY, "new_webhook_secret": "whsec_ typed"}
    assert admin.post("/admin/elicit_flows/paymentaccount/add/", form).status_code == 302
    made = vault.account(PaymentAccount.objects.get(slug="second"))
    assert (made.secret_key, made.webhook_secrets) == (Secret(TEST_KEY), (Secret("whsec_ typed"),))
    said = (
        'Added. Slug "second"; Provider "stripe"; Days of grace for renewals 3; Application fee in basis points 0; '
        "Enabled false; Secret key; Webhook secret to add."
    )
    assert notes(olga) == [(str(PaymentAccount.objects.get(slug="second").pk), said)]
    page = admin.get(f"/admin/elicit_flows/paymentaccount/{PaymentAccount.objects.get(slug='second').pk}/change/").text
    assert "/inbound/second" in page
    assert "typed" not in page


def test_an_account_at_mollie_is_made_with_a_key_of_mollies_alone(admin: Client, olga: User, rows: Rows) -> None:
    form = {"slug": "second", "provider": "mollie", "new_secret_key": TEST_KEY}
    page = admin.post("/admin/elicit_flows/paymentaccount/add/", form)
    assert "It must begin with one of live_…, test_…: so do the keys of mollie" in page.text
    form["new_secret_key"] = "test_typed"
    assert admin.post("/admin/elicit_flows/paymentaccount/add/", form).status_code == 302
    made = vault.account(PaymentAccount.objects.get(slug="second"))
    assert (made.provider, made.secret_key, made.webhook_secrets) == ("mollie", Secret("test_typed"), ())


def test_an_account_at_paypal_is_made_with_its_client_id(admin: Client, olga: User, rows: Rows) -> None:
    form = {"slug": "second", "provider": "paypal", "new_secret_key": "typed-secret"}
    page = admin.post("/admin/elicit_flows/paymentaccount/add/", form)
    assert "It is missing: keys of paypal have one" in page.text
    form |= {"client_id": "AbC-1", "new_webhook_secret": "WEBHOOK1"}
    assert admin.post("/admin/elicit_flows/paymentaccount/add/", form).status_code == 302
    made = vault.account(PaymentAccount.objects.get(slug="second"))
    assert (made.provider, made.client_id, made.secret_key) == ("paypal", "AbC-1", Secret("typed-secret"))


def test_empty_secrets_keep_what_there_is_and_typed_ones_replace_it(admin: Client, olga: User, rows: Rows) -> None:
    assert change(admin, rows) == ""
    assert (stored().secret_key, stored().webhook_secrets) == (Secret(PAY_KEY), (Secret(PAY_HOOK),))
    assert change(admin, rows, new_secret_key=TEST_KEY) == ""
    assert (stored().secret_key, stored().webhook_secrets) == (Secret(TEST_KEY), (Secret(PAY_HOOK),))
    assert change(admin, rows, new_webhook_secret="another") == ""
    assert stored().webhook_secrets == (Secret("another"), Secret(PAY_HOOK)), "while one replaces another both count"
    assert change(admin, rows, new_webhook_secret="third", forget_webhook_secrets="on") == ""
    assert stored().webhook_secrets == (Secret("third"),)
    assert change(admin, rows, forget_webhook_secrets="on") == ""
    assert (stored().secret_key, stored().webhook_secrets) == (Secret(TEST_KEY), ())
    said = [note for _, note in notes(olga)]
    assert said[1] == "Changed Secret key."
    assert not any("another" in note or TEST_KEY in note for note in said)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"new_secret_key": "pk_test_typed"}, "Must be a secret key, sk_"),
        ({"new_secret_key": "two words"}, "Must be 1 to 500 visible ASCII characters"),
        ({"new_secret_key": LIVE_KEY}, "It is false, but secret_key is a live key"),
        ({"livemode": "on"}, "It is true, but secret_key is no live key"),
        ({"api_base": "http://127.0.0.1:8001"}, "Is for the sandbox; it is refused unless ELICIT_ALLOW_LOOPBACK is on"),
        ({"provider": "adyen"}, "Select a valid choice"),
        ({"new_secret_key": "test_typed"}, "It must begin with one of sk_live_…, rk_live_…"),
    ],
)
def test_an_account_is_held_to_the_rules_of_the_configuration_file(
    admin: Client, rows: Rows, form: dict[str, str], said: str
) -> None:
    page = change(admin, rows, **form)
    assert said in page
    assert "typed" not in page
    assert "two words" not in page
    assert (stored().secret_key, stored().livemode, stored().api_base) == (Secret(PAY_KEY), False, None)


def test_a_live_key_is_shown_to_no_double(admin: Client, rows: Rows) -> None:
    with loopback_allowed():
        page = change(admin, rows, new_secret_key=LIVE_KEY, livemode="on", api_base="http://127.0.0.1:8001")
        assert "It must not be set with a live key" in page
        assert "It cannot change once there are payments" in page
        assert change(admin, rows, new_secret_key=TEST_KEY, api_base="http://127.0.0.1:8001") == ""
    assert stored().api_base == "http://127.0.0.1:8001"


def test_a_new_account_needs_a_key(admin: Client, rows: Rows) -> None:
    answer = admin.post("/admin/elicit_flows/paymentaccount/add/", {"slug": "second", "provider": "stripe"})
    assert "Type it: there is none yet, or the stored one cannot be decrypted." in answer.text
    assert PaymentAccount.objects.count() == 1


def test_there_are_at_most_five_webhook_secrets(admin: Client, rows: Rows) -> None:
    for number in range(4):
        assert change(admin, rows, new_webhook_secret=f"secret-{number}") == ""
    assert "There are too many." in change(admin, rows, new_webhook_secret="secret-4")
    assert change(admin, rows, new_webhook_secret="secret-3") == "", "it is there already"
    assert len(stored().webhook_secrets) == 5


@pytest.mark.parametrize("typed", ["env:SECRET_KEY", "file:/etc/hostname"])
def test_a_typed_webhook_secret_is_the_secret_itself_and_reads_nothing_of_the_server(
    admin: Client, rows: Rows, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "from-the-environment")
    assert change(admin, rows, new_webhook_secret=typed, forget_webhook_secrets="on") == ""
    assert stored().webhook_secrets == (Secret(typed),)


def test_secrets_that_do_not_open_any_more_are_typed_anew(admin: Client, rows: Rows) -> None:
    PaymentAccount.objects.update(secret_key="v1.k1.AAAA")
    assert "cannot be decrypted" in change(admin, rows)
    assert change(admin, rows, new_secret_key=TEST_KEY) == ""
    assert stored().secret_key == Secret(TEST_KEY)


def test_the_slug_of_an_account_stays_because_secrets_are_sealed_to_it(admin: Client, rows: Rows) -> None:
    assert change(admin, rows, slug="renamed") == ""
    assert stored().secret_key == Secret(PAY_KEY)


def test_an_agent_is_given_its_payment_accounts(admin: Client, rows: Rows) -> None:
    form = {"name": "Bot", "enabled": "on", "all_providers": "on", "payment_accounts": [rows.account.pk]}
    address = f"/admin/elicit_flows/agent/{rows.agent.pk}/change/"
    assert admin.post(address, form | NO_LIMITS).status_code == 302
    assert list(Agent.objects.get().payment_accounts.all()) == [rows.account]


def test_an_agent_is_limited_in_what_it_may_take(admin: Client, olga: User, rows: Rows) -> None:
    address = f"/admin/elicit_flows/agent/{rows.agent.pk}/change/"
    form = {"name": "Bot", "enabled": "on", "all_providers": "on", "spend_limits-INITIAL_FORMS": "0"}
    one = {"spend_limits-TOTAL_FORMS": "1", "spend_limits-0-currency": "eur", "spend_limits-0-per_day": "5000"}
    refused = admin.post(address, form | one | {"spend_limits-0-currency": "EUR"})
    assert "The currency must be one that is accepted here, in lower case" in refused.text
    assert admin.post(address, form | one).status_code == 302
    [limit] = Agent.objects.get().spend_limits.all()
    assert (limit.currency, limit.per_payment, limit.per_day) == ("eur", None, 5000)
    assert notes(olga)[-1][1].endswith("spend limit drive-bot, eur: Per day from nothing to 5000.")


def test_a_spend_limit_without_an_amount_is_refused_as_the_file_refuses_it(admin: Client, rows: Rows) -> None:
    form = {"name": "Bot", "enabled": "on", "all_providers": "on", "spend_limits-INITIAL_FORMS": "0"}
    one = {"spend_limits-TOTAL_FORMS": "1", "spend_limits-0-currency": "eur"}
    refused = admin.post(f"/admin/elicit_flows/agent/{rows.agent.pk}/change/", form | one)
    assert "with one of the two or both" in refused.text
    assert not Agent.objects.get().spend_limits.exists()


def test_a_payments_page_shows_its_checkouts_refunds_and_events(admin: Client, rows: Rows) -> None:
    with transaction.atomic():
        events.publish(rows.agent, "payment.refunded", {"payment": rows.payment.summary()}, rows.payment.elicitation)
    event = Event.objects.get(type="payment.refunded")
    page = admin.get(f"/admin/elicit_flows/payment/{quote(rows.payment.pk)}/change/").text
    for text in ("€12.50", rows.checkout.pk, "cs_1", rows.refund.pk, "payment.refunded", quote(event.pk)):
        assert text in page
    assert rows.event.pk not in page, "the event of another elicitation"


def test_a_payment_whose_elicitation_was_purged_shows_no_events_of_others(admin: Client, rows: Rows) -> None:
    lone = payment(rows.agent, rows.account, elicitation=None)
    Event.objects.update(elicitation=None)
    assert "elicitation.created" not in admin.get(f"/admin/elicit_flows/payment/{quote(lone.pk)}/change/").text


@pytest.mark.parametrize(
    ("status", "refund", "said"),
    [
        ("mismatch", None, "Look the payment up at the provider by its reference."),
        ("mismatch", "pending", "see that its refund below ends as done"),
        ("mismatch", "failed", "A refund failed, for the reason below"),
        ("paid", "failed", "A refund failed, for the reason below"),
        ("paid", None, ""),
        ("mismatch", "done", ""),
    ],
)
def test_a_payments_page_says_what_to_do(admin: Client, rows: Rows, status: str, refund: str | None, said: str) -> None:
    row = payment(
        rows.agent, rows.account, status=status, problem="A payment arrived, but the amount is 5, asked was 1250."
    )
    if refund:
        Refund.objects.create(payment=row, payment_ref=row.payment_ref, amount=1, by="operator", status=refund)
    page = admin.get(f"/admin/elicit_flows/payment/{quote(row.pk)}/change/").text
    sentences = ("Look it up at the provider", "refund below ends as done", "A refund failed")
    assert [one for one in sentences if one in page] == [one for one in sentences if one in said]
    assert "the amount is 5, asked was 1250" in page
    assert (row.pk in admin.get("/admin/elicit_flows/payment/?status__exact=mismatch").text) == (status == "mismatch")


@pytest.mark.parametrize(
    ("ends", "done", "said"),
    [(None, None, "by the person; the provider does not know yet"), (True, True, "by the person"),
     (True, None, "at the provider")],
)  # fmt: skip
def test_the_list_of_payments_says_what_was_cancelled_by_whom_and_whether_money_is_real(
    admin: Client, rows: Rows, ends: bool | None, done: bool | None, said: str
) -> None:
    rows.payment.delete()
    moment = clock.now() if ends else None
    row = payment(rows.agent, rows.account, mode="subscribe", interval="month", status="active", ends_at=moment)
    if said != "at the provider":
        Cancellation.objects.create(payment=row, done_at=moment, try_at=None if done else clock.now(), problem="Gone.")
    page = admin.get("/admin/elicit_flows/payment/").text
    assert f'field-cancelled">{said}<' in page
    assert 'alt="No"' in page.partition("field-livemode")[2][:200]
    assert row.pk in admin.get("/admin/elicit_flows/payment/?account__livemode__exact=0").text
    assert row.pk not in admin.get("/admin/elicit_flows/payment/?account__livemode__exact=1").text
    alone = admin.get(f"/admin/elicit_flows/payment/{quote(row.pk)}/change/").text
    assert ("Gone." in alone) == (said != "at the provider")


def test_an_operator_allows_saving_for_an_account_whose_provider_has_it(admin: Client, rows: Rows) -> None:
    assert change(admin, rows, allow_save="on") == ""
    assert PaymentAccount.objects.get().allow_save
    form = {"slug": "second", "provider": "mollie", "new_secret_key": "test_typed", "allow_save": "on"}
    page = admin.post("/admin/elicit_flows/paymentaccount/add/", form)
    assert "It is true, but mollie has no mode save; leave it out" in page.text


def test_t113_refunding_gives_back_what_is_left_and_is_noted(admin: Client, olga: User, rows: Rows) -> None:
    act(admin, "payment", "refund", rows.payment.pk)
    made = Refund.objects.exclude(pk=rows.refund.pk).get()
    assert (made.amount, made.by, made.status, made.payment_ref) == (
        1000, "operator", "asked", rows.payment.payment_ref,
    )  # fmt: skip
    assert made.try_at is not None
    assert notes(olga) == [(rows.payment.pk, "Requested a refund of €10.00.")]


def test_t113_refunding_again_gives_back_and_notes_nothing(admin: Client, olga: User, rows: Rows) -> None:
    unpaid = payment(rows.agent, rows.account, status="open")
    act(admin, "payment", "refund", rows.payment.pk)
    act(admin, "payment", "refund", rows.payment.pk, unpaid.pk)
    assert Refund.objects.count() == 2
    assert len(notes(olga)) == 1
    page = admin.get("/admin/elicit_flows/payment/").text
    assert "0 refunds were requested." in page
    assert "The others have nothing left to refund." in page


@pytest.mark.parametrize("status", ["active", "ended"])
def test_who_refunds_a_subscription_reads_where_that_is_done(admin: Client, rows: Rows, status: str) -> None:
    going = payment(rows.agent, rows.account, status=status, mode="subscribe", payment_ref="sub_1")
    act(admin, "payment", "refund", going.pk)
    page = admin.get("/admin/elicit_flows/payment/").text
    assert "Payments of a subscription are refunded at the provider, each period by itself." in page
    assert "The others have nothing left to refund." not in page
    assert not Refund.objects.filter(payment=going).exists()


def test_t113_exports_of_money_hold_no_formula_and_are_noted(admin: Client, olga: User, rows: Rows) -> None:
    [paid] = exported(admin, "payment", rows.payment.pk)
    [refund] = exported(admin, "refund", rows.refund.pk)
    assert (paid["amount"], paid["currency"], paid["sub"]) == ("1250", "eur", "alice")
    assert (refund["reason"], refund["amount"]) == ("'=1+1", "250")
    assert LogEntry.objects.filter(user=olga).count() == 2
