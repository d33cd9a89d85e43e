"""Whether and how an authorization request is handed over before anybody leaves (RFC 9126)."""

from __future__ import annotations

from elicit_flows import errors
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.oauth.endpoints import resolve
from elicit_flows.kinds.oauth.exchange import client
from elicit_flows.lib import oauth


def push(config: OAuthProvider, url: str) -> str:
    """The address to leave for, in place of ``url``. At most 20 seconds. Raises ProviderUnavailable."""
    try:
        endpoint = resolve(config).pushed
        return oauth.push(endpoint, client(config), url) if endpoint else url
    except oauth.Transient as trouble:
        raise errors.ProviderUnavailable(str(trouble), retry_after=2) from None
    except oauth.OAuthError as refusal:
        if isinstance(refusal, oauth.ProviderError) and refusal.code == "invalid_client":
            raise errors.ClientUnknown from None
        raise errors.ProviderUnavailable(f"The provider does not take the request: {refusal}") from None
