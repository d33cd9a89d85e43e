"""Payments of elicitations: the way to the provider's checkout page, and the result.

The browser's return, a webhook and the sweep are only hints. For each of them this service asks the provider and
applies its answer under a lock. Nothing else marks a payment as paid.
"""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import translation
from django.utils.translation import get_language, gettext

from elicit_flows import events, kinds, vault
from elicit_flows.domain.errors import NotFound, Over, ProviderBroken, ProviderUnavailable, TooMany
from elicit_flows.domain.status import OPEN, Status
from elicit_flows.domain.values import Claim, Json
from elicit_flows.elicitations import notify
from elicit_flows.elicitations.transitions import move, traced
from elicit_flows.events import wakeups
from elicit_flows.job_table import PAYMENTS
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Broken, Busy, PaymentError, PaymentProvider, Refused, Unclear
from elicit_flows.kinds.payment.values import AUTHENTICATION_REQUIRED, Ask, Line, Order, Snapshot, State
from elicit_flows.lib import amounts, clock, rate_limits
from elicit_flows.lib.backoff import CircuitBreaker
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Agent, Checkout, Elicitation, MandateCharge, Payment, PaymentAccount
from elicit_flows.payments import charges, checkouts, customers, entitlements, mandates, method_replacements, settlement
from elicit_flows.payments.settlement import Verdict

log = logging.getLogger(__name__)
# By account, in seconds: other accounts do not wait for one whose provider is slow.
slow_accounts: CircuitBreaker[int] = CircuitBreaker(rest=20.0, slow=10.0)
# What the provider's page is for: a mandate begins with a saved method; a charge has one if its bank wants the person.
_AT_PROVIDER = {"mandate": "save", charges.MODE: "pay"}
LINK_LASTS = timedelta(days=1)
REPLACED_WITHIN, POLL = 3.0, 0.1  # seconds
TRY_AGAIN = sentence("The payment provider does not answer now. Try again in a moment.")


def open_checkout(row: Elicitation) -> str | None:
    """The address of the page where the user can pay: the same one as long as it can be paid. None if a payment is
    under way.

    Raises ProviderUnavailable, TooMany, Over.
    """
    payment = Payment.objects.select_related("account").get(elicitation=row)
    checkout = checkouts.payable(payment) or _reserved(payment, row)
    if checkout.status == Checkout.Status.OPEN:
        return vault.open_url(checkout)
    if checkout.status == Checkout.Status.PROCESSING:
        return None
    return _open(row, payment, checkout)


def _reserved(payment: Payment, row: Elicitation) -> Checkout:
    if not rate_limits.CHECKOUTS.hit(payment.pk):
        detail = sentence("The payment was begun too often. Open your link again in ten minutes.")
        raise TooMany(detail, retry_after=rate_limits.CHECKOUTS.seconds, elicitation=row.pk)
    try:
        with transaction.atomic():
            return checkouts.reserve(payment, row.expires_at, get_language() or "")
    except IntegrityError:  # the other press was quicker
        other = checkouts.payable(payment)
        if other is None:
            raise
        return other


def _open(row: Elicitation, payment: Payment, checkout: Checkout) -> str | None:
    """Ask the provider for the page. Two calls at the same time use the same key, and get the same page."""
    if not checkout.account.enabled:
        raise ProviderUnavailable("This payment account is switched off.", elicitation=row.pk)
    account = vault.account(checkout.account)
    key = f"ef:{checkout.pk}:start:{checkout.key_number}"
    try:
        started = plug_in(checkout).start(account, ask(payment, checkout), key)
    except Refused as refusal:
        log.critical("payment account %s refused a checkout: %s (%s)", account.slug, refusal, refusal.code)
        customers.forget(payment)  # the provider may not know the customer any more: the next press names none
        checkouts.give_up(checkout)
        raise ProviderUnavailable(f"The payment provider refused: {refusal}", elicitation=row.pk) from None
    except (Busy, Unclear) as trouble:
        if isinstance(trouble, Unclear) and trouble.stored:
            checkouts.another_key(checkout)
        log.warning("payment account %s: %s", account.slug, trouble)
        if isinstance(trouble, Broken):
            raise ProviderBroken(TRY_AGAIN, elicitation=row.pk) from None
        raise ProviderUnavailable(TRY_AGAIN, elicitation=row.pk, retry_after=5) from None
    with transaction.atomic():
        checkouts.lock_payment(row)
        locked = Elicitation.objects.select_for_update().get(pk=row.pk)
        if locked.over:
            raise Over(elicitation=row.pk)
        opened = checkouts.opened(checkout, started, vault.seal_url(checkout, started.url))
        # If it was changed meanwhile, another press of the button may have opened it, or the sweep may have ended it.
        if not opened and checkout.status == Checkout.Status.OVER:
            raise ProviderUnavailable(TRY_AGAIN, elicitation=row.pk, retry_after=5)
        if locked.status == Status.PENDING:
            move(row, Status.STARTED)
    return vault.open_url(checkout)


