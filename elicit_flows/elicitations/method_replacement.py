"""Another payment method for a mandate, a subscription or a saved method, given by its person at /account.

Their button leads to the provider's page, at a checkout of the payment's own. It is settled like every checkout, by the
browser's return, a webhook or the sweep (``payment.settle``). The sweep then removes the former method.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from django.db import IntegrityError, transaction
from django.utils.translation import get_language

from elicit_flows import vault
from elicit_flows.domain.errors import Conflict, NotFound, ProviderUnavailable, TooMany
from elicit_flows.domain.values import Claim
from elicit_flows.elicitations import payment
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import PaymentError, PaymentProvider, Refused, Unclear
from elicit_flows.kinds.payment.values import Snapshot
from elicit_flows.lib import clock, rate_limits
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Checkout, Payment
from elicit_flows.payments import checkouts, method_replacements, queries

log = logging.getLogger(__name__)
NOTHING = sentence("There is no payment method to replace: it has ended, or its provider cannot do that.")


def can_replace_method(row: Payment) -> bool:
    """Whether there is something to replace, at a provider that has such calls."""
    return providers.replacing(row.account.provider) is not None and method_replacements.goes_on(row)


def replace_method(payment_id: str, claim: Claim) -> str:
    """The address of the provider's page where this person saves another method; the same one as long as it is open.

    Raises NotFound, Conflict, TooMany, ProviderUnavailable.
    """
    row = queries.made_by(claim).filter(pk=payment_id).first()
    if row is None:
        raise NotFound("You have no such payment.")
    standing, provider = method_replacements.standing(row), providers.replacing(row.account.provider)
    if standing is None or provider is None:
        raise Conflict(NOTHING)
    checkout = checkouts.payable(row)
    if checkout and checkout.status == Checkout.Status.PROCESSING:
        raise Conflict("The payment method that you gave is still being checked.")
    if checkout is None or checkout.status == Checkout.Status.STARTING:
        if not row.account.enabled:
            raise ProviderUnavailable("This payment account is switched off.")
        try:
            with payment.slow_accounts.timed(row.account_id):
                now = provider.fetch(vault.account(row.account), standing.ref or "")
                checkout = checkout or _reserved(row, now)
                _open(row, checkout, now, provider)
        except PaymentError as trouble:
            log.warning("payment account %s: %s; no method of %s is replaced", row.account.slug, trouble, row.pk)
            raise ProviderUnavailable(payment.TRY_AGAIN, retry_after=5) from None
    # If it was changed meanwhile, another press of the button may have opened it, or the sweep may have ended it.
    url = vault.open_url(checkout) if checkout.status == Checkout.Status.OPEN else None
    if url is None:
        raise ProviderUnavailable(payment.TRY_AGAIN, retry_after=5)
    return url


def _reserved(row: Payment, now: Snapshot) -> Checkout:
    """``now``: what is to be replaced, as the provider says."""
    if not now.customer:
        raise Conflict(NOTHING)
    if not rate_limits.CHECKOUTS.hit(row.pk):
        detail = sentence("This was begun too often. Try again in ten minutes.")
        raise TooMany(detail, retry_after=rate_limits.CHECKOUTS.seconds)
    try:
        with transaction.atomic():
            return checkouts.reserve(row, clock.now(), get_language() or "", replaces=now.method or "")
    except IntegrityError:  # the other press was quicker
        other = checkouts.payable(row)
        if other is None:
            raise
        return other


def _open(row: Payment, checkout: Checkout, now: Snapshot, provider: PaymentProvider) -> None:
    """Ask the provider for the page. Two calls at the same time use the same key, and get the same page. Raises
    PaymentError.
    """
    asked = replace(
        payment.ask(row, checkout),
        mode="save", amount=0, interval=None, trial_days=None, order=None, customer=now.customer,
    )  # fmt: skip
    try:
        started = provider.start(vault.account(row.account), asked, f"ef:{checkout.pk}:start:{checkout.key_number}")
    except Refused:
        checkouts.give_up(checkout)
        raise
    except Unclear as trouble:
        if trouble.stored:
            checkouts.another_key(checkout)
        raise
    checkouts.opened(checkout, started, vault.seal_url(checkout, started.url))


def remove_replaced(checkout: Checkout) -> None:
    """Remove at the provider what this checkout has replaced. Raises PaymentError."""
    former, provider = checkout.replaces, providers.replacing(checkout.account.provider)
    if former and provider and not method_replacements.is_charged(checkout.account, former):
        account = vault.account(checkout.account)
        # Only the provider knows the methods of saved payments. Its pages offer them for other payments too.
        saved = (method_replacements.standing(one) for one in method_replacements.saved_by_payer(checkout.payment))
        if all(provider.fetch(account, one.ref or "").method != former for one in saved if one):
            provider.remove_method(account, former)
    method_replacements.removed(checkout)
