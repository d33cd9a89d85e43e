"""The line where money is asked for: the way to the provider's page, and what became of it.

A return, a webhook and the sweep are hints alike. Whoever follows one asks the provider and applies its answer under a
lock; nothing else says that something is paid.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction

from elicit_flows import kinds, vault
from elicit_flows.errors import NotFound, Over, ProviderBroken, ProviderUnavailable
from elicit_flows.flow.moving import move, traced
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Broken, Busy, PaymentError, PaymentProvider, Refused, Unclear
from elicit_flows.kinds.payment.values import Ask, Snapshot
from elicit_flows.ledger import checkouts, customers, entitlements, truth
from elicit_flows.ledger.truth import Verdict
from elicit_flows.models import Agent, Checkout, Elicitation, Payment
from elicit_flows.queue import bell
from elicit_flows.states import OPEN, Status
from elicit_flows.values import Claim, Json

log = logging.getLogger(__name__)
_TRY_AGAIN = "The payment provider does not answer now. Try again in a moment."


def leave(row: Elicitation) -> str | None:
    """The page where the right user may pay; the same page as long as it can be paid. None when they have done so.

    Raises ProviderUnavailable, Over.
    """
    payment = Payment.objects.select_related("account").get(elicitation=row)
    checkout = checkouts.payable(payment) or _reserved(payment, row)
    if checkout.status == Checkout.Status.OPEN:
        return vault.open_url(checkout)
    if checkout.status == Checkout.Status.PROCESSING:
        return None
    return _open(row, payment, checkout)


def _reserved(payment: Payment, row: Elicitation) -> Checkout:
    try:
        with transaction.atomic():
            return checkouts.reserve(payment, row.expires_at)
    except IntegrityError:  # the other press was quicker
        other = checkouts.payable(payment)
        if other is None:
            raise
        return other


def _open(row: Elicitation, payment: Payment, checkout: Checkout) -> str | None:
    """Ask the provider for the page. Two that do so at once use one key, and get one page."""
    if not checkout.account.enabled:
        raise ProviderUnavailable("This payment account is switched off.", elicitation=row.pk)
    account = vault.account(checkout.account)
    key = f"ef:{checkout.pk}:start:{checkout.key_number}"
    try:
        started = plug_in(checkout).start(account, _ask(payment, checkout), key)
    except Refused as refusal:
        log.critical("payment account %s refused a checkout: %s (%s)", account.slug, refusal, refusal.code)
        customers.forget(payment)  # it may be that the provider knows them no more: the next press goes without
        checkouts.give_up(checkout)
        raise ProviderUnavailable(f"The payment provider refused: {refusal}", elicitation=row.pk) from None
    except (Busy, Unclear) as trouble:
        if isinstance(trouble, Unclear) and trouble.stored:
            checkouts.another_key(checkout)
        log.warning("payment account %s: %s", account.slug, trouble)
        if isinstance(trouble, Broken):
            raise ProviderBroken(_TRY_AGAIN, elicitation=row.pk) from None
        raise ProviderUnavailable(_TRY_AGAIN, elicitation=row.pk, retry_after=5) from None
    with transaction.atomic():
        checkouts.hold(row)
        locked = Elicitation.objects.select_for_update().get(pk=row.pk)
        if locked.over:
            raise Over(elicitation=row.pk)
        if not checkouts.opened(checkout, started, vault.seal_url(checkout, started.url)):
            _check_alive(checkout, row)
        if locked.status == Status.PENDING:
            move(row, Status.STARTED)
    return vault.open_url(checkout)


def _check_alive(checkout: Checkout, row: Elicitation) -> None:
    """The other press of the button may have been quicker. Raises ProviderUnavailable when it was the sweep."""
    if checkout.status == Checkout.Status.OVER:
        raise ProviderUnavailable(_TRY_AGAIN, elicitation=row.pk, retry_after=5)


def _ask(payment: Payment, checkout: Checkout) -> Ask:
    back = f"{settings.ELICIT_PUBLIC_URL}/payments/{checkout.account.slug}/return?checkout={checkout.pk}"
    asked: Json = payment.elicitation.params if payment.elicitation else {}
    return Ask(
        our_id=checkout.pk,
        mode=payment.mode,
        amount=payment.amount,
        currency=payment.currency,
        description=payment.description,
        return_url=back,
        cancel_url=back,
        expires_at=checkout.expires_at,
        notify_url=f"{settings.ELICIT_PUBLIC_URL}/inbound/{checkout.account.slug}",
        interval=asked.get("interval"),
        customer=customers.of(payment),
    )


def returned(slug: str, checkout_id: str) -> Elicitation:
    """A browser comes back from the provider's page: a hint, whoever brings it. Raises NotFound."""
    rows = Checkout.objects.select_related("payment__elicitation__agent", "account")
    checkout = rows.filter(pk=checkout_id, account__slug=slug).first()
    if checkout is None or checkout.payment.elicitation is None:
        raise NotFound("There is no such payment. Open the link again.")
    if checkout.status in (Checkout.Status.OPEN, Checkout.Status.PROCESSING):
        try:
            settle(checkout)
        except PaymentError as trouble:
            log.warning("payment account %s: %s; the sweep asks again", slug, trouble)
    return checkout.payment.elicitation


