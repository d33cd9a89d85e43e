"""What nobody waits for: the provider's hints are followed, what was lost is looked for, refunds are told.

Run by the worker. Each row is claimed by one of them, and asked about later when the provider cannot be asked now.
"""

from __future__ import annotations

import logging

from django.db import transaction

from elicit_flows import vault
from elicit_flows.errors import Unavailable
from elicit_flows.flow import patience, paying
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused, Unclear
from elicit_flows.ledger import checkouts, inbound, refunds
from elicit_flows.models import Checkout, Inbound, Refund

log = logging.getLogger(__name__)


def sweep_payments(limit: int = 50) -> int:
    """Follow every hint that is due, and ask about what nobody hinted at; how many were seen."""
    hints = sum(_follow(row) for row in inbound.due(limit, patience.resting()))
    looks = sum(_look(checkout) for checkout in checkouts.due(limit, patience.resting()))
    return hints + looks + sum(_give_back(refund) for refund in refunds.due(limit, patience.resting()))


def _follow(row: Inbound) -> bool:
    if row.account_id in patience.resting() or not inbound.claim(row):
        return False
    try:
        with patience.asking(row.account_id):
            for checkout in inbound.checkouts_of(row):
                paying.settle(checkout)
    except (PaymentError, Unavailable) as trouble:
        log.warning("payment account %s: %s; event %s is followed later", row.account.slug, trouble, row.event_id)
        inbound.later(row)
    else:
        inbound.done(row)
    return True


def _look(checkout: Checkout) -> bool:
    row = checkout.payment.elicitation
    moot = row is None or row.over or row.overdue
    to_close = moot and checkout.status == Checkout.Status.OPEN
    if checkout.account_id in patience.resting() or not checkouts.look_again(checkout, soon=to_close):
        return False
    try:
        with patience.asking(checkout.account_id):
            if checkout.status == Checkout.Status.STARTING:
                _find(checkout)
            elif to_close:
                account = vault.account(checkout.account)
                paying.conclude(
                    checkout, paying.plug_in(checkout).close(account, checkout.ref or "", f"ef:{checkout.pk}:close")
                )
            else:
                paying.settle(checkout)
    except (PaymentError, Unavailable) as trouble:
        log.warning("payment account %s: %s; checkout %s is looked at later", checkout.account.slug, trouble, checkout)
        lost = isinstance(trouble, Refused) and checkouts.lapsed(checkout)
        if lost:
            log.critical("payment account %s: checkout %s is given up: %s", checkout.account.slug, checkout, trouble)
        if lost or (moot and checkout.status == Checkout.Status.STARTING):
            _give_up(checkout)
    return True


def _find(checkout: Checkout) -> None:
    """Somebody stopped between asking for a page and writing it down. Nobody saw it: it is closed, or never was."""
    account, provider = vault.account(checkout.account), paying.plug_in(checkout)
    ref = provider.find(account, checkout.pk)
    if ref:
        provider.close(account, ref, f"ef:{checkout.pk}:close")
    _give_up(checkout)


def _give_up(checkout: Checkout) -> None:
    """Nobody saw its page, or the provider knows nothing of it: nobody can pay there."""
    row = checkout.payment.elicitation
    with transaction.atomic():
        if row is not None:
            checkouts.hold(row)
        checkouts.give_up(checkout)
        if row is not None:
            paying.over(row)


def _give_back(refund: Refund) -> bool:
    row = refund.payment.account
    if row.pk in patience.resting() or not refunds.claim(refund):
        return False
    key = f"ef:{refund.pk}:refund:{refund.key_number}"
    try:
        account = vault.account(row)
        with patience.asking(row.pk):
            seen = providers.get(row.provider).refund(account, refund.payment_ref, refund.amount, refund.pk, key)
    except Refused as refusal:
        refunds.failed(refund, str(refusal))
    except (Busy, Unclear, Unavailable) as trouble:
        refunds.later(refund, str(trouble), another_key=isinstance(trouble, Unclear) and trouble.stored)
    else:
        refunds.told(refund, seen)
    return True
