"""Requests that no RFC defines, as entries of the catalogue describe them: ending a grant, a longer token for a short
one, a token for what a person typed.

``{name}`` stands for a value that the caller gives. Each is put in once and encoded for its place, so no value can
change another part of the request (threat T170). None stands in the host.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from elicit_flows.oauth import oauth1, responses
from elicit_flows.oauth.client import DEADLINE, Answer, Session
from elicit_flows.oauth.errors import ProviderError
from elicit_flows.oauth.ways import PLACE, DescribedCall, Values, placed

_HEADER = re.compile(r"[ -~]*")
_DOT_SEGMENT = re.compile(r"/\.{1,2}(/|$)")  # it would lead to another path, and quoting leaves it as it is


def send(
    call: DescribedCall, values: Values, *, signer: oauth1.Client1 | None = None, deadline: float = DEADLINE
) -> Answer:
    """Send the request. ``signer``: our client, for OAuth 1.0a. Returns the answer, which may be an error.

    Raises ProviderError if a value is missing or does not fit, and Transient if there is no answer.
    """
    if missing := sorted(call.names - values.keys()):
        raise ProviderError("not_allowed", f"There is no {missing[0]} for this request.")
    url = PLACE.sub(lambda place: quote(values.get(place[1], place[0]), safe=""), call.url)
    if _DOT_SEGMENT.search(urlsplit(url).path):
        raise ProviderError("not_allowed", "A value cannot stand in the address.")
    if "{" in urlsplit(call.url).netloc or urlsplit(url).netloc != urlsplit(call.url).netloc:
        raise ProviderError("not_allowed", "The provider's address is not complete.")
    headers = {"accept": "application/json"}
    headers |= {name.lower(): placed(value, values) for name, value in call.headers.items()}
    if call.auth == "client_secret_basic":
        if ":" in values["client_id"]:  # what follows would be read as the secret (RFC 7617, section 2)
            raise ProviderError("not_allowed", "The client id cannot be sent in a header.")
        pair = f"{values['client_id']}:{values['client_secret']}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif call.auth == "bearer":
        headers["authorization"] = f"Bearer {values['access_token']}"
    if not all(_HEADER.fullmatch(value) for value in headers.values()):
        raise ProviderError("not_allowed", "A value cannot be sent in a header.")
    url, headers, body = _with_params(call, url, headers, _filled(dict(call.params), values))
    session = Session(deadline, secrets=[value for value in values.values() if len(value) >= 8])
    if call.auth == "oauth1":
        token = oauth1.Token1(values["access_token"], values["token_secret"])
        if signer is None:
            raise ProviderError("not_allowed", "This request cannot be signed.")
        headers["authorization"] = oauth1.signature(call.method, url, signer, token, headers=headers, body=body)
    return session.request(call.method, url, body, headers)


def succeeded(call: DescribedCall, answer: Answer) -> dict[str, Any]:
    """The JSON object of a successful answer, or {}. Raises like ``responses.checked``."""
    return {} if answer.status in call.done else responses.checked(answer, any_text=True)


def _with_params(
    call: DescribedCall, url: str, headers: dict[str, str], params: dict[str, Any]
) -> tuple[str, dict[str, str], bytes]:
    if not params:
        return url, headers, b""
    if call.send == "json":
        return url, {**headers, "content-type": "application/json"}, json.dumps(params).encode()
    if call.send == "query":
        return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(params)}", headers, b""
    return url, {**headers, "content-type": "application/x-www-form-urlencoded"}, urlencode(params).encode()


def _filled(said: Any, values: Values) -> Any:
    if isinstance(said, dict):
        return {name: _filled(value, values) for name, value in said.items()}
    if isinstance(said, list):
        return [_filled(value, values) for value in said]
    return placed(said, values) if isinstance(said, str) else said
