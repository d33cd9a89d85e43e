"""PayPal's webhooks: only with PayPal's signature, by a certificate from PayPal's own address."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import BadNotice, Busy
from elicit_flows.kinds.payment.providers.paypal import webhooks
from elicit_flows.kinds.payment.values import Account, Notice
from tests.kinds.payment.paypal_answers import WEBHOOK, Signing, account, event

pytestmark = pytest.mark.usefixtures("loopback")
PAYPAL = providers.get("paypal")
BODY = event()
NOTICE = Notice("WH-1", "CHECKOUT.ORDER.APPROVED", "ORDER1", None, livemode=False)


@pytest.fixture(scope="module")
def signing() -> Iterator[Signing]:
    with Signing() as server:
        yield server


@pytest.fixture(autouse=True)
def _fresh() -> None:
    webhooks._fetched.clear()


def signed(signing: Signing, body: bytes = BODY, webhook: str = WEBHOOK, *, age: timedelta = timedelta(0)) -> Any:
    return signing.signer.headers(webhook, body, datetime.now(UTC) - age)


def received(signing: Signing, headers: Any, body: bytes = BODY, to: Account | None = None) -> list[Notice]:
    return PAYPAL.receive(to or account(signing.url), headers, body)


def test_a_webhook_of_paypal_is_a_hint_where_to_look_and_its_certificate_is_fetched_once(signing: Signing) -> None:
    for _ in range(3):
        assert received(signing, signed(signing)) == [NOTICE]
    assert signing.asked == 1


def test_t198_a_forged_webhook_is_refused(signing: Signing) -> None:
    genuine = signed(signing)
    forgeries = [
        {},
        genuine | {"paypal-transmission-sig": ""},
        genuine | {"paypal-transmission-sig": "bm90IGEgc2lnbmF0dXJl"},
        genuine | {"paypal-transmission-sig": "no base64!"},
        genuine | {"paypal-transmission-id": "another"},
        genuine | {"paypal-auth-algo": "none"},
        genuine | {"paypal-auth-algo": "SHA1withRSA"},
        genuine | {"paypal-transmission-time": datetime.now(UTC).isoformat()},
        genuine | {"paypal-transmission-id": "x" * 3000},
        signed(signing, webhook="HOOKOFSOMEBODYELSE"),
        signed(signing, BODY + b" "),
    ]
    for forged in forgeries:
        with pytest.raises(BadNotice):
            received(signing, forged)
    with pytest.raises(BadNotice):
        received(signing, genuine, BODY.replace(b"ORDER1", b"ORDER2"))
    with pytest.raises(BadNotice):
        received(signing, genuine, to=account(signing.url, webhook_secrets=()))


def test_t198_an_old_or_future_webhook_is_refused(signing: Signing) -> None:
    assert received(signing, signed(signing, age=timedelta(days=3))) == [NOTICE]  # PayPal's last try
    for age in (timedelta(days=5), timedelta(minutes=-10)):
        with pytest.raises(BadNotice):
            received(signing, signed(signing, age=age))


def test_t198_a_certificate_of_somebody_else_at_paypals_address_is_none() -> None:
    for owner in ("paypal.com.evil.example", "evilpaypal.com", "evil.example"):
        with Signing(owner) as signing, pytest.raises(BadNotice):
            received(signing, signed(signing))


def test_several_webhooks_ids_hold_side_by_side(signing: Signing) -> None:
    both = account(signing.url, webhook_secrets=(Secret("NEW"), Secret("OLD")))
    for webhook in ("NEW", "OLD"):
        assert received(signing, signed(signing, webhook=webhook), to=both) == [NOTICE]


PATH = "/v1/notifications/certs/CERT-1"


@pytest.mark.parametrize(
    "url",
    [
        "",
        f"https://evil.example{PATH}",
        f"https://api.paypal.com.evil.example{PATH}",
        f"https://evil.example/https://api.paypal.com{PATH}",
        f"https://api.paypal.com@evil.example{PATH}",
        f"https://api.paypal.com:8443{PATH}",
        f"http://api.paypal.com{PATH}",
        f"https://apixpaypal.com{PATH}",
        f"https://www.paypal.com{PATH}",
        f"https://api.sandbox.paypal.com{PATH}",  # of the other mode
        "https://api.paypal.com/v1/notifications/certs/../../v2/CERT-1",
        f"https://api.paypal.com{PATH}?x=1",
        f"https://api.paypal.com{PATH}#x",
        f"https://api.paypal.com{PATH}\n",
        f"https://api.paypal.com{PATH}/more",
    ],
)
def test_t199_a_certificate_from_anywhere_but_paypals_own_address_is_not_even_fetched(
    signing: Signing, url: str
) -> None:
    """The sender signs with a key of its own, and says where its certificate is."""
    live = account(None, livemode=True)
    with pytest.raises(BadNotice, match="not at PayPal's address"):
        received(signing, signed(signing) | {"paypal-cert-url": url}, to=live)


def test_t199_an_account_of_a_double_takes_certificates_of_that_double_alone(signing: Signing) -> None:
    with Signing() as other:
        for headers in (signed(other), signed(signing) | {"paypal-cert-url": f"https://api.paypal.com{PATH}"}):
            with pytest.raises(BadNotice, match="not at PayPal's address"):
                received(signing, headers)
        assert other.asked == 0


def test_t199_whoever_names_many_certificates_makes_us_ask_paypal_a_few_times() -> None:
    with Signing() as signing:
        for number in range(40):
            with pytest.raises((BadNotice, Busy)):
                received(signing, signed(signing) | {"paypal-cert-url": f"{signing.signer.url}{number}"})
        assert signing.asked == webhooks.MOST_A_MINUTE


def test_a_certificate_that_cannot_be_had_now_is_tried_with_the_next_webhook(signing: Signing) -> None:
    with Signing() as gone:
        headers, to = signed(gone), account(gone.url)
    with pytest.raises(Busy):
        received(gone, headers, to=to)


@pytest.mark.parametrize(
    ("kind", "resource", "expected"),
    [
        ("CHECKOUT.ORDER.APPROVED", {"id": "ORDER1"}, [("ORDER1", None)]),
        ("CHECKOUT.ORDER.COMPLETED", {"id": "ORDER1"}, [("ORDER1", None)]),
        (
            "PAYMENT.CAPTURE.PENDING",
            {"id": "CAP1", "supplementary_data": {"related_ids": {"order_id": "ORDER1"}}},
            [("ORDER1", "CAP1")],
        ),
        ("PAYMENT.CAPTURE.DENIED", {"id": "CAP1"}, [(None, "CAP1")]),
        (
            "PAYMENT.CAPTURE.REFUNDED",
            {"id": "REF1", "links": [{"rel": "up", "href": "https://api.paypal.com/v2/payments/captures/CAP1"}]},
            [(None, "CAP1")],
        ),
        ("PAYMENT.CAPTURE.REFUNDED", {"id": "REF1"}, []),
        (
            "CUSTOMER.DISPUTE.CREATED",
            {"disputed_transactions": [{"seller_transaction_id": "CAP1"}, {"seller_transaction_id": "CAP2"}]},
            [(None, "CAP1"), (None, "CAP2")],
        ),
        ("BILLING.PLAN.CREATED", {"id": "PLAN1"}, []),
        ("CHECKOUT.ORDER.APPROVED", {"id": "../ORDER1"}, []),
        ("CHECKOUT.ORDER.APPROVED", ["no object"], []),
    ],
)
def test_an_event_is_about_an_order_or_what_was_captured(
    signing: Signing, kind: str, resource: Any, expected: list[tuple[str | None, str | None]]
) -> None:
    body = event(kind, resource)
    notices = received(signing, signed(signing, body), body)
    assert [(one.ref, one.payment_ref) for one in notices] == expected
    assert len({one.id for one in notices}) == len(notices)


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b"{}", b'{"id": 1}', b"\xff", event(id="")])
def test_what_is_signed_and_no_event_is_refused(signing: Signing, body: bytes) -> None:
    with pytest.raises(BadNotice):
        received(signing, signed(signing, body), body)
