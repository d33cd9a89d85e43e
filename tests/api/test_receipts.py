"""Signed receipts: anybody can check one with the published keys, and needs nothing else."""

from __future__ import annotations

import hashlib

import httpx2
import pytest
from django.conf import LazySettings
from django.core.management import call_command
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError
from joserfc.jwk import KeySet

from elicit_flows.models import Payment, ReceiptKey
from tests.api.described import Described
from tests.support import money
from tests.support.rows import ISSUER, Known
from tests.support.serving import Served


@pytest.fixture
def paid(served: Served, known: Known) -> Payment:
    return money.payment(known, money.account(livemode=True), item="report")


def fetch(api: httpx2.Client, payment: Payment) -> str:
    return str(api.get(f"/v1/payments/{payment.pk}/receipt").json()["receipt"])


def published(served: Served) -> KeySet:
    return KeySet.import_key_set(httpx2.get(f"{served.url}/.well-known/jwks.json", trust_env=False).json())


def test_a_receipt_says_what_was_paid_and_its_signature_holds(
    api: httpx2.Client, served: Served, known: Known, paid: Payment, described: Described, settings: LazySettings
) -> None:
    answer = api.get(f"/v1/payments/{paid.pk}/receipt")
    described.check(answer)
    token = jwt.decode(answer.json()["receipt"], published(served), algorithms=["ES256"])
    assert token.header["typ"] == "receipt+jwt"
    claims = dict(token.claims)
    assert abs(claims.pop("iat") - paid.paid_at.timestamp()) < 60  # type: ignore[union-attr]
    assert claims == {
        "iss": settings.ELICIT_PUBLIC_URL, "payment": paid.pk, "elicitation": None, "agent": known.row.slug,
        "mode": "pay",
        "subject_hash": hashlib.sha256(f"{ISSUER} alice".encode()).hexdigest(), "amount": 1999, "currency": "eur",
        "description": "A report", "item": "report", "order": None,
        "tax": None,
        "status": "paid", "amount_refunded": 0, "dispute": None,
        "paid_at": paid.summary()["paid_at"], "provider": "stripe", "provider_ref": paid.payment_ref,
        "livemode": True, "state_url": f"{settings.ELICIT_PUBLIC_URL}/v1/payments/{paid.pk}",
    }  # fmt: skip


def test_a_changed_receipt_does_not_hold(api: httpx2.Client, served: Served, known: Known, paid: Payment) -> None:
    head, _, signature = fetch(api, paid).split(".")
    other = money.payment(known, paid.account, amount=1)
    of_other = fetch(api, other).split(".")[1]
    with pytest.raises(BadSignatureError):
        jwt.decode(f"{head}.{of_other}.{signature}", published(served), algorithms=["ES256"])


def test_an_older_key_stays_published_when_a_newer_one_signs(api: httpx2.Client, served: Served, paid: Payment) -> None:
    first = fetch(api, paid)
    assert ReceiptKey.objects.count() == 1, "one key is made, at the first receipt"
    fetch(api, paid)
    keys = published(served)
    call_command("rotate", "--receipts")
    second = fetch(api, paid)
    with pytest.raises(InvalidKeyIdError):
        jwt.decode(second, keys, algorithms=["ES256"])
    jwt.decode(first, published(served), algorithms=["ES256"])
    jwt.decode(second, published(served), algorithms=["ES256"])


def test_the_private_half_is_sealed_and_never_published(api: httpx2.Client, served: Served, paid: Payment) -> None:
    fetch(api, paid)
    [row] = ReceiptKey.objects.all()
    assert row.private.startswith("v1.")
    [key] = httpx2.get(f"{served.url}/.well-known/jwks.json", trust_env=False).json()["keys"]
    assert key.keys() == {"kty", "crv", "x", "y", "use", "alg", "kid"}


@pytest.mark.parametrize("status", ["open", "processing", "mismatch", "closed"])
def test_there_is_no_receipt_of_what_was_not_paid(api: httpx2.Client, paid: Payment, status: str) -> None:
    Payment.objects.filter(pk=paid.pk).update(status=status)
    answer = api.get(f"/v1/payments/{paid.pk}/receipt")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_t62_a_receipt_of_another_agents_payment_does_not_exist(
    served: Served, paid: Payment, stranger: httpx2.Client
) -> None:
    assert stranger.get(f"/v1/payments/{paid.pk}/receipt").status_code == 404
