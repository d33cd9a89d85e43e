"""Tokens of an app's installations, which the provider issues for the app's private key.

An installation reaches more than each of its people does, so a token is issued only for repositories that the person's
own token reaches, and only with permissions that they have there (threats T210 and T211). The tokens are kept with the
connection, sealed, until shortly before they expire, so that no other agent or person can get them (threat T212), and
are ended with the connection.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta

from elicit_flows import oauth
from elicit_flows.domain.errors import Conflict, Forbidden, ProviderBroken, ProviderUnavailable
from elicit_flows.domain.values import Json, Secret
from elicit_flows.kinds.oauth.provider import client
from elicit_flows.lib import clock, ids
from elicit_flows.models import Agent, Connection, ConnectionUse, Provider
from elicit_flows.oauth import installation
from elicit_flows.vault import connections, minted, provider_settings, tokens
from elicit_flows.vault.rejected_tokens import report_rejected_token
from elicit_flows.vault.seal import seal

log = logging.getLogger(__name__)
MOST_KEPT = 50  # of one connection; the one that expires first makes place
_TRIES = 5  # to write beside others who write the same column


def installation_token(
    agent: Agent,
    connection_id: str,
    number: int,
    repositories: list[str],
    permissions: Mapping[str, str],
    min_ttl: int | None = None,
) -> Json:
    """A token of the installation ``number`` for these repositories, by their names, with these permissions.

    Raises Forbidden for what the person does not reach, Conflict where the provider has no such tokens, ProviderBroken,
    and otherwise like ``tokens.token``.
    """
    connections.require_tokens_leave(agent)
    row = connections.usable(agent, connection_id)
    provider = provider_settings.for_person(connections.provider_of(row), row.variables)
    way, key = provider.quirks().installation, provider_settings.app_key(provider)
    if way is None or key is None:
        raise Conflict("This provider has no tokens of installations; its operator can set app_key.")
    names = sorted({name.lower() for name in repositories})
    asked = ids.digest(json.dumps([number, names, sorted(permissions.items()), provider.client_id]))
    soon = clock.now() + timedelta(seconds=tokens.DEFAULT_MIN_TTL if min_ttl is None else min_ttl)
    new = clock.now() - timedelta(minutes=1)  # instead of one that was issued since, another would hardly live longer
    kept = minted.read(row).get(asked)
    if kept is None or all(
        datetime.fromisoformat(kept[name]) <= by for name, by in (("expires_at", soon), ("issued_at", new))
    ):
        row = tokens.refreshed(row, None)
        provider_settings.check_app_key(provider, row.bound_to)
        try:
            kept = _issued(row, provider, way, key, number, set(names), permissions)
        except oauth.InvalidGrant:
            connections.require_usable(report_rejected_token(agent, row.pk))
            raise ProviderUnavailable("The provider refused the user's token. Try again.", retry_after=2) from None
        except oauth.Transient as error:
            raise ProviderUnavailable(str(error), retry_after=2) from None
        except oauth.ProviderError as error:
            raise ProviderBroken(f"The provider issued no token: {error}") from None
        _keep(row, asked, kept)
    connections.note_use(row, ConnectionUse.Action.FETCHED)
    shown = {name: kept[name] for name in ("access_token", "expires_at", "installation")}
    return {**tokens.answer(row), **shown, "token_type": "Bearer", "token_secret": None, "scopes": []}


def _issued(
    row: Connection,
    provider: Provider,
    way: oauth.Installation,
    key: Secret,
    number: int,
    names: set[str],
    permissions: Mapping[str, str],
) -> Json:
    """Checks what the person reaches, with their own token, and gets a token for that."""
    who = client(provider_settings.oauth(provider))
    try:
        found = installation.reached(way, who, tokens.access_token(row), number, names)
    except oauth.ProviderError as error:
        if error.status == 401:
            raise oauth.InvalidGrant(str(error)) from None
        if error.status not in (403, 404):
            raise
        raise Forbidden("The user does not reach this installation.") from None
    missing = names - {name.lower() for one in found for name in (one.name, one.full_name)}
    if missing:
        raise Forbidden(f"The user does not reach {', '.join(sorted(missing))} in this installation.")
    for name, level in permissions.items():
        role = installation.needed_role(way, name, level)
        if role is None:
            raise Forbidden(f"No token is issued with the permission {name}.")
        if lacking := sorted(one.full_name for one in found if role not in one.roles):
            raise Forbidden(f"The user may not give {name} = {level} in {', '.join(lacking)}: that needs {role}.")
    got = installation.mint(way, who.client_id, key.reveal(), number, sorted(one.id for one in found), permissions)
    return {
        "access_token": got.token,
        "issued_at": clock.rfc3339(clock.now()),
        "expires_at": clock.rfc3339(got.expires_at),
        "installation": {
            "id": number,
            "repositories": sorted(one.full_name for one in found),
            "permissions": dict(got.permissions),
        },
    }


def _keep(row: Connection, asked: str, issued: Json) -> None:
    """Beside those that others keep at the same time. Raises as ``connections.usable`` if the connection was ended
    meanwhile: what was issued is then given to nobody.
    """
    for _ in range(_TRIES):
        kept = {**minted.read(row), asked: issued}
        newest = sorted(kept, key=lambda one: str(kept[one]["expires_at"]))[-MOST_KEPT:]
        plain = json.dumps({one: kept[one] for one in newest})
        sealed = seal(Secret(plain), connections.sealed_at(row, "minted"))
        if Connection.objects.filter(pk=row.pk, minted=row.minted, status=row.status).update(minted=sealed):
            return
        row.refresh_from_db(fields=["minted", "status"])
        connections.require_usable(row)
    log.warning("connection %s: a token of an installation is not kept, so that nothing ends it early", row.pk)
