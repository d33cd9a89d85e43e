"""Tokens of several scope sets from one consent, such as the app's and the user's at Slack.

Each token is told from the others by the token_type that the provider says, when it comes and at every refresh: an
agent that asks for the app's token never gets the user's (threat T213).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from elicit_flows import http, oauth
from elicit_flows.domain.values import Finish, Grant
from elicit_flows.kinds.oauth.provider import OAuthProvider, client, grant, resolve
from elicit_flows.lib import clock

SOON = timedelta(minutes=5)  # when a set is asked for again that was not refreshed


def finished(config: OAuthProvider, done: Finish, tokens: oauth.Tokens) -> Finish:
    """``done``, for which ``tokens`` came, with those of the other sets in the same answer. Raises ProviderError."""
    if done.grant is None:
        return done
    _check_type(config, tokens, "")
    found = {}
    for one in config.quirks.scope_sets:
        said = oauth.value_at(tokens.said, one.path)
        if isinstance(said, dict) and said.get("access_token"):
            reply = http.Reply(200, {"content-type": "application/json"}, json.dumps(said).encode())
            inner = oauth.read_tokens(oauth.normalize_response(reply, config.quirks))
            found[one.name] = _grant(config, inner, one.name)
    granted = _joined(replace(done.grant, scopes=_own(config, done.grant.scopes)), found)
    return replace(done, grant=granted, result={**(done.result or {}), "scopes": list(granted.scopes)})


def refreshed(config: OAuthProvider, granted: Grant, tokens: oauth.Tokens, kept: Mapping[str, Grant]) -> Grant:
    """``granted``, for which ``tokens`` came, with new tokens of the other sets. A set that has ended is left
    out. One that the provider does not refresh now keeps its tokens, and is tried again soon.

    Raises ProviderError if the usual token is one of another set.
    """
    _check_type(config, tokens, "")
    found: dict[str, Grant] = {}
    late = None
    for name, old in kept.items():
        found[name] = old
        if old.refresh_token is None:
            continue
        try:
            came = oauth.refresh(resolve(config).token, client(config), refresh_token=old.refresh_token.reveal())
            found[name] = _grant(config, came, name, old)
        except oauth.InvalidGrant:
            del found[name]
        except (oauth.Transient, oauth.ProviderError, oauth.DiscoveryError):
            late = clock.now() + SOON
    return _joined(replace(granted, scopes=_own(config, granted.scopes)), found, late)


def _joined(granted: Grant, sets: Mapping[str, Grant], late: datetime | None = None) -> Grant:
    """One grant of several: with the scopes of all, which expires with the first. ``late``: of those that are due."""
    scopes = [*granted.scopes, *(f"{name}/{scope}" for name, one in sets.items() for scope in one.scopes)]
    ends = [one.expires_at for one in (granted, *sets.values()) if one.expires_at]
    first = min([late, *(end for end in ends if end > late)] if late else ends, default=None)
    return replace(granted, scopes=tuple(scopes), sets=dict(sets), expires_at=first)


def _own(config: OAuthProvider, scopes: Iterable[str]) -> tuple[str, ...]:
    return tuple(oauth.split_scopes(scopes, config.quirks.scope_sets)[""])


def _grant(config: OAuthProvider, tokens: oauth.Tokens, name: str, old: Grant | None = None) -> Grant:
    _check_type(config, tokens, name)
    return grant(tokens, old.scopes if old else (), (None, None), old.refresh_token if old else None)


def _check_type(config: OAuthProvider, tokens: oauth.Tokens, name: str) -> None:
    sets = {one.name: one.type for one in config.quirks.scope_sets}
    said = tokens.said.get(oauth.TYPE_SAID)
    if (said != sets[name]) if name else (said in sets.values()):
        raise oauth.ProviderError("bad_response", "The provider answered with a token of another scope set.")
