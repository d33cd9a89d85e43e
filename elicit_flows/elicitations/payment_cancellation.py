"""cancel_payment: a person cancels a subscription, or removes a saved payment method. cancel_subscription: an agent
does. resume_subscription: its person takes that back.

The steps are claim, act, record: the cancellation is stored first, then the provider is told at once. If that fails,
the sweep tells it later. The state of a subscription is always what the provider says.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from elicit_flows import vault
from elicit_flows.domain.errors import Conflict, NotFound, ProviderUnavailable, Unavailable
from elicit_flows.domain.values import Claim
from elicit_flows.elicitations import payment
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import PaymentError, Refused
from elicit_flows.lib import clock
from elicit_flows.models import Cancellation, Checkout, Mandate, Payment, Subscription
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


def cancel_subscription(subscription: Subscription, *, at_once: bool) -> None:
    """Cancel it for its agent, at the end of the paid period or at once. If the provider cannot be told now, it is told
    later. Cancelling it twice is harmless.
    """
    if subscription.status == Subscription.Status.ENDED or (subscription.ends_at and not at_once):
        return
    row = cancellations.ask(subscription.payment, Mandate.By.AGENT, at_once=at_once)
    if row.try_at:
        tell_provider(row)


def resume_subscription(subscription_id: str, claim: Claim) -> Subscription:
    """This person keeps a subscription that is cancelled and has not ended, whoever cancelled it.

    An agent has no such call: what its user has ended goes on by their own hand only. Raises NotFound, Conflict,
    ProviderUnavailable.
    """
    subscription = queries.subscriptions_by(claim).filter(pk=subscription_id).first()
    if subscription is None:
        raise NotFound("You have no such subscription.")
    bought = subscription.payment
    if bought.status != Payment.Status.ACTIVE or not (bought.ends_at or hasattr(bought, "cancellation")):
        raise Conflict("There is nothing to take back: it has ended, or is not cancelled.")
    cancellations.withdraw(bought)
    account = vault.account(subscription.account)
    provider = providers.subscribing(subscription.account.provider)
    try:
        with payment.slow_accounts.timed(subscription.account_id):
            for checkout in bought.checkouts.filter(status=Checkout.Status.PAID, replaces=None):
                said = provider.resume(account, checkout.ref or "", f"ef:{checkout.pk}:resume")
                payment.record_settlement(checkout, replace(said, asked_at=clock.now()))
    except PaymentError as trouble:
        log.warning("payment account %s: %s; subscription %s is not resumed", account.slug, trouble, subscription.pk)
        raise ProviderUnavailable(payment.TRY_AGAIN, retry_after=5) from None
    return queries.subscriptions_by(claim).get(pk=subscription.pk)


def end_surplus(checkout: Checkout) -> None:
    """End the second subscription of a payment, which this checkout began. Raises PaymentError."""
    account = vault.account(checkout.account)
    said = providers.subscribing(account.provider).end(account, checkout.ref or "", f"ef:{checkout.pk}:end")
    payment.record_settlement(checkout, replace(said, asked_at=clock.now()))


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
                key, ref = f"ef:{row.pk}:cancel", checkout.ref or ""
                if row.at_once:
                    said = providers.subscribing(account.provider).end(vault.account(account), ref, key)
                else:
                    said = payment.plug_in(checkout).cancel(vault.account(account), ref, key)
                # Asked earlier, the provider may have answered that it is not cancelled.
                payment.record_settlement(checkout, replace(said, asked_at=clock.now()))
    except (PaymentError, Unavailable) as trouble:
        level = logging.CRITICAL if isinstance(trouble, Refused) else logging.WARNING
        log.log(level, "payment account %s: %s; cancellation %s is tried later", account.slug, trouble, row.pk)
        cancellations.later(row, str(trouble))
    else:
        cancellations.done(row)
    return True
