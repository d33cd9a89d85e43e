"""Rows for tests that run the code inside the test process, as ``manage.py apply`` and finished flows make them."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connections, transaction
from pytest_django import DjangoDbBlocker

from elicit_flows import identity, vault
from elicit_flows.domain.values import Claim, Grant, Secret
from elicit_flows.lib import clock, ids
from elicit_flows.models import (
    Agent,
    Attempt,
    Authorization,
    Brand,
    Cancellation,
    Checkout,
    Connection,
    ConnectionCall,
    ConnectionUse,
    Contact,
    Customer,
    Delivery,
    Draft,
    Elicitation,
    Entitlement,
    EntitlementUse,
    Erasure,
    Event,
    Feed,
    Health,
    IdentityAssertion,
    IdentityProvider,
    Inbound,
    Invitation,
    LoginAssertion,
    Mandate,
    MandateCharge,
    Member,
    Notification,
    NotificationSettings,
    Operator,
    OptOut,
    Passkey,
    Payment,
    PaymentAccount,
    PendingGrant,
    PriceChange,
    PushSubscription,
    ReceiptKey,
    Recipient,
    Refund,
    Registration,
    Renewal,
    SignedIn,
    SignOut,
    SpendLimit,
    Subscription,
    Tally,
    UserCode,
    VaultKey,
)
from elicit_flows.models import Provider as ProviderRow
from tests.cast import Program, program
from tests.doubles.provider import Provider
from tests.support.environment import FULL, HOME
from tests.support.in_process import default_database

ISSUER = "https://idp.test"
ALICE_CLAIM = Claim(ISSUER, "alice")

# Children before parents, as the foreign keys want it.
OURS = (
    Brand, Notification, OptOut, Contact, PushSubscription, Recipient, NotificationSettings,
    Authorization, Delivery, Event, Feed, Attempt, PendingGrant, ConnectionCall, ConnectionUse, Connection,
    EntitlementUse, Entitlement, MandateCharge, Mandate, PriceChange, Renewal, Subscription, Refund, Cancellation,
    Inbound, Checkout, Payment, Draft, UserCode, Elicitation,
    Agent.identity_providers.through, Agent.providers.through, Agent.payment_accounts.through, SpendLimit, Agent,
    Customer, ReceiptKey, PaymentAccount, Registration, ProviderRow, LoginAssertion, IdentityAssertion,
    IdentityProvider, VaultKey, SignedIn, Session, SignOut, Erasure, Operator,
    LogEntry, User.groups.through, User, Tally, Health, Passkey,
    Invitation, Member,
)  # fmt: skip
EMPTIED = [f'"{model._meta.db_table}"' for model in OURS]


@pytest.fixture(scope="session")
def committed_database(request: pytest.FixtureRequest) -> str:
    """The address of the database that ``committed`` uses: SQLite, or PostgreSQL where TEST_SHAPE says so."""
    if FULL:
        return str(request.getfixturevalue("postgres").database())
    shutil.copy(request.getfixturevalue("migrated_sqlite"), HOME / "committed.sqlite3")
    return f"sqlite:///{HOME}/committed.sqlite3"


@pytest.fixture
def committed(committed_database: str, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database where every thread sees what another committed; emptied after each test.

    It does what pytest-django's ``transactional_db`` does, in a tenth of the time.
    """
    with default_database(committed_database, django_db_blocker):
        yield
        # In one transaction: a thread of the test may still be writing.
        with transaction.atomic(), connections["default"].cursor() as cursor:
            cursor.execute("SELECT " + ", ".join(f"EXISTS (SELECT 1 FROM {name})" for name in EMPTIED))
            for name, filled in zip(EMPTIED, cursor.fetchone(), strict=True):
                if filled:
                    cursor.execute(f"DELETE FROM {name}")


