"""Django system checks for wrong or dangerous settings. E stops the start, W is a warning.

Checks of settings run before every command. Checks of what is dangerous only in production run with ``check --deploy``.
Checks of the database run when ``serve`` starts, with ``migrate`` and with ``check --database default``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks as system
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from elicit_flows import catalogue, http, vault
from elicit_flows.lib import schema_version
from elicit_flows.models import NotificationSettings, Provider

# Those that an operator's settings can fail. ``serve`` and ``work`` run no others: those of models, addresses,
# templates and admin pages look at our own files, which the tests have checked, and import all that a page may need.
SETTINGS_CHECKS = (Tags.security, Tags.compatibility, Tags.caches, Tags.files, Tags.translation)


def register_all() -> None:
    """Called when Django has loaded the app."""
    register(Tags.security)(vault_keys_parse)
    register(Tags.compatibility)(catalogue_reads)
    register(Tags.compatibility)(settings_fit_together)
    register(Tags.security, deploy=True)(fit_for_production)
    register(Tags.security, deploy=True)(providers_are_safe)
    register(Tags.database)(stored_keys_open)
    register(Tags.database)(pkce_is_on)
    register(Tags.database)(codes_are_typed)
    register(Tags.database)(mail_can_be_sent)


def require_schema() -> None:
    """Raises ImproperlyConfigured if a migration was not applied. The server and the worker call it at their start."""
    if not schema_version.is_current():
        raise ImproperlyConfigured("The database is not up to date: run `manage.py migrate` first.")


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
    """The operator's own catalogue entries: each error names the file and the key."""
    try:
        catalogue.check()
    except catalogue.BadCatalogue as error:
        hint = (
            "Repair it, or remove it from the folder in ELICIT_CATALOGUE. "
            "docs/reference/catalogue.md describes the format."
        )
        return [Error(fault, hint=hint, id="elicit.E003") for fault in error.faults]
    return []


def settings_fit_together(**kwargs: Any) -> list[CheckMessage]:
    return list(_settings_conflicts())


def _settings_conflicts() -> Iterator[CheckMessage]:
    if settings.CELERY_BROKER_URL and str(settings.DATABASES["default"]["ENGINE"]).endswith("sqlite3"):
        yield system.Warning(
            "A broker is set, but the database is SQLite, which workers on other machines cannot share.",
            hint="Set DATABASE_URL to a PostgreSQL, or remove CELERY_BROKER_URL and REDIS_URL.",
            id="elicit.W001",
        )
    if settings.CELERY_BROKER_URL and not settings.REDIS_URL:
        yield system.Warning(
            "A broker is set, but no Redis: every process counts rate limits by itself.",
            hint="Set REDIS_URL.",
            id="elicit.W002",
        )
    if settings.ELICIT_ALLOW_LOOPBACK and not http.is_loopback_name(
        urlsplit(settings.ELICIT_PUBLIC_URL).hostname or ""
    ):
        yield Error(
            f"ELICIT_ALLOW_LOOPBACK is on for {settings.ELICIT_PUBLIC_URL}, which others can reach: whoever configures "
            "a provider could send requests to this machine, and operators need no second factor.",
            hint="Remove ELICIT_ALLOW_LOOPBACK. It is for development, with a public URL on this machine.",
            id="elicit.E004",
        )


def outgoing_requests() -> list[str]:
    """What differs from the strict rules for requests to others, one sentence each. Logged at every start."""
    said = []
    if settings.ELICIT_ALLOWED_NETWORKS:
        named = "; ".join(map(str, settings.ELICIT_ALLOWED_NETWORKS))
        said.append(f"ELICIT_ALLOWED_NETWORKS: requests may go to private networks: {named}.")
    if settings.ELICIT_EGRESS_PROXY:
        said.append(f"ELICIT_EGRESS_PROXY: requests to others leave through {settings.ELICIT_EGRESS_PROXY}.")
    if settings.ELICIT_CA_FILE:
        said.append(f"ELICIT_CA_FILE: certificates by the authorities in {settings.ELICIT_CA_FILE} are accepted, too.")
    return said


def fit_for_production(**kwargs: Any) -> list[CheckMessage]:
    """Threat T143: settings that are allowed and dangerous. Django itself checks DEBUG and SECRET_KEY."""
    return [*_production_settings(), *_private_networks(), *_trusted_proxies(), *_database_file()]


def _private_networks() -> Iterator[CheckMessage]:
    if settings.ELICIT_ALLOWED_NETWORKS:
        yield system.Warning(
            f"ELICIT_ALLOWED_NETWORKS allows requests to {'; '.join(map(str, settings.ELICIT_ALLOWED_NETWORKS))}. "
            "Whoever configures a provider or a webhook chooses what is called there, and so does the metadata of a "
            "provider.",
            hint="Name single hosts and ports, as in 10.20.0.7:443, and take out what is not needed any more.",
            id="elicit.W010",
        )


