"""The worker's part of payments: follows webhooks, checks open checkouts, and sends cancellations, prices and refunds.

Each row is claimed by one of several workers. If the provider cannot be asked now, the row is tried again later.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import Coalesce

from elicit_flows import vault
from elicit_flows.domain.errors import Unavailable
from elicit_flows.elicitations import payment
from elicit_flows.elicitations.mandates import end_mandate, recover
from elicit_flows.elicitations.method_replacement import remove_replaced
from elicit_flows.elicitations.payment_cancellation import end_surplus, tell_provider
from elicit_flows.elicitations.price_change import tell_price
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused, Unclear
from elicit_flows.lib import clock, health
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import Cancellation, Checkout, Inbound, Mandate, PaymentAccount, PriceChange, Refund
from elicit_flows.models.backlog import soonest
from elicit_flows.payments import (
    cancellations,
    charges,
    checkouts,
    inbound_webhooks,
    mandates,
    method_replacements,
    price_changes,
    refunds,
)

log = logging.getLogger(__name__)
Due = Inbound | Checkout | Cancellation | PriceChange | Refund | Mandate


def payment_accounts_due(without: Collection[int]) -> list[int]:
    """The primary keys of the accounts that have something due, except ``without`` and those of slow providers."""
    left_out = {*without, *payment.slow_accounts.open_keys()}
    return [row.pk for row in _WITH_DUE.all(clock.now()) if row.pk not in left_out]


def _with_due(now: datetime) -> QuerySet[PaymentAccount]:
    this = OuterRef("pk")
    due = Coalesce(
        soonest(Inbound.objects.filter(account=this, try_at__lte=now), "try_at"),
        soonest(Checkout.objects.filter(account=this, look_at__lte=now), "look_at"),
        soonest(Cancellation.objects.filter(payment__account=this, try_at__lte=now), "try_at"),
        soonest(PriceChange.objects.filter(subscription__account=this, try_at__lte=now), "try_at"),
        soonest(Refund.objects.filter(payment__account=this, try_at__lte=now), "try_at"),
        soonest(Mandate.objects.filter(account=this, status=Mandate.Status.ACTIVE, until__lte=now), "until"),
    )
    return PaymentAccount.objects.alias(due=due).filter(due__isnull=False).only("pk")


_WITH_DUE = CompiledQuery(_with_due, clock.now(), prepare=False)


def payments_due(account: int, limit: int) -> list[Due]:
    """What the provider of this account is to be asked or told now, at most ``limit`` of each sort: the webhooks that
    it sent, checkouts that no webhook came for, cancellations, changes of prices, refunds, mandates whose time is over.
    """
    return [
        *inbound_webhooks.due(account, limit),
        *checkouts.due(account, limit),
        *cancellations.due(account, limit),
        *price_changes.due(account, limit),
        *refunds.due(account, limit),
        *mandates.due(account, limit),
    ]


def follow_up(row: Due) -> bool:
    """Ask or tell the provider. False: another worker does, or its provider is to be left alone."""
    if isinstance(row, Inbound):
        return _follow(row)
    if isinstance(row, Checkout):
        return _look_for_charge(row) if row.off_session else _look(row)
    if isinstance(row, Mandate):
        end_mandate(row, Mandate.By.TIME)
        return True
    if isinstance(row, PriceChange):
        return tell_price(row)
    return tell_provider(row) if isinstance(row, Cancellation) else _give_back(row)


def _follow(row: Inbound) -> bool:
    if row.account_id in payment.slow_accounts.open_keys() or not inbound_webhooks.claim(row):
        return False
    try:
        with payment.slow_accounts.timed(row.account_id):
            for checkout in inbound_webhooks.checkouts_of(row):
                payment.settle(checkout)
    except (PaymentError, Unavailable) as trouble:
        log.warning("payment account %s: %s; event %s is followed later", row.account.slug, trouble, row.event_id)
        health.failed("payment", row.account.slug, type(trouble).__name__)
        inbound_webhooks.later(row)
    else:
        health.succeeded("payment", row.account.slug)
        inbound_webhooks.done(row)
    return True


def _look(checkout: Checkout) -> bool:
    moot = _is_moot(checkout)
    # Also when its own time is over: a provider may forget it soon after, and then says nothing about it.
    to_close = checkout.status == Checkout.Status.OPEN and (moot or checkout.expires_at <= clock.now())
    if checkout.account_id in payment.slow_accounts.open_keys() or not checkouts.look_again(checkout, soon=to_close):
        return False
    try:
        with payment.slow_accounts.timed(checkout.account_id):
            if checkout.status == Checkout.Status.STARTING:
                # A process died between asking for a page and recording it. Nobody saw the page, so it is closed if
                # it exists.
                account, provider = vault.account(checkout.account), payment.plug_in(checkout)
                ref = provider.find(account, checkout.pk)
                if ref:
                    provider.close(account, ref, f"ef:{checkout.pk}:close")
                _give_up(checkout)
            elif checkout.replaces is not None and checkout.status in (Checkout.Status.PAID, Checkout.Status.OVER):
                remove_replaced(checkout)
            elif checkout.surplus:
                end_surplus(checkout)
            else:
                payment.settle(checkout, closing=to_close)
    except (PaymentError, Unavailable) as trouble:
        log.warning("payment account %s: %s; checkout %s is looked at later", checkout.account.slug, trouble, checkout)
        health.failed("payment", checkout.account.slug, type(trouble).__name__)
        lost = isinstance(trouble, Refused) and checkouts.lapsed(checkout)
        if lost:
            log.critical("payment account %s: checkout %s is given up: %s", checkout.account.slug, checkout, trouble)
        if lost or (moot and checkout.status == Checkout.Status.STARTING):
            _give_up(checkout)
    else:
        health.succeeded("payment", checkout.account.slug)
    return True


def _is_moot(checkout: Checkout) -> bool:
    """Whether nobody waits for it any more."""
    if checkout.replaces is not None:
        return method_replacements.standing(checkout.payment) is None
    row = checkout.payment.elicitation
    return row is None or row.over or row.overdue


def _look_for_charge(checkout: Checkout) -> bool:
    """The same for a charge under a mandate, which has no page: make it if it is due, or see what became of it."""
    if checkout.account_id in payment.slow_accounts.open_keys() or not checkouts.look_again(checkout):
        return False
    try:
        with payment.slow_accounts.timed(checkout.account_id):
            if checkout.status == Checkout.Status.STARTING:
                recover(checkout)
            else:
                payment.settle(checkout)
    except (PaymentError, Unavailable) as trouble:
        log.warning("payment account %s: %s; charge %s is looked at later", checkout.account.slug, trouble, checkout)
        health.failed("payment", checkout.account.slug, type(trouble).__name__)
        # One that may have been made is never given up because the provider refuses to be asked.
        if isinstance(trouble, Refused) and checkouts.lapsed(checkout):
            log.critical("payment account %s: charge %s is given up: %s", checkout.account.slug, checkout, trouble)
            charges.give_up(checkout, trouble.code)
    else:
        health.succeeded("payment", checkout.account.slug)
    return True


def _give_up(checkout: Checkout) -> None:
    """End a checkout that nobody can pay: nobody saw its page, or the provider does not know it."""
    row = checkout.payment.elicitation
    with transaction.atomic():
        if row is not None:
            checkouts.lock_payment(row)
        checkouts.give_up(checkout)
        if row is not None:
            payment.checkout_ended(row)


def _give_back(refund: Refund) -> bool:
    row = refund.payment.account
    if row.pk in payment.slow_accounts.open_keys() or not refunds.claim(refund):
        return False
    key = f"ef:{refund.pk}:refund:{refund.key_number}"
    try:
        account = vault.account(row)
        with payment.slow_accounts.timed(row.pk):
            seen = providers.get(row.provider).refund(account, refund.payment_ref, refund.amount, refund.pk, key)
    except Refused as refusal:
        refunds.failed(refund, str(refusal))
    except (Busy, Unclear, Unavailable) as trouble:
        health.failed("payment", row.slug, type(trouble).__name__)
        refunds.later(refund, str(trouble), another_key=isinstance(trouble, Unclear) and trouble.stored)
    else:
        refunds.told(refund, seen)
    return True
