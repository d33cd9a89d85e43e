"""Whether a provider's servers are where its settings say: each is sent a request that it must refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from elicit_flows import http, oauth
from elicit_flows.catalogue.entry import Entry
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.credentials.config import Verify
from elicit_flows.kinds.credentials.verification import Verdict, ask
from elicit_flows.kinds.oauth.connection_metadata import PLACE

PROBE_ID = "elicit-flows-probe"  # stands for a client, a code and a token that do not exist
DEADLINE = 10.0  # seconds for each request
_MISSING = frozenset({404, 410})
_SAID_BY_VERIFY = {
    Verdict.REFUSED: "refuses a wrong key",
    Verdict.ACCEPTED: "accepts any key",
    Verdict.UNKNOWN: "does not answer, or not as in its entry",
}
_WRONG_ADDRESS = frozenset({"bad_response", "redirect", "not_allowed"})


class ProbeResult(NamedTuple):
    fine: bool
    what: str  # the endpoint, by its name in the catalogue
    answer: str


def probe(entry: Entry, variables: Mapping[str, str]) -> Iterator[ProbeResult]:
    """Send each endpoint a request that it must refuse, and report how it answers.

    No client and no secret is needed. Raises ValueError if a variable is missing or wrong.
    """
    if missing := next((one for one in entry.variables if one.name not in variables), None):
        raise ValueError(missing.needed)  # an operator may leave it to each person, but nobody is asked here
    yield from probe_settings(entry.sort, entry.settings(variables), entry.oddities(variables))


def probe_settings(sort: str, settings: Mapping[str, Any], quirks: oauth.Quirks) -> Iterator[ProbeResult]:
    """The same for the ``settings`` of a provider, under the names of the configuration file."""
    if quirks.oauth1 or quirks.assertion or quirks.token_call:
        yield ProbeResult(True, "token", "is not tried, because it needs a signature or what a user typed")
        return
    # There is no private key to sign with, so the client sends a secret instead.
    asked = settings.get("token_auth") or "none"
    token_auth = "client_secret_post" if asked == "private_key_jwt" else asked
    client = oauth.Client(PROBE_ID, PROBE_ID, token_auth, quirks=quirks)
    for what, (setting, check) in (_AT_OAUTH if sort == "oauth" else _AT_CREDENTIALS).items():
        url = settings.get(setting) or ""
        if PLACE.search(url):
            yield ProbeResult(True, what, f"{url}: is another one for each person, and is not asked")
        elif url:
            yield check(url, client)
    if sort != "oauth" and not settings.get("token_url"):
        if not settings["verify"]:
            yield ProbeResult(True, "verify", "has no check")
            return
        verify = Verify.of(settings["verify"])
        verdict = ask(verify, {field["name"]: Secret(PROBE_ID) for field in settings["fields"]})
        yield ProbeResult(verdict == Verdict.REFUSED, "verify", f"{verify.url}: {_SAID_BY_VERIFY[verdict]}")


def _metadata(issuer: str, client: oauth.Client) -> ProbeResult:
    try:
        metadata = oauth.discover(issuer)
    except oauth.DiscoveryError as error:
        return ProbeResult(False, "issuer", f"{issuer}: {error}")
    return ProbeResult(
        True, "issuer", f"{issuer}: its metadata names {metadata.authorization_endpoint}, {metadata.token_endpoint}"
    )


def _token(url: str, client: oauth.Client) -> ProbeResult:
    try:
        oauth.redeem(url, client, code=PROBE_ID, redirect_uri="https://example.com/", verifier=None, deadline=DEADLINE)
    except oauth.InvalidGrant:
        return ProbeResult(True, "token", f"{url}: refuses the code")
    except oauth.ProviderError as error:
        return ProbeResult(error.code not in _WRONG_ADDRESS, "token", f"{url}: {error}")
    except oauth.Transient as error:
        return ProbeResult(False, "token", f"{url}: {error}")
    return ProbeResult(False, "token", f"{url}: gives tokens to anybody")


def _client_credentials(url: str, client: oauth.Client) -> ProbeResult:
    try:
        oauth.client_credentials(url, client, deadline=DEADLINE)
    except oauth.ClientRefused as error:
        return ProbeResult(True, "token", f"{url}: {error}")
    except oauth.OAuthError as error:
        return ProbeResult(False, "token", f"{url}: {error}")
    return ProbeResult(False, "token", f"{url}: gives tokens to anybody")


def _revocation(url: str, client: oauth.Client) -> ProbeResult:
    """A server answers 200 to an unknown token too (RFC 7009, section 2.2)."""
    try:
        oauth.revoke(url, client, token=PROBE_ID, hint="refresh_token", deadline=DEADLINE)
    except oauth.ProviderError as error:
        return ProbeResult(error.code not in _WRONG_ADDRESS, "revoke", f"{url}: {error}")
    except (oauth.InvalidGrant, oauth.Transient) as error:
        return ProbeResult(isinstance(error, oauth.InvalidGrant), "revoke", f"{url}: {error}")
    return ProbeResult(True, "revoke", f"{url}: accepts it")


def _status(what: str, headers: Mapping[str, str], url: str, client: oauth.Client) -> ProbeResult:
    try:
        status = http.send("GET", url, headers=headers, deadline=DEADLINE).status
    except (http.Refused, http.Unreachable) as error:
        return ProbeResult(False, what, f"{url}: {error or 'does not answer'}")
    refuses = 400 <= status < 500 and status not in _MISSING
    return ProbeResult(refuses or (what == "authorize" and status < 400), what, f"{url}: answers {status}")


# What is asked where: the setting with the address, by the endpoint's name in the catalogue.
_Check = tuple[str, Callable[[str, oauth.Client], ProbeResult]]
_AT_OAUTH: dict[str, _Check] = {
    "issuer": ("issuer", _metadata),
    "authorize": ("authorize_url", partial(_status, "authorize", {})),
    "token": ("token_url", _token),
    "revoke": ("revocation_url", _revocation),
    "userinfo": ("userinfo_url", partial(_status, "userinfo", {"authorization": f"Bearer {PROBE_ID}"})),
}
_AT_CREDENTIALS: dict[str, _Check] = {
    "token": ("token_url", _client_credentials),
    "revoke": ("revocation_url", _revocation),
}
