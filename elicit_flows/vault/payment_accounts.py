"""Keys, webhook secrets and checkout addresses of payment accounts, sealed in their rows."""

from __future__ import annotations

import json

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account
from elicit_flows.models import Checkout, PaymentAccount
from elicit_flows.vault.seal import place, reveal, seal


def seal_account(row: PaymentAccount, secret_key: Secret, webhook_secrets: list[Secret]) -> None:
    """Seal the secrets into the row; the caller saves it."""
    row.secret_key = seal(secret_key, account_place(row, "secret_key"))
    texts = [secret.reveal() for secret in webhook_secrets if secret.reveal()]  # anybody can sign with an empty one
    several = Secret(json.dumps(texts)) if texts else None
    row.webhook_secrets = seal(several, account_place(row, "webhook_secrets"))


def account(row: PaymentAccount) -> Account:
    """The account with its secrets opened, for its payment provider's plug-in. Raises Unavailable if they cannot be
    opened.
    """
    key = reveal(row.secret_key, account_place(row, "secret_key"))
    several = reveal(row.webhook_secrets, account_place(row, "webhook_secrets"))
    return Account(
        slug=row.slug,
        provider=row.provider,
        secret_key=key or Secret(""),
        webhook_secrets=tuple(Secret(one) for one in json.loads(several.reveal())) if several else (),
        api_base=row.api_base or None,
        livemode=row.livemode,
        client_id=row.client_id,
        connected_account=row.connected_account,
        application_fee_basis_points=row.application_fee_basis_points,
    )


def account_place(row: PaymentAccount, field: str) -> str:
    return place("paymentaccount", row.slug, field)


def seal_url(checkout: Checkout, url: str) -> str:
    return seal(Secret(url), url_place(checkout))


def open_url(checkout: Checkout) -> str | None:
    """The address where this checkout can be paid; None if it can no longer be paid."""
    url = reveal(checkout.url, url_place(checkout))
    return url.reveal() if url else None


def url_place(checkout: Checkout) -> str:
    return place("checkout", checkout.id, "url")
