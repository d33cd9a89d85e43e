"""One row of every model. Each place that holds a secret contains a canary: a text that a search can find."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from django.db import transaction

from elicit_flows import events, vault
from elicit_flows.config_file import agents
from elicit_flows.domain.values import Claim, Grant, Secret
from elicit_flows.lib import clock, ids
from elicit_flows.models import (
    Agent,
    Attempt,
    Checkout,
    Delivery,
    Elicitation,
    Event,
    IdentityProvider,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
)

ISSUER = "https://idp.example.com"
ALICE = Claim(ISSUER, "alice")

API_KEY = "canary-api-key-0123456789-0123456789"
OPENID_SECRET = "canary-secret-at-the-identity-provider"
OAUTH_SECRET = "canary-secret-at-the-provider"
HOOK = "whsec_" + "canary" + "A" * 37 + "="
OLD_HOOK = "whsec_" + "canary" + "B" * 37 + "="
ACCESS, REFRESH = "canary-access-token", "canary-refresh-token"
VERIFIER = "canary-verifier"
PAY_KEY, PAY_HOOK = "sk_test_canary_payment_key", "whsec_canary_payment_hook"
PAY_URL = "https://checkout.example.com/canary-page"
CANARIES = (
    API_KEY, OPENID_SECRET, OAUTH_SECRET, HOOK, OLD_HOOK, ACCESS, REFRESH, VERIFIER, PAY_KEY, PAY_HOOK, PAY_URL,
)  # fmt: skip


@dataclass
class Rows:
    openid: IdentityProvider
    provider: Provider
    agent: Agent
    connection: vault.Connection
    elicitation: Elicitation
    attempt: Attempt
    event: Event
    delivery: Delivery
    account: PaymentAccount
    payment: Payment
    checkout: Checkout
    refund: Refund

    def sealed(self) -> list[str]:
        """Every sealed text and every hash that there is."""
        return [
            self.openid.client_secret,
            self.provider.client_secret,
            self.agent.key_hash,
            self.agent.webhook_secret,
            self.agent.webhook_secret_previous,
            self.connection.access_token,
            self.connection.refresh_token,
            self.attempt.stash,
            self.attempt.state_hash,
            self.account.secret_key,
            self.account.webhook_secrets,
            self.checkout.url,
        ]

    def refresh(self) -> Rows:
        for field in fields(self):
            getattr(self, field.name).refresh_from_db()
        return self


def agent(slug: str = "drive-bot", webhook_url: str = "https://drive-bot.example.com/hooks") -> Agent:
    row = Agent(slug=slug, name=slug.title(), webhook_url=webhook_url)
    agents.set_api_key(row, Secret(API_KEY + slug.removeprefix("drive-bot")))
    agents.set_webhook_secret(row, Secret(OLD_HOOK))
    agents.set_webhook_secret(row, Secret(HOOK))
    row.save()
    return row


def elicitation(asking: Agent, sub: str = "alice") -> Elicitation:
    return Elicitation.objects.create(
        agent=asking,
        kind="oauth",
        iss=ISSUER,
        sub=sub,
        message="Connect your drive.",
        params={"provider": "drive", "scopes": []},
        expires_at=clock.now() + timedelta(hours=1),
    )


def make() -> Rows:
    openid = IdentityProvider(slug="corp", issuer=ISSUER, client_id="elicit", scopes=["openid"])
    vault.seal_client_secret(openid, Secret(OPENID_SECRET))
    openid.save()
    provider = Provider(slug="drive", name="Drive", client_id="ours", issuer="https://drive.example.com")
    vault.seal_client_secret(provider, Secret(OAUTH_SECRET))
    provider.save()
    asking = agent()
    asking.identity_providers.set([openid])
    row = elicitation(asking)
    state_hash = ids.digest("canary-state")
    attempt = Attempt.objects.create(
        elicitation=row,
        state_hash=state_hash,
        browser_hash=ids.digest("browser"),
        stash=vault.seal_stash({"verifier": VERIFIER}, state_hash),
        created_at=clock.now(),
        expires_at=clock.now() + timedelta(minutes=10),
    )
    grant = Grant(Secret(ACCESS), Secret(REFRESH), "Bearer", None, ("files.read",), "a-1", "alice@drive")
    with transaction.atomic():
        connection = vault.keep(asking, ALICE, provider, grant)
        event = events.publish(asking, "elicitation.created", row.snapshot(), row)
    delivery = Delivery.objects.get(event=event)
    return Rows(openid, provider, asking, connection, row, attempt, event, delivery, *_money(asking)).refresh()


def payment(asking: Agent, account: PaymentAccount, **more: Any) -> Payment:
    """12.50 EUR, paid."""
    usual = {
        "mode": "pay", "amount": 1250, "currency": "eur", "description": "A report", "status": "paid",
        "payment_ref": ids.name("pi"), "paid_at": clock.now(), "elicitation": elicitation(asking),
    }  # fmt: skip
    return Payment.objects.create(agent=asking, account=account, iss=ISSUER, sub="alice", **{**usual, **more})


def _money(asking: Agent) -> tuple[PaymentAccount, Payment, Checkout, Refund]:
    account = PaymentAccount(slug="main", provider="stripe")
    vault.seal_account(account, Secret(PAY_KEY), [Secret(PAY_HOOK)])
    account.save()
    paid = payment(asking, account)
    checkout = Checkout(payment=paid, account=account, status="open", ref="cs_1", expires_at=clock.now())
    checkout.url = vault.seal_url(checkout, PAY_URL)
    checkout.save()
    refund = Refund.objects.create(
        payment=paid, payment_ref=paid.payment_ref, amount=250, by="agent", status="done", reason="=1+1"
    )
    return account, paid, checkout, refund


# What the browser sends for the list of an agent's spend limits when there are none.
NO_LIMITS = {"spend_limits-TOTAL_FORMS": "0", "spend_limits-INITIAL_FORMS": "0"}
