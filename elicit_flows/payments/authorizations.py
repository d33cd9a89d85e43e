"""Payments by HTTP 402 from the operator's wallets: reserved with the person's yes, signed for the agent once.

Nothing here calls another server. A signature lets the payee take the amount until it is no longer valid, so a payment
counts from the moment that it is reserved, and whether the payee took it changes nothing.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from elicit_flows import events
from elicit_flows.domain.errors import AlreadyConsumed, Conflict, Invalid, OverLimit
from elicit_flows.domain.values import Claim, Finish, Json
from elicit_flows.kinds.x402 import params as x402
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.kinds.x402.wallet import NO_LONGER, TOO_MUCH, Wallet, refusal
from elicit_flows.lib import amounts, clock
from elicit_flows.models import Agent, Authorization, Elicitation, PaymentAccount

DAY = timedelta(hours=24)
SIGN_WITHIN = timedelta(minutes=10)  # of the person's yes
VALID_FOR = timedelta(minutes=5)  # at most; less if the server wants less
CLOCKS_DIFFER = timedelta(minutes=10)  # by how much the chain's clock may be behind ours
HEADER = "PAYMENT-SIGNATURE"
# Signs with the wallet's key (vault.signed_transfer): the payment, its wallet, and from when until when it is valid.
Transfer = Callable[[Authorization, PaymentAccount, datetime, datetime], Json]


def wallet_of(row: PaymentAccount) -> Wallet:
    return Wallet(
        slug=row.slug,
        address=row.client_id,
        network=row.network,
        max_per_payment=row.max_per_payment or 0,
        max_per_day=row.max_per_day or 0,
        payees=tuple(row.payees),
    )


def choose(wallets: Mapping[str, PaymentAccount], asked: Json) -> None:
    """Put the wallet that pays into ``asked``, and leave it the one way to pay that this wallet takes.

    Raises Invalid with the reason for each wallet and way, and OverLimit if only the amount is too much.
    """
    named = asked["account"]
    tried = [row for slug, row in sorted(wallets.items()) if named in (None, slug)]
    if not tried:
        what = "no wallet" if named is None else f"no wallet {named!r}"
        raise Invalid.at("params.account", f"There is {what} that this agent may use; GET /v1/agent lists them.")
    reasons: list[str] = []
    too_much: Wallet | None = None
    over = 0
    for accepted in asked["challenge"]["accepts"]:
        for row in tried:
            wallet = wallet_of(row)
            why = refusal(wallet, accepted)
            if why:
                reasons.append(f"{row.slug}: {why}")
            elif int(accepted["amount"]) > wallet.max_per_payment:
                too_much, over = wallet, int(accepted["amount"])
            else:
                asked["account"], asked["challenge"]["accepts"] = row.slug, [accepted]
                return
    if too_much:
        known = NETWORKS[too_much.network]
        shown = amounts.token(too_much.max_per_payment, known.decimals, known.symbol, "en")
        said = f"The wallet {too_much.slug!r} pays at most {shown} at a time."
        raise OverLimit(said, {"amount": over, "currency": known.symbol})
    raise Invalid.at("params.challenge", f"It is not paid: {'; '.join(dict.fromkeys(reasons))}.")


def still_pays(account: PaymentAccount, agent: int, accepted: Json) -> bool:
    """Whether the operator allows it now. They may have changed the wallet since the agent asked, or taken it away."""
    given = account.agent_set.filter(pk=agent).exists()
    return given and account.enabled and not refusal(wallet_of(account), accepted)


def reserve(row: Elicitation) -> Finish:
    """The person said yes: reserve the payment against the wallet's limits, in the caller's transaction.

    The wallet is locked, so that two of them cannot both use up the rest. It is read again, because the operator may
    have changed it since the agent asked. The result is a failure if it no longer pays.
    """
    accepted = row.params["challenge"]["accepts"][0]
    account = PaymentAccount.objects.select_for_update().filter(slug=row.params["account"]).first()
    if account is None or not still_pays(account, row.agent_id, accepted):
        return Finish.failed("payment_refused", NO_LONGER)
    wallet, amount = wallet_of(account), int(accepted["amount"])
    if amount > wallet.max_per_payment or amount > wallet.max_per_day - spent(account):
        return Finish.failed("over_limit", TOO_MUCH)
    now = clock.now()
    made = Authorization.objects.create(
        agent=row.agent,
        account=account,
        elicitation=row,
        iss=row.iss,
        sub=row.sub,
        url=row.params["url"],
        method=row.params["method"],
        resource=row.params["challenge"]["resource"],
        accepted=accepted,
        network=wallet.network,
        payee=accepted["payTo"],
        amount=amount,
        nonce=f"0x{secrets.token_hex(32)}",
        created_at=now,
        sign_by=now + SIGN_WITHIN,
    )
    known = NETWORKS[made.network]
    return Finish(
        "completed",
        result={
            "authorization": made.pk,
            "livemode": account.livemode,
            "network": made.network,
            "payee": made.payee,
            "amount": amount,
            "symbol": known.symbol,
            "sign_by": clock.rfc3339(made.sign_by),
        },
    )


def spent(account: PaymentAccount) -> int:
    """What counts for the wallet in the last 24 hours: signed, or still to be signed."""
    now = clock.now()
    recent = Q(created_at__gt=now - DAY) | Q(signed_at__gt=now - DAY)
    rows = Authorization.objects.filter(recent, Q(signed_at__isnull=False) | Q(sign_by__gt=now), account=account)
    return int(rows.aggregate(sum=Sum("amount"))["sum"] or 0)


def sign(authorization: Authorization, key: str | None, transfer: Transfer) -> tuple[Json, bool]:
    """The header that pays, for the agent, once: ``{authorization, name, value, url, method, valid_until}``.

    Returns it, and whether a call with the same ``key`` had it before. Raises AlreadyConsumed for another key, Conflict
    when it is too late or the wallet no longer pays, and Unavailable.
    """
    with transaction.atomic():
        # First the wallet, as in ``reserve``: what is signed at the last moment is still counted there.
        account = PaymentAccount.objects.select_for_update().get(pk=authorization.account_id)
        row = Authorization.objects.select_for_update().get(pk=authorization.pk)
        now, signed_at, until = clock.now(), row.signed_at, row.valid_until
        if signed_at and (key is None or row.idempotency_key != key):
            raise AlreadyConsumed("This payment was signed already: do not pay with it again.")
        if (until or row.sign_by) <= now:
            raise Conflict("It is too late to pay with this authorization. Ask again.")
        if not still_pays(account, row.agent_id, row.accepted):
            raise Conflict(NO_LONGER)
        known = signed_at is not None
        if signed_at is None or until is None:
            signed_at = now.replace(microsecond=0)
            until = signed_at + min(VALID_FOR, timedelta(seconds=row.accepted["maxTimeoutSeconds"]))
            row.signed_at, row.valid_until, row.idempotency_key = signed_at, until, key
        payload = transfer(row, account, signed_at - CLOCKS_DIFFER, until)
        if not known:
            row.save(update_fields=["signed_at", "idempotency_key", "valid_until"])
            events.publish(row.agent, "payment.authorized", {"authorization": row.summary()}, row.elicitation)
    said = {"x402Version": x402.VERSION, "payload": payload, "accepted": row.accepted}
    if row.resource.get("url"):
        said["resource"] = row.resource
    return {
        "object": "payment_header",
        "authorization": row.pk,
        "name": HEADER,
        "value": base64.b64encode(json.dumps(said, separators=(",", ":")).encode()).decode(),
        "url": row.url,
        "method": row.method,
        "valid_until": clock.rfc3339(until),
    }, known


def of_agent(agent: Agent) -> QuerySet[Authorization]:
    return Authorization.objects.filter(agent=agent).select_related("account", "agent", "elicitation")


def by_person(claim: Claim) -> QuerySet[Authorization]:
    """What this person agreed to, for all agents."""
    return Authorization.objects.filter(iss=claim.iss, sub=claim.sub).select_related("account", "agent")


def forget_person(claim: Claim, name: str, until: datetime) -> None:
    """Give their entries from before ``until`` to ``name``. The address stays out of the books: it can say who it was
    for.
    """
    by_person(claim).filter(created_at__lte=until).update(iss="", sub=name, url="", resource={})