def _production_settings() -> Iterator[CheckMessage]:
    if not settings.ELICIT_ADMIN_SECOND_FACTOR:
        yield system.Warning(
            "ELICIT_ADMIN_SECOND_FACTOR is off: an operator's password alone opens the admin.",
            hint="Remove it, or set it to on. Each operator sets up an authenticator app at the next sign-in.",
            id="elicit.W007",
        )
    if settings.ELICIT_ALLOW_LOOPBACK:
        yield system.Warning(
            "ELICIT_ALLOW_LOOPBACK is on: http and addresses of this machine are accepted.",
            hint="It is for development and tests. Remove it.",
            id="elicit.W003",
        )
    if not settings.ELICIT_PUBLIC_URL.startswith("https:"):
        yield system.Warning(
            "ELICIT_PUBLIC_URL is not https: links and cookies are sent unencrypted.",
            hint="Put a proxy with a certificate in front, and set its https address here.",
            id="elicit.W004",
        )


def _trusted_proxies() -> Iterator[CheckMessage]:
    """A trusted proxy chooses the client address that rate limits and the audit log use."""
    for name in ("FORWARDED_ALLOW_IPS", "ELICIT_TRUSTED_PROXIES"):
        value = getattr(settings, name, None) or os.environ.get(name) or ""
        addresses = value.split(",") if isinstance(value, str) else map(str, value)
        everybody = [address.strip() for address in addresses if address.strip() in {"*", "0.0.0.0/0", "::/0"}]
        if everybody:
            yield system.Warning(
                f"{name} has {everybody[0]}: whoever reaches this service directly can pretend to come from any "
                "address, and so has no limit on guesses.",
                hint="List only the addresses of your proxies, and let nobody else reach the port of the service.",
                id="elicit.W008",
            )


def _database_file() -> Iterator[CheckMessage]:
    database = settings.DATABASES["default"]
    if not str(database["ENGINE"]).endswith("sqlite3"):
        return
    path = Path(str(database["NAME"]))
    if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield system.Warning(
            f"The database {path} can be read by other users of this machine.",
            hint=f"Run the service as the owner of the file, or: chmod 600 {path}",
            id="elicit.W009",
        )


def providers_are_safe(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """The warnings about providers for ``check --deploy`` without ``--database``, which skips database checks."""
    return [] if databases else [*pkce_is_on(["default"]), *codes_are_typed(["default"])]


def stored_keys_open(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Threats T78, T79: a vault key is missing or has changed."""
    if not databases:
        return []
    try:
        vault.check_keys()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Start with the keys that were used before.", id="elicit.E002")]
    except DatabaseError:  # before the first migrate, or without a database: other checks report that better
        return []
    return []


def pkce_is_on(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Threat T19: without PKCE a stolen code can be redeemed. Warned of at every start."""
    return [
        system.Warning(
            f'Provider {row.slug} has pkce = "off": a stolen code can be redeemed.',
            hint='Set pkce = "S256" as soon as the provider supports it.',
            id="elicit.W005",
        )
        for row in _oauth_providers(databases)
        if row.settings()["pkce"] == "off"
    ]


def codes_are_typed(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Threat T120: whoever has the code can type it (RFC 8628, sections 5.4 and 5.5). Warned of at every start."""
    return [
        system.Warning(
            f'Provider {row.slug} has grant = "device_code": nobody can know who types the code at the provider.',
            hint="Remove grant wherever the provider accepts the redirect URI of this service.",
            id="elicit.W006",
        )
        for row in _oauth_providers(databases)
        if row.grant == "device_code"
    ]


def mail_can_be_sent(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    if not databases or settings.ELICIT_SMTP:
        return []
    try:
        wanted = NotificationSettings.objects.filter(email=True).exists()
    except DatabaseError:
        return []
    missing = system.Warning(
        "People are to be told by e-mail, but there is no mail server: nobody gets any.",
        hint="Set ELICIT_SMTP_URL and ELICIT_EMAIL_FROM for the worker, or take email out of [notifications].",
        id="elicit.W011",
    )
    return [missing] if wanted else []


def _oauth_providers(databases: Sequence[str] | None) -> list[Provider]:
    """The OAuth providers that are switched on; none if the database is not to be read, or cannot be."""
    if not databases:
        return []
    try:
        return list(Provider.objects.filter(sort=Provider.Sort.OAUTH, enabled=True).order_by("slug"))
    except DatabaseError:
        return []
