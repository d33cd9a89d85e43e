"""Charges under a mandate: claim, act, record.

The charge is reserved against every limit and committed, then the provider is asked under a key that is made of its
checkout's id, then the answer is settled like that of every payment. What a lost answer or a dead process leaves behind
is looked up by the sweep (``recover``): it is never asked for under a second key.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db import transaction

from elicit_flows import events, vault
from elicit_flows.domain.errors import Conflict, NotFound, OverLimit, Unavailable
from elicit_flows.domain.values import Claim, Json
from elicit_flows.elicitations import notify, payment
from elicit_flows.elicitations.payment_cancellation import tell_provider
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import PaymentError, Refused
from elicit_flows.kinds.payment.values import Snapshot, State
from elicit_flows.lib import clock, health
from elicit_flows.models import Agent, Checkout, Mandate, MandateCharge, Payment
from elicit_flows.payments import cancellations, charges, queries

log = logging.getLogger(__name__)
# A request to the provider that is still on its way has arrived by then, so what is not found does not exist.
ARRIVES_WITHIN = timedelta(minutes=5)


def charge_mandate(
    agent: Agent, mandate: Mandate, asked: Json, key: str, fingerprint: str
) -> tuple[MandateCharge, bool]:
    """Charge under the mandate, now or at the time that was announced. Returns the charge as it stands after the
    attempt, and whether an earlier request made it.

    Raises Conflict, OverLimit, IdempotencyMismatch.
    """
    try:
        with transaction.atomic():
            made, known = charges.reserve(mandate, asked, key, fingerprint)
            if not known and mandate.notice:
                notify.schedule_charge(made)
    except OverLimit as refused:
        # Tells the agent's owner: somebody should look at a program that charges more than it may.
        subject = {"iss": mandate.iss, "sub": mandate.sub}
        with transaction.atomic():
            data = {"subject": subject, **refused.asked, "problem": refused.detail, "mandate": mandate.pk}
            events.publish(agent, "payment.over_limit", data)
        raise
    checkout = made.payment.checkouts.select_related("account", "payment").get(off_session=True)
    if not known and made.at <= clock.now():
        try:
            with payment.slow_accounts.timed(checkout.account_id):
                _make(charges.of(made.payment), checkout)
        except (PaymentError, Unavailable) as trouble:
            _not_made(checkout, trouble)
    return queries.charges_of(mandate).get(pk=made.pk), known


def _make(charge: MandateCharge, checkout: Checkout) -> None:
    """Ask the provider, and record what it says. Raises PaymentError."""
    key = f"ef:{checkout.pk}:charge"
    provider = providers.charging(checkout.account.provider)
    _record(checkout, provider.charge(vault.account(checkout.account), charges.to_make(charge, checkout), key))


def _record(checkout: Checkout, said: Snapshot) -> None:
    with transaction.atomic():
        Payment.objects.select_for_update().get(pk=checkout.payment_id)
        Checkout.objects.filter(pk=checkout.pk, ref=None).update(ref=said.ref)
        payment.record_settlement(checkout, said)


def _not_made(checkout: Checkout, trouble: Exception) -> None:
    """The provider did not say what became of it. If it refused, nothing did; otherwise the sweep looks."""
    health.failed("payment", checkout.account.slug, type(trouble).__name__)
    if isinstance(trouble, Refused):
        log.critical("payment account %s refused a charge: %s (%s)", checkout.account.slug, trouble, trouble.code)
        charges.give_up(checkout, trouble.code)
    else:
        log.warning("payment account %s: %s; charge %s is looked at later", checkout.account.slug, trouble, checkout.pk)


def recover(checkout: Checkout) -> None:
    """Take up a charge that is not known to have been made: it is announced and due, or its answer was lost.

    If the provider has it, that is the answer. If not, it is made, under the same key, if the mandate still allows it.
    Raises PaymentError.
    """
    charge = charges.of(checkout.payment)
    provider, account = providers.charging(checkout.account.provider), vault.account(checkout.account)
    asked = charges.to_make(charge, checkout)
    ref = provider.find_charge(account, asked)
    if ref is not None:
        said = provider.fetch(account, ref)
        if said.state is State.OPEN:
            said = provider.close(account, ref, f"ef:{checkout.pk}:close")
        _record(checkout, said)
    elif charges.still_allowed(charge, checkout):
        try:
            _make(charge, checkout)
        except Refused as refusal:
            _not_made(checkout, refusal)
    elif charge.at + ARRIVES_WITHIN < clock.now():  # the last attempt, if there was one
        charges.give_up(checkout, "not_made")


def end_mandate(mandate: Mandate, by: Mandate.By) -> None:
    """End it: nothing more is charged from now on. The saved method is removed at the provider, later if that does not
    answer now. Ending it twice is harmless.
    """
    if mandate.status == Mandate.Status.ENDED:
        return
    row = cancellations.ask(mandate.payment, by)
    if row.try_at:
        tell_provider(row)


def refuse_charge(mandate: Mandate, charge_id: str) -> None:
    """The person refuses a charge that was announced. Raises NotFound, and Conflict if it is too late.

    The mandate is locked, as in ``still_allowed``: either the charge is refused, or it is about to be made.
    """
    with transaction.atomic():
        Mandate.objects.select_for_update().get(pk=mandate.pk)
        charge = queries.charges_of(mandate).filter(pk=charge_id).first()
        if charge is None:
            raise NotFound("There is no such charge.")
        if charge.status != "announced":
            raise Conflict("It is too late to refuse this charge.")
        charges.give_up(charge.payment.checkouts.get(off_session=True), "refused")


def own_mandate(claim: Claim, mandate_id: str) -> Mandate:
    """A mandate of this person. Raises NotFound."""
    row = queries.mandates_by(claim).filter(pk=mandate_id).first()
    if row is None:
        raise NotFound("You have no such permission.")
    return row