def ask(payment: Payment, checkout: Checkout) -> Ask:
    """What the provider's page is to ask for."""
    back = f"{settings.ELICIT_PUBLIC_URL}/payments/{checkout.account.slug}/return?checkout={checkout.pk}"
    return Ask(
        our_id=checkout.pk,
        mode=_AT_PROVIDER.get(payment.mode, payment.mode),
        amount=payment.amount,
        currency=payment.currency,
        description=payment.description,
        return_url=back,
        cancel_url=back,
        expires_at=checkout.expires_at,
        notify_url=f"{settings.ELICIT_PUBLIC_URL}/inbound/{checkout.account.slug}",
        interval=payment.interval or None,
        trial_days=payment.trial_days,
        customer=customers.of(payment),
        language=checkout.language,
        order=_order(payment, checkout.language),
    )


def _order(payment: Payment, language: str) -> Order | None:
    if payment.order is None:
        return None
    with translation.override(language or None):
        tax_name = gettext("Tax")
    lines = tuple(Line(**line) for line in payment.order["lines"])
    tax = None if payment.max_amount is not None else payment.order["tax"]
    return Order(lines, tax, tax_name, payment.order["number"], payment.order.get("invoice", False))


def back_from_checkout(slug: str, checkout_id: str) -> tuple[Checkout, bool]:
    """A browser comes back from the provider's page, which is only a hint. Returns the checkout, and whether the
    provider has just said that nothing was paid. Raises NotFound.
    """
    rows = Checkout.objects.select_related("payment__elicitation__agent", "account")
    checkout = rows.filter(pk=checkout_id, account__slug=slug).first()
    if checkout is None or (checkout.payment.elicitation is None and checkout.replaces is None):
        raise NotFound("There is no such payment. Open the link again.")
    unpaid = False
    if checkout.status in (Checkout.Status.OPEN, Checkout.Status.PROCESSING):
        try:
            unpaid = settle(checkout)
        except PaymentError as trouble:
            log.warning("payment account %s: %s; the sweep asks again", slug, trouble)
        else:
            # A worker may have looked first, and be replacing the method: the page that follows says what came of it.
            give_up = time.monotonic() + REPLACED_WITHIN
            while checkout.replaces is not None and not unpaid and time.monotonic() < give_up:
                checkout.refresh_from_db(fields=["status"])
                if checkout.status != Checkout.Status.OPEN:
                    break
                time.sleep(POLL)
    return checkout, unpaid


def settle(checkout: Checkout, *, closing: bool = False) -> bool:
    """Ask the provider for the state, and record it. Returns whether nothing was paid. Raises PaymentError.

    ``closing``: close the checkout first, if that is still possible. What the person has agreed to is charged only
    while it is wanted. If the elicitation ends at that very moment, the payment is late, and refunded like any other.
    """
    if not checkout.ref:
        return False
    account, row = vault.account(checkout.account), checkout.payment.elicitation
    provider, asked_at = plug_in(checkout), clock.now()
    with traced("settle", row) if row else nullcontext():
        if closing:
            said = provider.close(account, checkout.ref, f"ef:{checkout.pk}:close")
        else:
            said = provider.fetch(account, checkout.ref)
        if said.state is State.APPROVED:
            if _wanted(checkout, said):
                said = provider.complete(account, checkout.ref, f"ef:{checkout.pk}:complete:{said.agreed}")
            else:
                said = provider.release(account, checkout.ref, f"ef:{checkout.pk}:release:{said.agreed}")
        if checkout.replaces is not None:
            _replace_method(checkout, said)
        else:
            record_settlement(checkout, replace(said, asked_at=asked_at))
    return said.unpaid


