"""Who somebody is at the payment provider, kept by the claim that they proved: an e-mail address finds nobody."""

from __future__ import annotations

from django.db.models import QuerySet

from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.models import Customer, Payment


def of(payment: Payment) -> str | None:
    """The provider's id of the payer, once they have had one at this account."""
    known = _rows(payment).first()
    return known.ref if known else None


def remember(payment: Payment, said: Snapshot) -> None:
    """In the transaction that makes it paid."""
    if said.customer:
        Customer.objects.update_or_create(
            account=payment.account, iss=payment.iss, sub=payment.sub, defaults={"ref": said.customer}
        )


def forget(payment: Payment) -> bool:
    """The provider does not know it any more. Whether there was one."""
    return _rows(payment).delete()[0] > 0


def _rows(payment: Payment) -> QuerySet[Customer]:
    return Customer.objects.filter(account_id=payment.account_id, iss=payment.iss, sub=payment.sub)
