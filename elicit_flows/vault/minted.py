"""The tokens of installations that are kept with a connection: by what was asked, until they expire."""

from __future__ import annotations

import json
import logging
from datetime import datetime

from elicit_flows import oauth
from elicit_flows.domain.errors import ReauthorizationRequired, Unavailable
from elicit_flows.domain.values import Json
from elicit_flows.lib import clock
from elicit_flows.models import Connection, Provider
from elicit_flows.oauth import installation
from elicit_flows.vault import connections, provider_settings

log = logging.getLogger(__name__)


def read(row: Connection) -> dict[str, Json]:
    """Those that have not expired."""
    sealed = connections.opened(row, "minted")
    kept: dict[str, Json] = json.loads(sealed.reveal()) if sealed else {}
    return {asked: one for asked, one in kept.items() if datetime.fromisoformat(one["expires_at"]) > clock.now()}


def end_all(row: Connection, provider: Provider) -> bool:
    """End the tokens of installations at the provider. Those that cannot be ended expire within an hour. False if there
    are none that could be.
    """
    way = provider.quirks().installation
    try:
        provider_settings.check_app_key(provider, row.bound_to)
    except (Unavailable, ReauthorizationRequired):
        return False  # it would be shown to another host
    if way is None:
        return False
    tokens = read(row)
    for one in tokens.values():
        try:
            installation.end(way, one["access_token"])
        except oauth.OAuthError as error:
            log.warning("connection %s: a token of an installation was not ended: %s", row.pk, error)
    return bool(tokens)
