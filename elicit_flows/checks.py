"""Wrong or dangerous set-ups, as Django system checks with ids and hints: E stops the start, W is said.

What reads settings alone runs before every command, what is only dangerous in production with ``check --deploy``, and
what reads the database when ``serve`` starts, with ``migrate`` and with ``check --database default``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core import checks as system
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from elicit_flows import catalogue, vault
from elicit_flows.models import Provider


def register_all() -> None:
    """Called once, when the app is ready."""
    register(Tags.security)(vault_keys_parse)
    register(Tags.compatibility)(catalogue_reads)
    register(Tags.compatibility)(shape)
    register(Tags.security, deploy=True)(fit_for_production)
    register(Tags.database)(stored_keys_open)
    register(Tags.database)(pkce_is_on)
    register(Tags.database)(codes_are_typed)


def vault_keys_parse(**kwargs: Any) -> list[CheckMessage]:
    try:
        vault.ring()
    except ImproperlyConfigured as error:
        return [
            Error(
                str(error),
                hint="Give id:base64(32 bytes) or id:service:wrapped, newest first, comma-separated.",
                id="elicit.E001",
            )
        ]
    return []


def catalogue_reads(**kwargs: Any) -> list[CheckMessage]:
    """The operator's own entries: each fault with its file, its key and why."""
    try:
        catalogue.entries()
    except catalogue.BadCatalogue as bad:
        hint = (
            "Mend it, or take it out of the folder that ELICIT_CATALOGUE names; docs/catalogue.md says what it may be."
        )
        return [Error(fault, hint=hint, id="elicit.E003") for fault in bad.faults]
    return []


def shape(**kwargs: Any) -> list[CheckMessage]:
    """Settings that do not go together."""
    return list(_shape())


def _shape() -> Iterator[CheckMessage]:
    if settings.CELERY_BROKER_URL and str(settings.DATABASES["default"]["ENGINE"]).endswith("sqlite3"):
        yield system.Warning(
            "A broker is set, but the database is SQLite, which workers on other machines cannot share.",
            hint="Set DATABASE_URL to a PostgreSQL, or leave out CELERY_BROKER_URL and REDIS_URL.",
            id="elicit.W001",
        )
    if settings.CELERY_BROKER_URL and not settings.REDIS_URL:
        yield system.Warning(
            "A broker is set, but no Redis: every process counts its rate limits for itself.",
            hint="Set REDIS_URL.",
            id="elicit.W002",
        )


def fit_for_production(**kwargs: Any) -> list[CheckMessage]:
    return list(_fit_for_production())


def _fit_for_production() -> Iterator[CheckMessage]:
    if settings.ELICIT_ALLOW_LOOPBACK:
        yield system.Warning(
            "ELICIT_ALLOW_LOOPBACK is on: http and addresses of this machine are allowed.",
            hint="It is for development and tests. Leave it out.",
            id="elicit.W003",
        )
    if not settings.ELICIT_PUBLIC_URL.startswith("https:"):
        yield system.Warning(
            "ELICIT_PUBLIC_URL is not https: links and cookies travel in the clear.",
            hint="Put a proxy with a certificate in front and set its https address.",
            id="elicit.W004",
        )


def stored_keys_open(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Threats T78, T79: a key is missing or is not the one used before."""
    if not databases:
        return []
    try:
        vault.check_keys()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Start with the keys that were used before.", id="elicit.E002")]
    except DatabaseError:  # before the first migrate, or the database is away: others say so better
        return []
    return []


def pkce_is_on(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Threat T19: without PKCE a stolen code can be redeemed. Said at every start."""
    return [
        system.Warning(
            f'Provider {slug} has pkce = "off": whoever gets hold of a code can redeem it.',
            hint='Set pkce = "S256" as soon as the provider understands it.',
            id="elicit.W005",
        )
        for slug in (row.slug for row in _oauth(databases) if row.settings()["pkce"] == "off")
    ]


def codes_are_typed(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Threat T120: whoever has the code can type it (RFC 8628, sections 5.4 and 5.5). Said at every start."""
    return [
        system.Warning(
            f'Provider {row.slug} has grant = "device_code": nobody can know who types the code at the provider.',
            hint="Leave grant out wherever the provider can be given our callback address.",
            id="elicit.W006",
        )
        for row in _oauth(databases)
        if row.grant == "device_code"
    ]


def _oauth(databases: Sequence[str] | None) -> list[Provider]:
    """Those that are on; none where the database is not to be read, or cannot be."""
    if not databases:
        return []
    try:
        return list(Provider.objects.filter(sort=Provider.Sort.OAUTH, enabled=True).order_by("slug"))
    except DatabaseError:
        return []