def _replace_method(checkout: Checkout, said: Snapshot) -> None:
    """What this checkout has saved takes the place of the former method, at the provider and here, once.

    One of several workers does it, so that a slow one does not bring a method back that was replaced since then.
    """
    bought, now = checkout.payment, None
    standing = method_replacements.standing(bought)
    provider = providers.replacing(checkout.account.provider)
    if said.state is State.SAVED and standing and provider:
        if checkout.status not in checkouts.PAYABLE or not checkouts.look_again(checkout):
            return
        account = vault.account(checkout.account)
        now = provider.fetch(account, standing.ref or "")
        if bought.mode == "subscribe" and not method_replacements.mismatch(checkout, said, now):
            provider.use_method(account, standing.ref or "", said.method or "")
    method_replacements.record(checkout, said, now)


def _wanted(checkout: Checkout, said: Snapshot) -> bool:
    """Whether this checkout may still be charged: it is open, its elicitation is not over, and what the person agreed
    to is what was asked for.
    """
    checkout.refresh_from_db(fields=["status"])
    row = Elicitation.objects.filter(payment__checkouts=checkout).first()
    if checkout.status not in checkouts.PAYABLE or row is None or row.over:
        return False
    charged = replace(said, state=settlement.OF_MODE[checkout.payment.mode])
    problem = settlement.difference(checkout.payment, checkout, charged)
    if problem:
        log.error("payment %s: nothing is charged, because %s", checkout.payment_id, problem)
    return not problem


def record_settlement(checkout: Checkout, said: Snapshot) -> None:
    """Update the payment and the elicitation, with their events, in one transaction."""
    with transaction.atomic():
        payment, fresh = settlement.locked(checkout)
        verdict = settlement.apply(payment, fresh, said)
        row = payment.elicitation
        if verdict is Verdict.PAID and (row or payment.mode != charges.MODE):
            if not complete_paid(row, payment):
                settlement.paid_late(payment, said)
            elif payment.mode == "mandate":
                mandates.given(payment, said)
        elif row is not None:
            if verdict is Verdict.PROCESSING:
                move(row, Status.SETTLING, only=[Status.STARTED])
            elif verdict is Verdict.MISMATCH:
                error = {
                    "code": "payment_mismatch",
                    "message": sentence("The payment differs from what was asked for."),
                }
                move(row, Status.FAILED, only=list(OPEN), error=error)
            elif verdict is Verdict.OVER:
                if said.agreed and settlement.above_maximum(payment, said):
                    move(row, Status.FAILED, only=list(OPEN), error=_above_maximum(payment, said))
                checkout_ended(row)
        if payment.mode == charges.MODE:
            _charge_settled(payment, verdict, said)
        settlement.follow(payment, fresh, said)


def complete_paid(row: Elicitation | None, payment: Payment) -> bool:
    """Complete the elicitation by its payment. False if it was over before; one that is deleted was."""
    if row is None:
        return False
    move(row, Status.SETTLING, only=[Status.STARTED])
    return move(row, Status.COMPLETED, only=[Status.SETTLING], result=result(payment))


def _above_maximum(payment: Payment, said: Snapshot) -> Json:
    """The person agreed at the provider, whose tax made it too much. Another attempt would come to the same."""
    total, most = (amounts.show(one, payment.currency, "en") for one in (said.amount, payment.max_amount or 0))
    what = sentence(
        "With tax the total is %(total)s, more than the agreed maximum of %(most)s. Nothing was charged.",
        total=total,
        most=most,
    )
    return {"code": "total_above_maximum", "message": what}


