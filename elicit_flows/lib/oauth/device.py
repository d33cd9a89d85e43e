"""The device authorization grant (RFC 8628): a person types a short code at the server, and we ask how that stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from elicit_flows.lib import http
from elicit_flows.lib.oauth import client as back
from elicit_flows.lib.oauth import replies, text
from elicit_flows.lib.oauth.errors import NotYet, ProviderError
from elicit_flows.lib.oauth.quirks import straighten

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
DEADLINE = 8.0
MOST_SHOWN = 64  # characters of a code that a person can be asked to type
INTERVAL = 5  # where the server says none (section 3.2)
LEAST_INTERVAL, MOST_INTERVAL = 1, 60  # seconds between two questions, whatever the server says


@dataclass(frozen=True)
class DeviceCode:
    """What the server gave out (section 3.2); times in seconds. ``complete``: the address with the user code in it."""

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)
    address: str
    complete: str | None = field(repr=False)
    expires_in: int
    interval: int


def authorize_device(
    endpoint: str,
    client: back.Client,
    *,
    scopes: Iterable[str],
    resources: Iterable[str] = (),
    deadline: float = DEADLINE,
) -> DeviceCode:
    """Asks for a code (section 3.1). Each call begins anew; one that nobody uses runs out. Raises ProviderError,
    Transient.
    """
    form: dict[str, str | list[str]] = {"client_id": client.client_id, "resource": list(resources)}
    if wanted := client.quirks.scope_separator.join(scopes):
        form[client.quirks.scope_param] = wanted
    return _read(replies.checked(back.post(endpoint, client, form, deadline)) or {})


def redeem_device(
    endpoint: str,
    client: back.Client,
    *,
    device_code: str,
    resources: Iterable[str] = (),
    deadline: float = back.DEADLINE,
) -> replies.Tokens:
    """Tokens, once the person has typed the code and said yes (section 3.4). Raises NotYet, InvalidGrant,
    ProviderError (``access_denied``, ``expired_token`` and others), Transient.
    """
    form: dict[str, str | list[str]] = {"grant_type": GRANT_TYPE, "device_code": device_code}
    form |= {**client.quirks.token_params, "resource": list(resources)}
    reply = straighten(back.post(endpoint, client, form, deadline, client.dpop_key), client.quirks)
    code = replies.error_code(replies.json_object(reply))
    if code in ("authorization_pending", "slow_down"):
        raise NotYet("The code has not been entered yet.", slower=code == "slow_down")
    return replies.read_tokens(reply, bound=bool(client.dpop_key))


def _read(body: dict[str, Any]) -> DeviceCode:
    # Google says verification_url.
    address = _address(body.get("verification_uri") or body.get("verification_url"))
    device_code, life = replies.secret(body, "device_code"), replies.lifetime(body.get("expires_in"))
    shown = text.visible(body.get("user_code"), MOST_SHOWN + 1)
    if address is None or device_code is None or life is None or not 0 < len(shown) <= MOST_SHOWN:
        raise ProviderError("bad_response", "The provider's answer cannot be used.")
    interval = replies.lifetime(body.get("interval")) or INTERVAL
    complete = _address(body.get("verification_uri_complete"))
    if complete and urlsplit(complete).netloc != urlsplit(address).netloc:  # people are told one host
        complete = None
    return DeviceCode(device_code, shown, address, complete, life, min(max(interval, LEAST_INTERVAL), MOST_INTERVAL))


def _address(url: object) -> str | None:
    """Where a browser is sent: nowhere that we would not go ourselves."""
    if not isinstance(url, str) or len(url) > 1000:
        return None
    try:
        http.check_url(url)
    except http.Refused:
        return None
    return url
