"""A remote MCP server that nobody configured, found by its address: where its people sign in, and how this service
becomes a client there (MCP 2026-07-28, "Authorization").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from elicit_flows import http, oauth
from elicit_flows.domain import errors
from elicit_flows.kinds.oauth.connection_metadata import allowed_host
from elicit_flows.kinds.oauth.provider import OFFLINE
from elicit_flows.lib import ids

ANY = "*"  # in an operator's list of hosts: every host
MAX_URL = 1000
# How we authenticate if we register, the first that the authorization server accepts. It chooses the first if it says
# nothing (RFC 8414, section 2).
_AUTHS = ("client_secret_basic", "client_secret_post", "none")
_DOT_SEGMENT = re.compile(r"/(\.|%2e){1,2}(/|$)", re.IGNORECASE)


@dataclass(frozen=True)
class McpServer:
    """What was discovered. ``url`` is the address as ``clean_url`` returns it. The other names are those of the
    provider's settings.
    """

    url: str
    resource: str
    issuer: str
    authorize_url: str
    scopes: tuple[str, ...]
    default_scopes: tuple[str, ...]
    registration: str
    token_auth: str

    @property
    def label(self) -> str:
        """For people: the host, with the path where there is one."""
        return self.url.partition("://")[2][:200]

    @property
    def slug(self) -> str:
        return slug_of(self.url)

    @property
    def client_slug(self) -> str:
        """Each authorization server has a callback address and a client document of its own, so that no other can take
        its codes (RFC 9700, section 4.4).
        """
        return f"as-{ids.digest(self.issuer)[:32]}"


def clean_url(url: str) -> str:
    """The address in its canonical form: scheme and host in lower case, no default port, no slash alone.

    Raises http.Refused, whose ``str`` says what is wrong with it.
    """
    target = http.check_url(url)
    if len(url) > MAX_URL:
        raise http.Refused(f"The URL is longer than {MAX_URL} characters.")
    if _DOT_SEGMENT.search(target.path.partition("?")[0]):
        raise http.Refused("The URL must not have . or .. in its path.")
    path = "" if target.path == "/" else target.path
    return f"{target.scheme}://{target.authority}{path}"


def slug_of(url: str) -> str:
    """The slug of the provider that stands for the server at this address (as ``clean_url`` returns it)."""
    return f"mcp-{ids.digest(url)[:32]}"


def is_allowed(url: str, hosts: list[str]) -> bool:
    """Whether an operator's list names the host of the server: ``host``, ``*.domain``, either with a port, or ANY."""
    return ANY in hosts or allowed_host(urlsplit(url).netloc, hosts)


def discover(url: str, *, former_issuer: str, own_documents: bool) -> McpServer:
    """Ask the MCP server and its authorization server; takes at most 25 seconds.

    ``former_issuer``: the authorization server that people were sent to before, which stays while the MCP server names
    it. ``own_documents``: authorization servers can read our client ID metadata document. Raises ProviderUnavailable.
    """
    try:
        found = oauth.find_resource(url)
        listed = found.authorization_servers
        server = oauth.discover(former_issuer if former_issuer in listed else listed[0], for_mcp=True)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error)) from None
    if server.authorization_endpoint is None or server.token_endpoint is None:
        raise errors.ProviderUnavailable("The authorization server of the MCP server has no endpoints.")
    if not server.advertises_s256():
        raise errors.ProviderUnavailable("The authorization server of the MCP server does not offer PKCE with S256.")
    if server.reads_client_documents and own_documents:
        registration, auth = "document", "none"
    elif server.registration_endpoint:
        registration = "dynamic"
        auth = next((one for one in _AUTHS if one in (server.auth_methods or _AUTHS)), "none")
    else:
        raise errors.ProviderUnavailable(
            "The authorization server of the MCP server lets no client register itself. The operator can add it as a "
            "provider."
        )
    # Refresh tokens are asked for where that is possible: people need not come back for each hour.
    offline = (OFFLINE,) if OFFLINE in (server.scopes or ()) else ()
    return McpServer(
        url=url,
        resource=found.resource,
        issuer=server.issuer,
        authorize_url=server.authorization_endpoint,
        scopes=tuple(dict.fromkeys((*found.required, *offline))),
        default_scopes=() if found.required else found.offered,
        registration=registration,
        token_auth=auth,
    )
