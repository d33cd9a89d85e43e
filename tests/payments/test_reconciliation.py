"""``manage.py reconcile``: what is recorded against the balance transactions of the sandbox's Stripe."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from elicit_flows.models import PaymentAccount
from tests.payments.test_hints import settled
from tests.payments.test_policies import policy
from tests.payments.till import Json, Till
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.process import until

TABLES = ("refund", "cancellation", "entitlement", "checkout", "renewal", "subscription", "payment", "customer")


@pytest.fixture(scope="module")
def counting_box(new_box: Callable[..., Box]) -> Box:
    """Its account has only the payments of this file."""
    return new_box("embedded")


@pytest.fixture
def till(new_till: Callable[..., Till], counting_box: Box) -> Till:
    """Nothing was ever paid at it."""
    till = new_till(counting_box)
    till.stripe.order("reset")
    for table in TABLES:
        till.sql(f"DELETE FROM elicit_flows_{table}")
    return till


def paid(till: Till, user: HttpUser, **params: Any) -> Json:
    asked = till.ask(**params)
    till.pay(user, asked)
    till.becomes(asked, "completed")
    return asked


def intent(till: Till, asked: Json) -> str:
    return str(till.sql("SELECT payment_ref FROM elicit_flows_payment WHERE id = %s", till.payment_id(asked))[0][0])


def refunded(till: Till, asked: Json) -> bool:
    return bool(till.payment(asked)["amount_refunded"] == 300)


def renewed(till: Till, times: int) -> bool:
    statement = "SELECT COUNT(*) FROM elicit_flows_renewal WHERE status = 'paid'"
    return bool(till.sql(statement)[0][0] == times)


def reconciled(till: Till, *more: str, account: str = "sandbox") -> list[tuple[str, ...]]:
    """What differs: the fault, the payment, here, there. The exit status agrees."""
    ran = till.box.manage("reconcile", account, "--csv", *more, check=False)
    assert ran.stderr == ""
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    assert ran.returncode == int(any(row["fault"] != "foreign" for row in rows))
    return [(row["fault"], row["payment"], row["here"], row["there"]) for row in rows]


@pytest.mark.slow
def test_a_month_in_which_everything_agrees(till: Till, http_user: HttpUser) -> None:
    one, two, back = (paid(till, http_user, amount=amount) for amount in (1999, 500, 700))
    monthly = paid(till, http_user, amount=300, mode="subscribe", interval="month")
    till.stripe.order("renew", subscription=intent(till, monthly))
    till.agent.post(f"/v1/payments/{till.payment_id(back)}/refunds", json={"amount": 200})
    until(lambda: till.payment(back)["amount_refunded"] == 200, "it is refunded")
    failing = till.stripe.order("refund", of=intent(till, two), amount=100, pending=True)
    until(lambda: till.sql("SELECT 1 FROM elicit_flows_refund WHERE ref = %s", failing["id"]), "the refund is seen")
    till.stripe.order("refund_outcome", refund=failing["id"], outcome="failed")
    until(lambda: till.payment(two)["amount_refunded"] == 0, "it has failed")
    till.stripe.order("dispute", of=intent(till, one), outcome="open")
    until(lambda: till.payment(one)["dispute"] == "open", "the dispute is seen")
    assert reconciled(till) == []
    said = till.box.manage("reconcile", "sandbox").stdout.replace("\xa0", " ")
    assert "  charge: €37.99\n" in said  # 19.99 + 5.00 + 7.00 + 3.00 + 3.00
    assert "  refund: -€2.00\n" in said
    assert "  dispute: -€19.99\n" in said
    assert said.endswith("\n0 differences.\n")


def test_what_was_charged_and_is_not_recorded_is_found(till: Till, http_user: HttpUser) -> None:
    lost, changed = paid(till, http_user), paid(till, http_user, amount=500)
    statement = "UPDATE elicit_flows_payment SET status = 'closed', payment_ref = '' WHERE id = %s"
    till.sql(statement, till.payment_id(lost))
    till.sql("UPDATE elicit_flows_payment SET amount = 400 WHERE id = %s", till.payment_id(changed))
    assert sorted(reconciled(till)) == [
        ("amount", till.payment_id(changed), "400 eur", "500 eur"),
        ("charge_unknown", till.payment_id(lost), "", "1999 eur"),
    ]
    said = till.box.manage("reconcile", "sandbox", check=False).stdout
    assert f"{till.payment_id(lost)} pi_" in said
    assert "charged at the provider, not recorded as paid here; there 1999 eur" in said
    assert said.endswith("\n2 differences.\n")


def test_what_is_recorded_and_was_never_charged_is_found(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    payment = till.payment_id(asked)
    now = till.sql("SELECT created_at FROM elicit_flows_payment WHERE id = %s", payment)[0][0]
    statement = "UPDATE elicit_flows_payment SET status = 'paid', payment_ref = 'pi_forged', paid_at = %s WHERE id = %s"
    till.sql(statement, now, payment)
    assert reconciled(till) == [("charge_missing", payment, "1999 eur", "")]


def test_t113_a_reference_that_a_spreadsheet_would_run_is_text(till: Till) -> None:
    payment = till.payment_id(till.ask())
    statement = (
        "UPDATE elicit_flows_payment SET status = 'paid', payment_ref = '=1+1', paid_at = created_at WHERE id = %s"
    )
    till.sql(statement, payment)
    said = till.box.manage("reconcile", "sandbox", "--csv", check=False).stdout
    [row] = csv.DictReader(io.StringIO(said))
    assert (row["payment"], row["ref"]) == (payment, "'=1+1")
    assert datetime.fromisoformat(row["at"]).tzinfo is not None


@pytest.mark.slow
def test_refunds_that_only_one_side_knows_are_found(till: Till, http_user: HttpUser) -> None:
    there, here, other = (paid(till, http_user) for _ in range(3))
    for asked in (there, here, other):
        till.agent.post(f"/v1/payments/{till.payment_id(asked)}/refunds", json={"amount": 300})
        until(partial(refunded, till, asked), "it is refunded")
    till.sql("DELETE FROM elicit_flows_refund WHERE payment_id = %s", till.payment_id(there))
    till.sql("UPDATE elicit_flows_refund SET amount = 200 WHERE payment_id = %s", till.payment_id(other))
    till.sql("UPDATE elicit_flows_refund SET ref = 're_forged' WHERE payment_id = %s", till.payment_id(here))
    assert sorted(reconciled(till)) == sorted(
        [
            ("refund_unknown", till.payment_id(there), "", "300 eur"),
            ("refund_unknown", till.payment_id(here), "", "300 eur"),
            ("refund_missing", till.payment_id(here), "300 eur", ""),
            ("refund_amount", till.payment_id(other), "200 eur", "300 eur"),
        ]
    )


@pytest.mark.slow
def test_renewals_that_only_one_side_knows_are_found(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user, amount=300, mode="subscribe", interval="month")
    payment = till.payment_id(asked)
    for number in (1, 2, 3):
        till.stripe.order("renew", subscription=intent(till, asked))
        until(partial(renewed, till, number), "the renewal is recorded", timeout=20)
    assert reconciled(till) == []
    first, second, third = (row[0] for row in till.sql("SELECT id FROM elicit_flows_renewal ORDER BY created_at, id"))
    till.sql("DELETE FROM elicit_flows_renewal WHERE id = %s", first)
    till.sql("UPDATE elicit_flows_renewal SET amount = 250 WHERE id = %s", second)
    till.sql("UPDATE elicit_flows_renewal SET ref = 'in_forged' WHERE id = %s", third)
    assert sorted(reconciled(till)) == sorted(
        [
            ("charge_unknown", payment, "", "300 eur"), ("amount", payment, "250 eur", "300 eur"),
            ("charge_unknown", payment, "", "300 eur"), ("charge_missing", payment, "300 eur", ""),
        ]
    )  # fmt: skip


@pytest.mark.slow
def test_what_comes_of_a_renewal_weeks_later_is_of_its_subscription(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user, amount=300, mode="subscribe", interval="month")
    subscription, payment = intent(till, asked), till.payment_id(asked)
    then = datetime.now(UTC) + timedelta(days=20)
    around = [f"--since={then - timedelta(days=1):%Y-%m-%d}", f"--until={then + timedelta(days=1):%Y-%m-%d}"]
    till.stripe.order("renew", subscription=subscription, outcome="fail")
    till.stripe.order("clock", seconds=20 * 86_400)
    till.stripe.order("collect", subscription=subscription, outcome="ok")
    until(partial(renewed, till, 1), "the renewal is recorded", timeout=20)
    settled(till)
    assert reconciled(till, "--foreign", *around) == []
    till.stripe.order("refund", of=subscription, amount=100)
    till.stripe.order("dispute", of=subscription, outcome="open")
    assert sorted(reconciled(till, "--foreign", *around)) == [
        ("dispute_unknown", payment, "", "200 eur"),
        ("refund_unknown", payment, "", "100 eur"),
    ]


@pytest.mark.slow
def test_a_dispute_that_nobody_heard_of_is_found(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user)
    till.stripe.order("dispute", of=intent(till, asked), outcome="open")
    until(lambda: till.payment(asked)["dispute"] == "open", "the dispute is seen")

    def unheard() -> list[tuple[str, ...]]:
        till.sql("UPDATE elicit_flows_payment SET disputed = '' WHERE id = %s", till.payment_id(asked))
        return reconciled(till)

    # The provider tells more than once: what comes in between is forgotten again.
    difference = ("dispute_unknown", till.payment_id(asked), "", "1999 eur")
    until(lambda: unheard() == [difference], "the dispute is found")


@pytest.mark.slow
def test_what_came_too_late_and_was_given_back_is_no_difference(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("fault", name="503", on="POST /v1/checkout/sessions/*/expire", times=20)
    asked = till.ask()
    till.at_stripe(http_user, asked)
    till.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    http_user.press("pay")
    until(lambda: "payment.refunded" in till.events(asked), "it is given back", timeout=20)
    assert reconciled(till) == []

    def forgotten() -> list[tuple[str, ...]]:
        till.sql("DELETE FROM elicit_flows_refund")
        return reconciled(till)

    # A look that is under way writes it down again.
    difference = ("refund_unknown", till.payment_id(asked), "", "1999 eur")
    until(lambda: forgotten() == [difference], "the refund is missed")


@pytest.mark.slow
def test_another_amount_than_was_asked_for_is_a_difference_until_it_is_given_back(
    till: Till, http_user: HttpUser
) -> None:
    kept, returned = till.ask(), till.ask()
    till.at_stripe(http_user, kept)
    till.stripe.order("bend", amount=499)
    http_user.press("pay")
    till.becomes(kept, "failed")
    till.at_stripe(http_user, returned)
    till.stripe.order("bend", amount=498)
    with policy(till, "refund_mismatch"):
        http_user.press("pay")
        until(lambda: "payment.refunded" in till.events(returned), "it is given back", timeout=20)
    assert reconciled(till) == [("charge_unknown", till.payment_id(kept), "", "499 eur")]


@pytest.mark.slow
def test_money_of_something_else_is_counted_apart(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user)
    for table in TABLES:
        till.sql(f"DELETE FROM elicit_flows_{table}")
    assert reconciled(till) == []
    assert reconciled(till, "--foreign") == [("foreign", "", "", "1999 eur")]
    said = till.box.manage("reconcile", "sandbox").stdout
    assert "1 are not of this service; --foreign lists them." in said
    assert asked["id"] not in said


def test_another_period_is_another_list(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user)
    till.sql("UPDATE elicit_flows_payment SET amount = 400 WHERE id = %s", till.payment_id(asked))
    assert reconciled(till, "--since", "2026-01-01", "--until", "2026-01-31") == []


@pytest.mark.parametrize(
    "days",
    [
        ["--until", "9999-12-31"],
        ["--since", "0001-01-01"],
        ["--until", "0001-01-03"],
        ["--since", "1999-12-31", "--until", "1999-12-31"],
    ],
)
def test_days_that_no_payment_can_have_are_answered(db: None, days: list[str]) -> None:
    PaymentAccount.objects.create(slug="main", provider="stripe")
    with pytest.raises(CommandError, match="from 2000 to 9000"):
        call_command("reconcile", "main", *days)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "There is no payment account 'nobody'."),
        (
            ["sandbox", "--since", "2026-02-02", "--until", "2026-02-01"],
            "is after --until 2026-02-01: the first day",
        ),
        (["sandbox", "--since", "yesterday"], "argument --since: invalid fromisoformat value: 'yesterday'"),
    ],
)
def test_bad_words_are_answered(till: Till, words: list[str], said: str) -> None:
    ran = till.box.manage("reconcile", *words, check=False)
    assert ran.returncode != 0
    assert said in ran.stderr


@pytest.mark.slow
def test_a_provider_that_does_not_answer_is_no_reconciliation(till: Till, http_user: HttpUser) -> None:
    paid(till, http_user)
    till.stripe.order("fault", name="503", on="GET /v1/balance_transactions", times=20)
    ran = till.box.manage("reconcile", "sandbox", check=False)
    assert ran.returncode == 1
    assert "Nothing was compared; run it again." in ran.stderr
