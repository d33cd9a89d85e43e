"""What a person sees under /account/payments of what they paid."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from joserfc import jwt
from joserfc.jwk import KeySet
from pytest_django import Settings

from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, PaymentAccount
from tests.support import money, rows
from tests.support.rows import ALICE_CLAIM, ISSUER, Known
from tests.web.samples import Page


@pytest.fixture
def bot(db: None) -> Known:
    return rows.agent("shop-bot")


@pytest.fixture
def at(db: None) -> PaymentAccount:
    return money.account(livemode=True)


@pytest.fixture
def alice(client: Client, bot: Known) -> Client:
    """Her browser."""
    session = client.session
    session["person"] = {"iss": ISSUER, "sub": "alice", "label": "Alice", "auth_time": 0, "browser": "b"}
    session.save()
    return client


def seen(browser: Client, language: str = "en", tab: str = "payments") -> Page:
    answer = browser.get(f"/account/{tab}", headers={"accept-language": language})
    assert answer.status_code == 200
    return Page(answer.text)


def receipts(page: Page) -> list[str | None]:
    return [link["href"] for link in page.all("a") if link.get("rel") == "noopener noreferrer"]


def test_a_person_sees_what_they_paid_to_whom_and_the_receipt(alice: Client, bot: Known, at: PaymentAccount) -> None:
    money.payment(bot, at, refunded=500)
    page = seen(alice)
    text = page.text()
    assert "A report Amount €19.99 Asked by" in text
    assert f"Asked by {bot.row.name} State Paid €5.00 given back Date" in text
    assert receipts(page) == ["https://pay.example.com/receipt"]
    assert "no real money" not in text


def test_amounts_are_written_as_the_browser_asks_for(alice: Client, bot: Known, at: PaymentAccount) -> None:
    money.payment(bot, at, amount=123450)
    assert "1.234,50 €" in seen(alice, "de").text()
    assert "€1,234.50" in seen(alice, "en").text()


def test_a_test_payment_is_said_to_be_one(alice: Client, bot: Known) -> None:
    money.payment(bot, money.account("test"))
    assert "Paid A test, no real money" in seen(alice).text()


@pytest.mark.parametrize(
    "claim", [Claim(ISSUER, "bob"), Claim(ISSUER, "Alice"), Claim(ISSUER + "/", "alice"), Claim("https://x", "alice")]
)
def test_t62_what_others_paid_is_not_shown(alice: Client, bot: Known, at: PaymentAccount, claim: Claim) -> None:
    money.payment(bot, at, claim)
    assert "A report" not in seen(alice).text()
    money.payment(bot, at, ALICE_CLAIM)
    assert "A report" in seen(alice).text()


@pytest.mark.parametrize("status", ["open", "closed"])
def test_what_nobody_paid_is_not_shown(alice: Client, bot: Known, at: PaymentAccount, status: str) -> None:
    money.payment(bot, at, status=status)
    assert "A report" not in seen(alice).text()


@pytest.mark.parametrize("status", ["processing", "paid", "saved", "active", "mismatch"])
def test_what_has_moved_is_shown(alice: Client, bot: Known, at: PaymentAccount, status: str) -> None:
    money.payment(bot, at, status=status)
    assert "A report" in seen(alice).text()


@pytest.mark.parametrize(
    ("url", "loopback", "linked"),
    [
        ("https://pay.example.com/r?s=1", False, True), ("http://127.0.0.1:8001/r", True, True),
        ("http://127.0.0.1:8001/r", False, False), ("http://pay.example.com/r", False, False),
        ("javascript:alert(1)//https://", True, False), ("//pay.example.com/r", True, False), ("/admin/", True, False),
        ("", True, False),
    ],
)  # fmt: skip
def test_t52_a_receipt_is_linked_where_it_is_an_https_address(
    alice: Client, bot: Known, at: PaymentAccount, settings: Settings, url: str, loopback: bool, linked: bool
) -> None:
    settings.ELICIT_ALLOW_LOOPBACK = loopback
    money.payment(bot, at, receipt_url=url)
    assert receipts(seen(alice)) == ([url] if linked else [])


def test_the_latest_payments_stand_first_and_the_others_follow(alice: Client, bot: Known, at: PaymentAccount) -> None:
    for number in range(13):
        money.payment(bot, at, description=f"Number {number}.", created_at=clock.now() - timedelta(days=number))
    page = seen(alice)
    assert re.findall(r"Number \d+\.(?= Amount)", page.text()) == [f"Number {number}." for number in range(10)]
    (more,) = [one["href"] for one in page.all("a") if one.get("rel") == "next"]
    money.payment(bot, at, description="Number 99.")
    rest = Page(alice.get(str(more)).text)
    assert re.findall(r"Number \d+\.(?= Amount)", rest.text()) == [f"Number {number}." for number in range(10, 13)]
    assert not [one for one in rest.all("a") if one.get("rel") == "next"]


def test_subscriptions_and_saved_methods_are_found_by_themselves(alice: Client, bot: Known, at: PaymentAccount) -> None:
    money.payment(bot, at, description="Once.")
    money.payment(bot, at, description="Monthly.", mode="subscribe", status="active")
    money.payment(bot, at, description="A card.", mode="save", status="saved", amount=0)
    for part, there in (("subscriptions", "Monthly."), ("saved", "A card.")):
        text = seen(alice, tab=f"payments?show={part}").text()
        assert [said for said in ("Once.", "Monthly.", "A card.") if said in text] == [there]
    assert "Once." in seen(alice, tab="payments?show=nothing-of-ours").text()


def test_a_person_keeps_a_signed_receipt_of_their_own_payment_alone(
    alice: Client, bot: Known, at: PaymentAccount
) -> None:
    mine, hers = money.payment(bot, at), money.payment(bot, at, Claim(ISSUER, "bob"))
    kept = alice.get(f"/account/payments/{mine.pk}/receipt")
    assert kept.headers["content-type"] == "application/jwt"
    assert kept.headers["content-disposition"] == f'attachment; filename="receipt-{mine.pk}.jwt"'
    keys = KeySet.import_key_set(alice.get("/.well-known/jwks.json").json())
    assert jwt.decode(kept.text, keys, algorithms=["ES256"]).claims["payment"] == mine.pk
    assert alice.get(f"/account/payments/{hers.pk}/receipt").status_code == 404
    alice.logout()
    assert alice.get(f"/account/payments/{mine.pk}/receipt").status_code == 403


def test_what_is_not_paid_yet_has_no_receipt_to_keep(alice: Client, bot: Known, at: PaymentAccount) -> None:
    row = money.payment(bot, at, status="processing")
    assert "Download a signed receipt" not in seen(alice).text()
    assert alice.get(f"/account/payments/{row.pk}/receipt").status_code == 409


@pytest.mark.parametrize(("status", "waits"), [("pending", True), ("started", True), ("settling", False)])
def test_what_waits_for_the_bank_does_not_wait_for_the_person(
    alice: Client, bot: Known, status: str, waits: bool
) -> None:
    now = clock.now()
    Elicitation.objects.create(
        agent=bot.row, kind="payment", iss=ISSUER, sub="alice", message="Pay, please.", status=status, created_at=now,
        expires_at=now + timedelta(minutes=5),
    )  # fmt: skip
    assert ("Pay, please." in seen(alice, tab="requests").text()) == waits
