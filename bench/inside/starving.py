"""What falls due for others while some receivers hang: refreshes, expiry, looks at payments; and when it was done."""

from __future__ import annotations

from datetime import datetime, timedelta

from bench.inside.delivering import MESSAGE
from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.lib import clock, ids
from elicit_flows.models import Agent, Checkout, Connection, Elicitation, IdentityProvider, Payment, PaymentAccount

AHEAD = timedelta(seconds=1)


def fall_due(slug: str, count: int, seconds: float, api_base: str) -> dict[str, float]:
    """``count`` of each, one after the other from a second on; when each look at a payment is due, by its reference.

    The connections are those of the agent, which have to be there.
    """
    agent, first = Agent.objects.get(slug=slug), clock.now() + AHEAD
    moments = [first + timedelta(seconds=seconds) * number / count for number in range(count)]
    for row, moment in zip(Connection.objects.filter(agent=agent).order_by("pk"), moments, strict=True):
        due = {"refresh_due_at": moment, "expires_at": moment, "issued_at": moment, "last_used_at": moment}
        Connection.objects.filter(pk=row.pk).update(**due, created_at=moment)
    Elicitation.objects.filter(agent=agent).delete()
    issuer = IdentityProvider.objects.get().issuer
    asked = [
        Elicitation(
            agent=agent, kind="confirm", iss=issuer, sub=f"user-{number}", message=MESSAGE, params={}, expires_at=moment
        )
        for number, moment in enumerate(moments)
    ]  # fmt: skip
    Elicitation.objects.bulk_create(asked)
    return {row.ref or "": row.look_at.timestamp() for row in _checkouts(agent, moments, api_base) if row.look_at}


def _checkouts(agent: Agent, moments: list[datetime], api_base: str) -> list[Checkout]:
    account = PaymentAccount.objects.filter(slug="till").first()
    if account is None:
        account = PaymentAccount(slug="till", provider="stripe", api_base=api_base)
        vault.seal_account(account, Secret("sk_test_bench"), [Secret("whsec_bench")])
        account.save()
    Checkout.objects.update(look_at=None)
    paid = [
        Payment(agent=agent, account=account, iss="https://people.test", sub="user", mode="pay", amount=1999,
                currency="eur", description="A report", status=Payment.Status.PAID, paid_at=moment)
        for moment in moments
    ]  # fmt: skip
    Payment.objects.bulk_create(paid)
    return Checkout.objects.bulk_create(
        Checkout(
            payment=payment, account=account, status=Checkout.Status.PAID, ref=ids.name("cs"), expires_at=moment,
            look_at=moment,
        )
        for payment, moment in zip(paid, moments, strict=True)
    )  # fmt: skip


def was_done(slug: str) -> dict[str, list[float]]:
    """Seconds from the time that each was due until it was done; of what is not done, until now."""
    now = clock.now()
    refreshed = Connection.objects.filter(agent__slug=slug).values_list("last_used_at", "issued_at", "generation")
    expired = Elicitation.objects.filter(agent__slug=slug).values_list("expires_at", "finished_at")
    return {
        "refresh": [
            ((at if at > due else now) - due).total_seconds() for due, at, _ in refreshed if due is not None
        ],
        "expiry": [((at or now) - due).total_seconds() for due, at in expired],
    }  # fmt: skip
