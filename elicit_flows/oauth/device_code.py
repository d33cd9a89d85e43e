"""The client's two requests for the device grant (RFC 8628): a code for the person to type, and its tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from elicit_flows import http
from elicit_flows.oauth import responses
from elicit_flows.oauth.client import DEADLINE, FORM, Answer, Client, ProviderClient
from elicit_flows.oauth.errors import NotYet

CODE_DEADLINE = 8.0  # for a device code: a person waits for it

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
MOST_SHOWN = 64  # characters of a code that a person can be asked to type
INTERVAL = 5  # seconds between two polls if the server gives no interval (RFC 8628, section 3.2)
LEAST_INTERVAL, MOST_INTERVAL = 1, 60  # whatever the server says


@dataclass(frozen=True)
class DeviceCode:
    """The server's answer (RFC 8628, section 3.2). ``expires_in`` and ``interval`` are in seconds; ``complete`` is the
    address that contains the user code.
    """

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)
    address: str
    complete: str | None = field(repr=False)
    expires_in: int
    interval: int


class DeviceClient(ProviderClient):
    """Authlib's client for polling: an error may mean that the person has not finished yet."""

    def parse_response_token(self, resp: Answer) -> dict[str, str | None]:
        code = responses.error_code(responses.any_json(resp, any_text=False))
        if code in ("authorization_pending", "slow_down"):
            raise NotYet("The code has not been entered yet.", slower=code == "slow_down")
        return super().parse_response_token(resp)


def authorize_device(
    endpoint: str,
    client: Client,
    *,
    scopes: Iterable[str],
    resources: Iterable[str] = (),
    deadline: float = CODE_DEADLINE,
) -> DeviceCode:
    """Request a code (RFC 8628, section 3.1). Each call makes a new one; unused codes expire."""
    form: dict[str, str | list[str]] = {"client_id": client.client_id, "resource": list(resources)}
    if wanted := client.quirks.scope_separator.join(scopes):
        form[client.quirks.scope_param] = wanted
    body = ProviderClient(client, deadline).submit(endpoint, form)
    # Google calls it verification_url.
    address = _address(body.get("verification_uri") or body.get("verification_url"))
    device_code, life = responses.secret(body, "device_code"), responses.lifetime(body.get("expires_in"))
    shown = responses.visible(body.get("user_code"), MOST_SHOWN + 1)
    if address is None or device_code is None or life is None or not 0 < len(shown) <= MOST_SHOWN:
        raise responses.unusable()
    interval = responses.lifetime(body.get("interval")) or INTERVAL
    complete = _address(body.get("verification_uri_complete"))
    if complete and urlsplit(complete).netloc != urlsplit(address).netloc:  # the page names one host
        complete = None
    return DeviceCode(device_code, shown, address, complete, life, min(max(interval, LEAST_INTERVAL), MOST_INTERVAL))


def redeem_device(
    endpoint: str, client: Client, *, device_code: str, resources: Iterable[str] = (), deadline: float = DEADLINE
) -> responses.Tokens:
    """Get tokens, once the person has typed the code and agreed (RFC 8628, section 3.4).

    Raises NotYet, InvalidGrant, ProviderError (``access_denied``, ``expired_token`` and others) and Transient.
    """
    call = DeviceClient(client, deadline, extra=client.quirks.token_params, resources=resources, bound=True)
    call.fetch_token(endpoint, grant_type=DEVICE_GRANT, device_code=device_code, headers=FORM)
    return call.tokens


def _address(url: object) -> str | None:
    """The address if it is permitted, or else None. A browser is sent only where we would connect ourselves."""
    if not isinstance(url, str) or len(url) > 1000:
        return None
    try:
        http.check_url(url)
    except http.Refused:
        return None
    return url
