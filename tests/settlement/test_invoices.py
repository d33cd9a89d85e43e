"""The provider's invoices: asked for where the operator allows it, and kept only if they are at the provider."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from elicit_flows.domain.errors import Invalid
from elicit_flows.elicitations import agent_access
from elicit_flows.kinds.payment.values import InvoiceSeen, State
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Payment, PaymentAccount, Renewal
from elicit_flows.payments.invoices import is_providers
from tests.settlement.conftest import Till

ORDER: dict[str, Any] = {"lines": [{"name": "A notebook", "unit_amount": 500}], "invoice": True}
PAGE, FILE = "https://invoice.stripe.com/i/acct_1/test_1", "https://pay.stripe.com/invoice/acct_1/test_1/pdf?s=ap"


def ask(till: Till) -> Elicitation:
    return till.ask(order=ORDER)


def test_the_links_are_kept_with_the_payment_whenever_they_come(till: Till) -> None:
    row = ask(till)
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    assert Payment.objects.get().summary()["invoice_url"] is None
    for links in ({"invoice_url": PAGE}, {"invoice_url": PAGE, "invoice_pdf": FILE}, {}):
        till.hear(checkout, State.PAID, **links)
    said = Payment.objects.get().summary()
    assert (said["invoice_url"], said["invoice_pdf"]) == (PAGE, FILE)
    assert said["order"]["invoice"] is True


@pytest.mark.parametrize(
    "url",
    [
        "https://invoice.stripe.com.evil.example/i", "https://evil.example/invoice.stripe.com",
        "http://invoice.stripe.com/i", "https://a@invoice.stripe.com/i", "https://invoice.stripe.com:8443/i",
        "https://invoice.stripe.com@evil.example/i", "javascript:alert(1)//invoice.stripe.com",
        "//invoice.stripe.com/i",
        "https://[invoice.stripe.com", "", f"{PAGE}/{'x' * 2000}",
    ],
)  # fmt: skip
def test_a_link_to_another_host_is_not_kept(till: Till, url: str) -> None:
    till.hear(till.open(ask(till)), State.PAID, invoice_url=url, invoice_pdf=url)
    said = Payment.objects.get()
    assert (said.status, said.invoice_url, said.invoice_pdf) == ("paid", "", "")


@pytest.mark.parametrize(("link", "kept"), [(FILE, FILE), ("https://evil.example/i.pdf", ""), (None, "")])
def test_the_file_of_a_renewal_is_kept_if_it_is_the_providers(till: Till, link: str | None, kept: str) -> None:
    month = timedelta(days=30)
    checkout, start = till.open(till.ask(mode="subscribe", interval="month")), clock.now()
    said = {"payment_ref": "sub_1", "period_end": start + month}
    till.hear(checkout, State.ACTIVE, **said)
    seen = InvoiceSeen("in_2", 500, "eur", "paid", start + month, start + 2 * month, pdf=link)
    till.hear(checkout, State.ACTIVE, **said, invoices=(seen,))
    renewal = Renewal.objects.get()
    assert (renewal.invoice_pdf, renewal.summary()["invoice_pdf"]) == (kept, kept or None)


def test_a_double_has_its_own_address_and_no_other(till: Till) -> None:
    at = PaymentAccount(provider="stripe", api_base="http://127.0.0.1:8001")
    assert is_providers(at, "http://127.0.0.1:8001/c/receipt/in_1?pdf")
    for url in (PAGE, "http://127.0.0.1:8002/c", "https://127.0.0.1:8001/c", "http://127.0.0.1:8001@evil.example/"):
        assert not is_providers(at, url)


@pytest.mark.parametrize(("provider", "said"), [("stripe", "makes_invoices"), ("paypal", "makes no invoices")])
def test_an_account_that_makes_none_is_not_asked_for_one(till: Till, provider: str, said: str) -> None:
    PaymentAccount.objects.update(makes_invoices=False, provider=provider)
    agent_access.forget()
    with pytest.raises(Invalid, match=said) as refused:
        ask(till)
    assert refused.value.errors[0]["loc"] == ["params", "order", "invoice"]
