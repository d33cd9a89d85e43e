"""What a call of a provider's API needs: where the API is, and the credential, which the agent does not get.

A credential is sent only to the hosts that the provider's settings named when the user connected (threat T131), and
only as the settings say.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from elicit_flows import http, oauth
from elicit_flows.domain.errors import (
    Conflict,
    FlowError,
    Invalid,
    NoApi,
    ProviderUnavailable,
    ReauthorizationRequired,
    TooLarge,
)
from elicit_flows.domain.values import Json
from elicit_flows.kinds.credentials import verification
from elicit_flows.kinds.credentials.config import Verify
from elicit_flows.kinds.oauth import connection_metadata
from elicit_flows.kinds.oauth.provider import client1
from elicit_flows.lib.ttl_cache import TtlCache
from elicit_flows.models import Agent, Connection, ConnectionUse, Provider
from elicit_flows.oauth import oauth1
from elicit_flows.oauth.oauth1 import Client1, Token1
from elicit_flows.vault import connections, credentials, provider_settings, rejected_tokens, tokens

HOST = "Elicit-Api-Host"
FORM = "application/x-www-form-urlencoded"
REMEMBER = 1.0  # seconds after which a changed setting of a provider holds everywhere
_providers: TtlCache[int, Provider] = TtlCache(REMEMBER, most=1000)


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """``addresses``: of the API by host, the usual one first; None for one whose host the user has not agreed to.

    ``headers`` and ``query`` are the credential, ``secrets`` what no reply may show to the agent. ``closed``: the
    provider's OAuth endpoints, without scheme. ``generation``: of the token; ``renewable``: whether there may be
    another one. ``signer``: signs each request (OAuth 1.0a).
    """

    connection: str
    generation: int
    renewable: bool
    addresses: Mapping[str, str | None]
    closed: frozenset[str]
    secrets: tuple[str, ...] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str] = field(repr=False, default_factory=dict)
    dpop_key: str = field(repr=False, default="")
    signer: tuple[Client1, Token1] | None = field(repr=False, default=None)

    @property
    def hosts(self) -> list[str]:
        """The hosts that it may be sent to."""
        return [host for host, address in self.addresses.items() if address]

    def address(self, host: str) -> str:
        """The address of the API at this host, or the usual one if it is "".

        Raises Invalid for a host that the provider's settings do not name, ReauthorizationRequired, NoApi.
        """
        if not self.addresses:
            raise NoApi("Nothing says where this provider's API is; its operator can set api_urls.")
        wanted = host.lower() or next(iter(self.addresses))
        if wanted not in self.addresses:
            known = ", ".join(self.addresses)
            raise Invalid.at(f"header.{HOST}", f"This is no host of the provider's API; use one of {known}.")
        found = self.addresses[wanted]
        if found is None:
            raise ReauthorizationRequired(
                f"When the user connected, {wanted} was not a host of this API. Create a new elicitation."
            )
        return found

    def proof(self, method: str, target: http.Target, nonce: str | None) -> str:
        """The DPoP proof for one request with the token (RFC 9449)."""
        url = f"{target.scheme}://{target.authority}{target.path}"
        return oauth.proof(self.dpop_key, method, url, nonce=nonce, ath=oauth.access_token_hash(self.secrets[0]))

    def signature(self, method: str, target: http.Target, headers: Mapping[str, str], body: bytes | None) -> str:
        """The value of the Authorization header for one request (RFC 5849). ``body`` None: it is longer than is kept.

        Raises TooLarge for such a form, because a form is signed as a whole, and ProviderUnavailable.
        """
        kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        if body is None and kind.partition(";")[0].strip().lower() == FORM:
            raise TooLarge("A form for this API has to be signed, so it must be shorter. Send it in parts, or as JSON.")
        if self.signer is None:
            raise ProviderUnavailable("Requests to this provider are not signed.")
        url = f"{target.scheme}://{target.authority}{target.path}"
        try:
            return oauth1.signature(method, url, *self.signer, headers=headers, body=body or b"")
        except oauth.ProviderError as error:
            raise ProviderUnavailable(str(error)) from None


def access_to_api(agent: Agent, connection_id: str) -> ApiAccess:
    """Access for one call of the agent, with a fresh token. A call counts as a use.

    Raises NotFound, ConnectionRevoked, ReauthorizationRequired, ProviderUnavailable, and Conflict where nothing says
    how the credential is sent.
    """
    row = connections.usable(agent, connection_id)
    if tokens.gives_tokens(row):
        row = tokens.refreshed(row, None)
    connections.note_use(row, ConnectionUse.Action.CALLED)
    return _access(row)


def ready_access(asked: set[tuple[int, str]]) -> dict[tuple[int, str], ApiAccess]:
    """What ``access_to_api`` returns for each of these connections, named with their agents, where nothing has to be
    refreshed, recorded or refused. One SELECT for all.
    """
    found = {}
    for row in connections.all_usable(asked):
        if connections.use_is_noted(row) and not (tokens.gives_tokens(row) and tokens.stale(row, None)):
            with suppress(FlowError):
                found[row.agent_id, row.pk] = _access(row)
    return found


def renewed_access(agent: Agent, connection_id: str, generation: int) -> ApiAccess | None:
    """Access with another token than that of ``generation``, which the API refused with 401; None if there is none."""
    with suppress(FlowError):
        row = connections.usable(agent, connection_id)
        if row.generation == generation and row.renewable:
            rejected_tokens.report_rejected_token(agent, connection_id)
            row = connections.usable(agent, connection_id)
        return _access(row) if row.generation != generation else None
    return None


def _access(row: Connection) -> ApiAccess:
    if row.provider_id is None:
        raise NoApi("These credentials belong to no provider whose API is known.")
    provider = _providers.get(row.provider_id)
    if provider is None:
        provider = Provider.objects.get(pk=row.provider_id)
        _providers.put(row.provider_id, provider)
    provider = provider_settings.for_person(provider, row.variables)
    said = provider.settings()
    quirks = provider.quirks(said)
    addresses, closed = _api_addresses(row, said), _closed(said, quirks)
    if not tokens.gives_tokens(row):
        headers, query, secrets = _typed(row, said)
        return ApiAccess(row.pk, row.generation, False, addresses, closed, secrets, headers, query)
    token, key = tokens.access_token(row), connections.opened(row, "dpop_key")
    if quirks.oauth1:
        # Requests are signed here: neither secret of OAuth 1.0a leaves the service.
        secret, client = connections.opened(row, "token_secret"), client1(provider_settings.oauth(provider))
        signed_with = Token1(token, secret.reveal() if secret else "")
        secrets = tuple(one for one in (token, signed_with.secret, client.secret) if len(one) >= 8)
        return ApiAccess(row.pk, row.generation, False, addresses, closed, secrets, {}, signer=(client, signed_with))
    wanted = quirks.api_headers or {
        **quirks.userinfo_headers, "authorization": f"{'DPoP' if key else quirks.userinfo_scheme} {{access_token}}",
    }  # fmt: skip
    ours = provider_settings.client_id(provider) if any("{client_id}" in one for one in wanted.values()) else ""
    headers = {
        name.lower(): value.replace("{client_id}", ours).replace("{access_token}", token)
        for name, value in wanted.items()
    }
    if not (token.isascii() and token.isprintable()):
        raise ProviderUnavailable("The provider's token cannot be sent in a header.")
    proof_key = key.reveal() if key else ""
    return ApiAccess(row.pk, row.generation, row.renewable, addresses, closed, (token,), headers, {}, proof_key)


def _api_addresses(row: Connection, said: Json) -> dict[str, str | None]:
    """Those that can be filled in. The host of another address that already gets the same credential needs no further
    agreement.
    """
    named = [connection_metadata.Named.of(one) for one in said["metadata"]]
    agreed = {host for hosts in row.bound_to.values() for host in hosts.split()}
    found: dict[str, str | None] = {}
    for url in provider_settings.api_urls(said):
        if filled := connection_metadata.filled(url, named, row.metadata):
            target = http.check_url(filled)
            hosts = set(provider_settings.host_of(url, said["metadata"]).split())
            found.setdefault(target.authority, filled if hosts <= agreed else None)
    return found


def _closed(said: Json, quirks: oauth.Quirks) -> frozenset[str]:
    """The addresses at which tokens are issued, exchanged and revoked: an agent has no business there."""
    urls = [said[name] for name in ("authorize_url", "token_url", "revocation_url", "device_authorization_url")]
    urls += [quirks.oauth1.request_url] if quirks.oauth1 else []
    if known := oauth.discovered(said["issuer"]) if said["issuer"] else None:
        urls += [known.token_endpoint, known.revocation_endpoint, known.introspection_endpoint]
    parts = (urlsplit(url.lower()) for url in urls if url)
    return frozenset(f"{part.netloc}{part.path.rstrip('/')}" for part in parts)


def _typed(row: Connection, said: Json) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
    """The headers and parameters that carry what the user typed, and the typed values."""
    if not said["verify"]:
        raise Conflict("Nothing says how these credentials are sent: the provider's settings have no verify.")
    verify, named = Verify.of(said["verify"]), credentials.open_fields(row)
    if any(verification.unfit(verify, name, secret.reveal()) for name, secret in named.items()):
        raise Conflict("What the user typed cannot be sent in a header.")
    try:
        headers = verification.credential_headers(verify, named)
        query = verification.credential_query(verify, named)
    except KeyError:
        raise Conflict("The provider asks for other credentials today. Create a new elicitation.") from None
    escaped = {name: quote(value, safe="") for name, value in query.items()}
    sent = [value for value in headers.values() if value not in verify.headers.values()]  # others are no secret
    sent += [value.partition(" ")[2] for value in sent]  # it may come back without its scheme, such as "Basic"
    shown = (*(secret.reveal() for secret in named.values()), *sent, *escaped.values())
    return headers, escaped, tuple(one for one in shown if len(one) >= 8)