@dataclass(frozen=True)
class Known:
    """An agent's row with what only its owner knows."""

    row: Agent
    who: Program

    def client(self, url: str, **options: Any) -> httpx2.Client:
        """The API as this agent."""
        headers = {"authorization": f"Bearer {self.who.api_key}"}
        return httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=30, **options)


def agent(slug: str = "", *, webhook_url: str = "", **more: Any) -> Known:
    """An agent that nobody used before; it may ask users of ``ISSUER``."""
    who = program(slug or f"agent-{secrets.token_hex(6)}")
    row = Agent(
        slug=who.slug, name=who.name, key_hash=ids.digest(who.api_key), key_hint=who.api_key[:6],
        webhook_url=webhook_url, **more,
    )  # fmt: skip
    vault.seal_webhook_secret(row, Secret(who.webhook_secret))
    row.save()
    row.identity_providers.add(identity_provider())
    return Known(row, who)


def identity_provider() -> IdentityProvider:
    row, _ = IdentityProvider.objects.get_or_create(
        slug="corp", defaults={"issuer": ISSUER, "client_id": "elicit", "scopes": ["openid"]}
    )
    return row


def signed_in(by: IdentityProvider, sub: str = "alice") -> identity.SignedIn:
    """What comes of a sign-in there, with tokens that can be shown again."""
    issued = identity.Issued(Secret("the-id-token"), clock.now() + timedelta(hours=1), Secret("the-refresh-token"))
    return identity.SignedIn(Claim(by.issuer, sub), None, sub.title(), issued=issued)


def provider(double: Provider | None = None, slug: str = "drive", **more: Any) -> ProviderRow:
    """The row of a provider; with ``double`` its endpoints and credentials are the double's."""
    at = double.url if double else "https://drive.test"
    row = ProviderRow(
        slug=slug, name=slug.title(), client_id="elicit", scopes=["files.read"], authorize_url=f"{at}/authorize",
        token_url=f"{at}/token", revocation_url=f"{at}/revoke", userinfo_url=f"{at}/userinfo", **more,
    )  # fmt: skip
    vault.seal_client_secret(row, Secret(double.client_secret or "" if double else "s3cret"))
    row.save()
    return row


def grant(double: Provider | None = None, *, expires_in: int = 3600, account: str | None = "alice") -> Grant:
    """With ``double`` its tokens are real there: issued for a code, as at the end of a flow."""
    access, refresh = f"at-{secrets.token_hex(8)}", f"rt-{secrets.token_hex(8)}"
    if double:
        with httpx2.Client(trust_env=False, auth=(double.client_id, double.client_secret or "")) as client:
            code = double.code({"redirect_uri": "x", "scope": "files.read"})
            form = {"grant_type": "authorization_code", "code": code, "redirect_uri": "x"}
            issued = client.post(f"{double.url}/token", data=form).json()
        access, refresh = issued["access_token"], issued["refresh_token"]
        double.calls.clear()
    return Grant(
        Secret(access), Secret(refresh), "Bearer", clock.now() + timedelta(seconds=expires_in), ("files.read",),
        account_id=account, account_label=account,
    )  # fmt: skip


def connection(owner: Known, at: ProviderRow, given: Grant | None = None, claim: Claim = ALICE_CLAIM) -> Connection:
    with transaction.atomic():
        return vault.keep(owner.row, claim, at, given or grant())


def expire(*rows: Connection) -> None:
    """Their access tokens ran out a minute ago."""
    now = clock.now()
    Connection.objects.filter(pk__in=[row.pk for row in rows]).update(
        issued_at=now - timedelta(hours=1), expires_at=now - timedelta(minutes=1)
    )


def question(**more: Any) -> dict[str, Any]:
    """The body of a create that is acceptable once there is a provider ``drive``."""
    usual = {
        "kind": "oauth", "subject": {"iss": ISSUER, "sub": "alice"}, "message": "Connect your drive.",
        "params": {"provider": "drive", "scopes": ["files.read"]},
    }  # fmt: skip
    return {**usual, **more}
