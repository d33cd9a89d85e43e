"""The price of a running subscription, changed with the yes of its person.

The steps are claim, act, record: the yes is stored with the elicitation's status, then the provider is told at once. If
that fails, the sweep tells it again until it confirms or refuses, and the elicitation is settling until then.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from django.db import transaction

from elicit_flows import vault
from elicit_flows.domain.errors import Over, Unavailable
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Json
from elicit_flows.elicitations import payment
from elicit_flows.elicitations.transitions import move
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import PaymentError, Refused
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.lib import clock
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Checkout, Elicitation, PriceChange
from elicit_flows.payments import price_changes, settlement

log = logging.getLogger(__name__)


def shown(row: Elicitation) -> Json:
    """``{previous_amount, starts}``: the price until then, in minor units; ``starts`` is the next charge, or None."""
    change = PriceChange.objects.select_related("subscription").get(elicitation=row)
    return {"previous_amount": change.was, "starts": change.subscription.period_end}


def change_price(row: Elicitation) -> None:
    """The person has agreed: change the price now, or later if the provider does not answer. Pressed twice, it is
    changed once. Raises Over.
    """
    with transaction.atomic():
        change = price_changes.agree(row)
        move(row, Status.STARTED, only=[Status.PENDING])
        if not move(row, Status.SETTLING, only=[Status.STARTED]) and row.over:
            raise Over(elicitation=row.pk)
        if change.agreed_at is None:
            _fail(row)
    if change.try_at:
        tell_price(change)


def tell_price(change: PriceChange) -> bool:
    """Have the provider change the price. False if it was not tried: another process has claimed it, or the provider is
    too slow now.
    """
    account = change.subscription.account
    if account.pk in payment.slow_accounts.open_keys() or not price_changes.claim(change):
        return False
    checkout = price_changes.checkout_of(change)
    try:
        with payment.slow_accounts.timed(account.pk):
            provider = providers.subscribing(account.provider)
            said = provider.change_price(vault.account(account), checkout.ref or "", change.amount)
    except Refused as refusal:
        log.critical("payment account %s: %s; price change %s is given up", account.slug, refusal, change.pk)
        with transaction.atomic():
            if price_changes.refused(change, str(refusal)) and change.elicitation:
                _fail(change.elicitation)
    except (PaymentError, Unavailable) as trouble:
        log.warning("payment account %s: %s; price change %s is tried later", account.slug, trouble, change.pk)
        price_changes.later(change, str(trouble))
    else:
        # Asked earlier, the provider may have answered with the price that it had.
        _record(change, checkout, replace(said, asked_at=clock.now()))
    return True


def _record(change: PriceChange, checkout: Checkout, said: Snapshot) -> None:
    """Record the new price, or that there is none, with its events, in one transaction."""
    with transaction.atomic():
        bought, fresh = settlement.locked(checkout)
        row = change.elicitation
        if price_changes.made(change, said):
            if row:
                result = {
                    **payment.result(bought),
                    "amount": 0,
                    "receipt_url": None,
                    "price": change.amount,
                    "previous_price": change.was,
                    "price_from": clock.rfc3339(said.period_end),
                }
                move(row, Status.COMPLETED, only=[Status.SETTLING], result=result)
        elif (
            price_changes.refused(change, "The provider has not changed it: the subscription has ended there.") and row
        ):
            _fail(row)
        settlement.follow(bought, fresh, said)


def _fail(row: Elicitation) -> None:
    error = {"code": "price_not_changed", "message": sentence("The price was not changed, and nothing was charged.")}
    move(row, Status.FAILED, only=[Status.SETTLING], error=error)