def settle(checkout: Checkout) -> None:
    """Ask the provider how it stands and make it so here. Raises PaymentError."""
    if checkout.ref:
        account, row = vault.account(checkout.account), checkout.payment.elicitation
        with traced("settle", row) if row else nullcontext():
            conclude(checkout, plug_in(checkout).fetch(account, checkout.ref))


def conclude(checkout: Checkout, said: Snapshot) -> None:
    """The payment, the elicitation and their events, all or nothing."""
    with transaction.atomic():
        payment, fresh = truth.locked(checkout)
        verdict = truth.apply(payment, fresh, said)
        row = payment.elicitation
        if row is not None:
            _move(row, payment, verdict, said)
        truth.follow(payment, fresh, said)


def _move(row: Elicitation, payment: Payment, verdict: Verdict, said: Snapshot) -> None:
    if verdict is Verdict.PROCESSING:
        move(row, Status.SETTLING, only=[Status.STARTED])
    elif verdict is Verdict.PAID:
        move(row, Status.SETTLING, only=[Status.STARTED])
        if not move(row, Status.COMPLETED, only=[Status.SETTLING], result=result(payment)):
            truth.late(payment, said)
    elif verdict is Verdict.MISMATCH:
        error = {"code": "payment_mismatch", "message": "Money came otherwise than it was asked for."}
        move(row, Status.FAILED, only=list(OPEN), error=error)
    elif verdict is Verdict.OVER:
        over(row)


def over(row: Elicitation) -> None:
    """This page brings nothing any more. While there is time the person may go to another."""
    row.refresh_from_db(fields=["status", "expires_at"])
    move(row, Status.STARTED, only=[Status.SETTLING])
    if row.overdue:
        move(row, Status.EXPIRED, only=[Status.PENDING, Status.STARTED])
    if row.over:
        checkouts.close(row)


def result(payment: Payment) -> Json:
    """What a completed elicitation of kind payment answers (contract, section 4)."""
    entitlement = getattr(payment, "entitlement", None)
    granted = {"entitlement": entitlement.pk} if entitlement else {}
    return {
        "payment": payment.pk,
        "amount": payment.amount,
        "currency": payment.currency,
        "status": str(payment.status),
        "receipt_url": payment.receipt_url or None,
        **granted,
    }


def already(agent: Agent, claim: Claim, params: Json) -> Json | None:
    """The result of an elicitation for an item that was paid for, and is not used up."""
    entitlement = entitlements.valid(agent, claim, params["item"]) if params["item"] else None
    return result(entitlement.payment) if entitlement else None


def hold(row: Elicitation) -> None:
    """What is asked for is about to end: its money first. In the transaction that ends it."""
    if kinds.get(row.kind).takes_money:
        checkouts.hold(row)


def drop(row: Elicitation) -> None:
    """The elicitation is over: nobody is to pay any more. In the transaction that ended it."""
    if kinds.get(row.kind).takes_money:
        checkouts.close(row)
        if checkouts.look_now(row):
            transaction.on_commit(partial(bell.ring_workers, bell.Work.SWEEP))


def plug_in(checkout: Checkout) -> PaymentProvider:
    return providers.get(checkout.account.provider)
