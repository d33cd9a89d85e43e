"""Remote MCP servers that nobody configured: each is a provider's row, written when a person goes there.

The row is what was discovered last. What people connected stays bound to the authorization server and to the resource
that they saw: if the MCP server names others by now, they are asked again (threats T151, T154).
"""

from __future__ import annotations

import logging

from django.conf import settings

from elicit_flows.kinds.oauth import mcp_server
from elicit_flows.models import Provider

log = logging.getLogger(__name__)


def known_mcp_server(url: str) -> Provider | None:
    """The row of the server at this address (as ``mcp_server.clean_url`` returns it), also if it is switched off."""
    return Provider.objects.filter(slug=mcp_server.slug_of(url), mcp=url).first()


def discover_mcp_server(url: str) -> Provider:
    """Ask the server and its authorization server, and store what they say; takes at most 25 seconds.

    Raises ProviderUnavailable.
    """
    known = known_mcp_server(url)
    found = mcp_server.discover(
        url,
        former_issuer=known.issuer if known else "",
        own_documents=settings.ELICIT_PUBLIC_URL.startswith("https://"),
    )
    columns = {
        "name": found.label,
        "mcp": found.url,
        "sort": Provider.Sort.OAUTH,
        "issuer": found.issuer,
        "authorize_url": found.authorize_url,
        "client_slug": found.client_slug,
        "resources": [found.resource],
        "scopes": list(found.scopes),
        "default_scopes": list(found.default_scopes),
        "registration": found.registration,
        "token_auth": found.token_auth,
    }
    if known and all(getattr(known, name) == value for name, value in columns.items()):
        return known
    if known and known.issuer != found.issuer:
        log.warning("MCP server %s names another authorization server now: %s", found.slug, found.issuer)
    return Provider.objects.update_or_create(slug=found.slug, defaults=columns)[0]
