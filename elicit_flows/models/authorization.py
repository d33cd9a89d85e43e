"""What wallets of the operator's were allowed to pay for agents. Written by ``payments.authorizations`` only."""

from __future__ import annotations

from functools import partial

from django.db import models
from django.utils.translation import gettext_lazy as _

from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT, Json
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.lib import ids
from elicit_flows.lib.clock import now, rfc3339
from elicit_flows.models.agent import Agent
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.models.payment_account import PaymentAccount


class Authorization(models.Model):
    """One payment by HTTP 402 that a person agreed to. ``amount`` is in the token's smallest unit.

    Its signature is not stored: it is made anew from what is here, and is the same each time. ``accepted`` is the way
    to pay as the server wrote it. It outlives the elicitation.
    """

    id = models.CharField(_("ID"), max_length=64, primary_key=True, default=partial(ids.name, "xa"))
    agent = models.ForeignKey(Agent, models.PROTECT, verbose_name=_("agent"), db_index=False)  # the list begins with it
    account = models.ForeignKey(PaymentAccount, models.PROTECT, verbose_name=_("payment account"), db_index=False)
    elicitation = models.OneToOneField(
        Elicitation, models.SET_NULL, verbose_name=_("elicitation"), null=True, related_name="authorization"
    )
    iss = models.CharField(_("issuer (iss)"), max_length=MAX_ISSUER)
    sub = models.CharField(_("user (sub)"), max_length=MAX_SUBJECT)
    url = models.CharField(_("resource"), max_length=2000)
    method = models.CharField(_("method"), max_length=8)
    resource = models.JSONField(default=dict)
    accepted = models.JSONField()
    network = models.CharField(_("network"), max_length=64)
    payee = models.CharField(_("payee"), max_length=42)
    amount = models.BigIntegerField(_("amount"))
    nonce = models.CharField(
        _("nonce"), max_length=66, unique=True
    )  # of EIP-3009: the token's contract takes each once
    idempotency_key = models.CharField(max_length=255, null=True)
    created_at = models.DateTimeField(_("created at"), default=now)
    sign_by = models.DateTimeField(_("to be signed by"))  # what is not signed by then never is, and counts for no limit
    signed_at = models.DateTimeField(_("signed at"), null=True)
    valid_until = models.DateTimeField(_("valid until"), null=True)

    class Meta:
        verbose_name = _("authorization")
        verbose_name_plural = _("authorizations")
        indexes = [
            # the agent's list, newest first; a person's; what counts for a wallet's limit
            models.Index(fields=["agent", "-created_at", "-id"], name="authorization_list"),
            models.Index(fields=["iss", "sub", "-created_at", "-id"], name="authorization_person_list"),
            models.Index(fields=["account", "created_at"], name="authorization_counts"),
            # operators look at all of them, newest first
            models.Index(fields=["created_at"], name="authorization_month"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def status(self) -> str:
        """reserved, signed, or lapsed: it was not signed in time."""
        return "signed" if self.signed_at else "reserved" if self.sign_by > now() else "lapsed"

    def summary(self) -> Json:
        """The authorization as the API returns it."""
        known = NETWORKS[self.network]
        return {
            "id": self.id,
            "object": "authorization",
            "subject": {"iss": self.iss, "sub": self.sub},
            "account": self.account.slug,
            "livemode": self.account.livemode,
            "elicitation": self.elicitation_id,
            "url": self.url,
            "method": self.method,
            "network": self.network,
            "asset": known.asset,
            "symbol": known.symbol,
            "decimals": known.decimals,
            "amount": self.amount,
            "payee": self.payee,
            "status": self.status,
            "created_at": rfc3339(self.created_at),
            "sign_by": rfc3339(self.sign_by),
            "signed_at": rfc3339(self.signed_at),
            "valid_until": rfc3339(self.valid_until),
        }