def _charge_settled(payment: Payment, verdict: Verdict, said: Snapshot) -> None:
    """Tell what became of a charge under a mandate, or send its person a link if the bank wants them."""
    if verdict is Verdict.PAID:
        charge = charges.paid(payment)
        if not charge.mandate.notice:
            notify.schedule_charge(charge)
    elif verdict is Verdict.OVER and payment.elicitation is None:
        if said.failure == AUTHENTICATION_REQUIRED:
            _send_link(payment)
        else:
            charges.failed(payment, said.failure or "declined")


def _send_link(payment: Payment) -> None:
    """The bank wants the person: ask them to pay this one charge on the provider's page. Its room stays reserved."""
    charge, now = charges.of(payment), clock.now()
    asked = kinds.get("payment").clean(
        {
            "amount": payment.amount,
            "currency": payment.currency,
            "description": payment.description,
            "account": payment.account.slug,
            "item": payment.item or None,
            "uses": payment.uses,
        }
    )
    row = Elicitation.objects.create(
        agent=payment.agent,
        kind="payment",
        iss=payment.iss,
        sub=payment.sub,
        message=payment.description,
        params=asked,
        metadata={"mandate": charge.mandate_id, "charge": charge.pk},
        created_at=now,
        expires_at=now + LINK_LASTS,
    )
    payment.elicitation = row
    payment.save(update_fields=["elicitation"])
    MandateCharge.objects.filter(pk=charge.pk).update(failure=AUTHENTICATION_REQUIRED)
    events.publish(payment.agent, "elicitation.created", row.snapshot(), row)
    if notify.may(payment.agent):
        notify.schedule(row)


def checkout_ended(row: Elicitation) -> None:
    """The checkout can no longer be paid. Until the elicitation expires, the person may open another one."""
    row.refresh_from_db(fields=["status", "expires_at"])
    move(row, Status.STARTED, only=[Status.SETTLING])
    if row.overdue:
        move(row, Status.EXPIRED, only=[Status.PENDING, Status.STARTED])
    if row.over:
        _close(row)


def _close(row: Elicitation) -> None:
    if checkouts.close(row):
        payment = Payment.objects.get(elicitation=row)
        if payment.mode == charges.MODE:
            charges.closed(payment, f"elicitation_{row.status}")


def result(payment: Payment) -> Json:
    """The result of a completed elicitation of kind payment."""
    entitlement = getattr(payment, "entitlement", None)
    granted = {"entitlement": entitlement.pk} if entitlement else {}
    if payment.mode == "mandate":
        granted |= {"mandate": payment.mandate.pk}
    subscription = getattr(payment, "subscription", None)
    if subscription:
        granted |= {"subscription": subscription.pk}
    if payment.order and payment.order["number"]:
        granted |= {"order_number": payment.order["number"]}
    if payment.tax is not None:
        granted |= {"tax": payment.tax}
    return {
        "payment": payment.pk,
        "livemode": payment.account.livemode,
        "amount": payment.due_at_once,
        "currency": payment.currency,
        "status": str(payment.status),
        "receipt_url": payment.receipt_url or None,
        **granted,
    }


def paid_already(agent: Agent, claim: Claim, account: PaymentAccount, params: Json) -> Json | None:
    """The result, if the person has already paid for the item as it is asked now, and has not used it up."""
    if not params["item"] or "changes" in params:
        return None
    entitlement = entitlements.valid(agent, claim, account, params)
    return result(entitlement.payment) if entitlement else None


def lock_payment(row: Elicitation) -> None:
    """Lock the payment before the elicitation ends. Call it first in the transaction that ends it."""
    if kinds.get(row.kind).takes_money:
        checkouts.lock_payment(row)


def ends_from(row: Elicitation) -> list[Status]:
    """From where it may be declined or cancelled. A price is changed without a page that could be closed, so not once
    its person has agreed.
    """
    return [Status.PENDING, Status.STARTED] if "changes" in row.params else list(OPEN)


def close_checkouts(row: Elicitation) -> None:
    """Close the checkouts, so that nobody pays any more. Call it in the transaction that ends the elicitation."""
    if kinds.get(row.kind).takes_money:
        _close(row)
        if checkouts.start(row):
            transaction.on_commit(partial(wakeups.wake_workers, PAYMENTS))


def plug_in(checkout: Checkout) -> PaymentProvider:
    return providers.get(checkout.account.provider)
