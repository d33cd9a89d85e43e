"""The provider's invoices of payments: links that are kept only if they lead to the provider."""

from __future__ import annotations

from urllib.parse import urlsplit

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.models import Payment, PaymentAccount


def sync(payment: Payment, said: Snapshot) -> None:
    """Keep the links to the invoice, which the provider may make some time after the payment."""
    found = {"invoice_url": said.invoice_url, "invoice_pdf": said.invoice_pdf}
    new = {name: url for name, url in found.items() if url and url != getattr(payment, name)}
    kept = {name: url for name, url in new.items() if is_providers(payment.account, url)}
    if kept:
        Payment.objects.filter(pk=payment.pk).update(**kept)
        payment.refresh_from_db(fields=list(kept))


def is_providers(account: PaymentAccount, url: str) -> bool:
    """Whether it is an address at the provider's own host, or at the test double's that the account is at."""
    if len(url) > 2000:
        return False
    try:
        at, double = urlsplit(url), urlsplit(account.api_base)
        if account.api_base:
            return (at.scheme, at.netloc) == (double.scheme, double.netloc)
        whole = at.scheme == "https" and at.netloc == at.hostname
    except ValueError:
        return False
    return whole and at.hostname in providers.get(account.provider).invoice_hosts
