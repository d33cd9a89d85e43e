"""cancel_payment: a person cancels a subscription, or removes a saved payment method.

The steps are claim, act, record: the cancellation is stored first, then the provider is told at once. If that fails,
the sweep tells it later. The state of a subscription is always what the provider says.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from elicit_flows import vault
from elicit_flows.domain.errors import NotFound, Unavailable
from elicit_flows.domain.values import Claim
from elicit_flows.elicitations import payment
from elicit_flows.kinds.payment.providers.base import PaymentError, Refused
from elicit_flows.lib import clock
from elicit_flows.models import Cancellation
from elicit_flows.payments import cancellations, queries

log = logging.getLogger(__name__)


def cancel_payment(payment_id: str, claim: Claim) -> None:
    """Cancel a payment of this person. If the provider cannot be told now, it is told later.

    Raises NotFound, Conflict.
    """
    payment = queries.made_by(claim).filter(pk=payment_id).first()
    if payment is None:
        raise NotFound("You have no such payment.")
    row = cancellations.ask(payment)
    if row.try_at:
        tell_provider(row)


def tell_provider(row: Cancellation) -> bool:
    """Send the cancellation to the provider; a failure is retried later. False if it was not tried: another process has
    claimed it, or the provider is too slow now.
    """
    account = row.payment.account
    if account.pk in payment.slow_accounts.open_keys() or not cancellations.claim(row):
        return False
    try:
        with payment.slow_accounts.timed(account.pk):
            for checkout in cancellations.checkouts_of(row):
                said = payment.plug_in(checkout).cancel(
                    vault.account(account), checkout.ref or "", f"ef:{row.pk}:cancel"
                )
                # Asked earlier, the provider may have answered that it is not cancelled.
                payment.record_settlement(checkout, replace(said, asked_at=clock.now()))
    except (PaymentError, Unavailable) as trouble:
        level = logging.CRITICAL if isinstance(trouble, Refused) else logging.WARNING
        log.log(level, "payment account %s: %s; cancellation %s is tried later", account.slug, trouble, row.pk)
        cancellations.later(row, str(trouble))
    else:
        cancellations.done(row)
    return True
