"""Authorization requests that are handed over on the back channel, so that no browser can read or change them
(RFC 9126).
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlencode, urlsplit

from elicit_flows.lib.oauth import client as back
from elicit_flows.lib.oauth import replies
from elicit_flows.lib.oauth.errors import ProviderError

DEADLINE = 8.0
_REQUEST_URI = re.compile(r"[\x21-\x7e]{1,1000}")


def push(endpoint: str, client: back.Client, url: str, *, deadline: float = DEADLINE) -> str:
    """The address that stands for the authorization request ``url``: our name and a reference, nothing else.

    What stands in the query of ``url`` goes with it, also what the operator wrote there. A request pushed twice is
    two references to the same. Raises ProviderError, Transient.
    """
    address = urlsplit(url)
    answer = replies.checked(back.post(endpoint, client, parse_qs(address.query, keep_blank_values=True), deadline))
    reference = (answer or {}).get("request_uri")
    if not isinstance(reference, str) or not _REQUEST_URI.fullmatch(reference):
        raise ProviderError("bad_response", "The provider's answer cannot be used.")
    short = urlencode({"client_id": client.client_id, "request_uri": reference})
    return address._replace(query=short).geturl()
