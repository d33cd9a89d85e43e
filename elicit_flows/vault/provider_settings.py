"""Providers' settings with their secrets, and the hosts that a secret may be sent to.

A secret is sent only to the hosts that were configured when it was given (threat T131). If somebody changes an address
of a provider, in the admin, in a file or in the database, no secret is sent to the new host: the client secret has to
be given again, and users have to connect again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from elicit_flows.domain.errors import ReauthorizationRequired, Unavailable
from elicit_flows.domain.values import Json, Secret
from elicit_flows.identity import OpenIdProvider
from elicit_flows.identity.proxy import Proxy
from elicit_flows.identity.site import Site
from elicit_flows.kinds.credentials.config import CredentialsProvider, TokenRequest, Verify
from elicit_flows.kinds.oauth import connection_metadata
from elicit_flows.kinds.oauth.provider import OAuthProvider
from elicit_flows.lib import clock
from elicit_flows.models import Agent, IdentityProvider, Provider, Registration
from elicit_flows.oauth import ProviderError
from elicit_flows.vault.seal import place, reveal, seal

MOVED = "provider_moved"
OF_TOKENS = (
    "token",
    "refresh",
    "revocation",
    "device",
    "issuer",
)  # purposes whose host receives a client secret or a refresh token
# Calls that an entry describes. An entry may get one after the client secret was given: the call is then not made until
# the secret is given again, and everything else goes on.
CALLS = ("revoke_call", "long_token", "renew_token")
REFRESH, REVOCATION = ("token", "refresh", "renew_token"), ("revocation", "revoke_call")
API = "api"
INSTALLATION = "installation"

Hosts = Mapping[str, str]


class HostChanged(ProviderError):
    """A secret would be sent to another host than before. Raised before anything is sent."""

    def __init__(self, where: Hosts) -> None:
        super().__init__(MOVED, f"The addresses of this provider lead to another host now: {hosts_in_words(where)}.")


def hosts_of(row: IdentityProvider | Provider, said: Json | None = None) -> dict[str, str]:
    """The hosts (scheme, host and port) that see secrets of this provider, by what for. What is discovered is as
    trusted as its issuer. ``said``: what the provider's ``settings`` has just returned.
    """
    urls = {"issuer": row.issuer}
    if isinstance(row, Provider) and row.mcp:
        # Everything was discovered, and is as trusted as exactly this issuer: another one at its host is another.
        return dict.fromkeys(("issuer", "token", "revocation"), row.issuer)
    if isinstance(row, Provider):
        said = said or row.settings()
        issuer = said["issuer"]
        quirks = row.quirks(said)
        discovered = issuer if row.sort == Provider.Sort.OAUTH else ""
        urls = {
            "issuer": issuer,
            "token": said["token_url"] or issuer,
            "refresh": quirks.refresh_url,
            "request": quirks.oauth1.request_url if quirks.oauth1 else "",
            **{name: call.url for name in CALLS if (call := getattr(quirks, name))},
            "revocation": said["revocation_url"] or issuer,
            "device": said["device_authorization_url"] or discovered,
            "userinfo": said["userinfo_url"] or discovered,
            "metadata": said["metadata_url"],
        }
    return {name: host_of(url, said["metadata"] if said else []) for name, url in urls.items() if url}


def bound_hosts(row: Provider, said: Json | None = None, hosts: Hosts | None = None) -> dict[str, str]:
    """The hosts that a connection's secrets may be sent to from now on: those of ``hosts_of``, and under "api" those of
    the API, of which there may be several. ``said``, ``hosts``: what ``settings`` and ``hosts_of`` have just returned.
    """
    said = said or row.settings()
    api = " ".join(dict.fromkeys(host_of(url, said["metadata"]) for url in api_urls(said)))
    return {**(hosts or hosts_of(row, said)), **({API: api} if api else {})}


def api_urls(said: Json) -> list[str]:
    """The addresses of the API, the usual one first. Without any, it is where credentials are checked."""
    urls: list[str] = said["api_urls"]
    if urls or not said["verify"]:
        return urls
    part = urlsplit(said["verify"]["url"])
    return [f"{part.scheme}://{part.netloc}"]


def host_of(url: str, metadata: list[Json]) -> str:
    """The scheme, host and port; where the provider names the host, all that it may name, separated by spaces."""
    if connection_metadata.PLACE.match(url):
        return connection_metadata.hosts_of_template(url, metadata)
    part = urlsplit(url)
    return f"{part.scheme}://{part.netloc}".lower()


def for_person(row: Provider, named: Mapping[str, str]) -> Provider:
    """The provider with what this person named in its addresses, such as their shop. It is not to be saved.

    Only what the operator left to them counts. A value that does not fit its rule leaves the place in the address,
    which is then not called.
    """
    wanted = {one.name: named[one.name] for one in row.open_variables() if one.name in named} if named else None
    if not wanted:
        return row
    made = copy(row)
    made.variables, made.named = {**row.variables, **wanted}, wanted
    if not moved_hosts(row):
        # The client secret was given for whatever these places become: the entry says below which domain that is.
        made.bound_to = hosts_of(made)
    return made


def moved_hosts(row: IdentityProvider | Provider) -> dict[str, str]:
    """The hosts that may not receive the row's client secret although it would be sent to them, by purpose; usually
    empty.
    """
    return _strange(hosts_of(row), row.bound_to, calls=False)


def registered_elsewhere(row: Registration) -> bool:
    return row.provider is not None and bool(_strange(hosts_of(row.provider), row.bound_to, calls=False))


def check(provider: Provider | None, bound: Hosts, purposes: Collection[str]) -> None:
    """Raises Moved where secrets that are ``bound`` would go to another host for one of these purposes. Call it before
    any of them is opened. Without a provider they go nowhere.
    """
    if provider is None:
        return
    strange = _strange({name: host for name, host in hosts_of(provider).items() if name in purposes}, bound)
    # The calls of an older connection may go where its access token goes anyway.
    usual = {bound.get("userinfo"), *bound.get(API, "").split()}
    if strange := {name: host for name, host in strange.items() if name not in CALLS or host not in usual}:
        raise HostChanged(strange)


def hosts_in_words(where: Hosts) -> str:
    return ", ".join(f"{name} at {host}" for name, host in where.items())


def _strange(now: Hosts, bound: Hosts, *, calls: bool | None = None) -> dict[str, str]:
    """The hosts that are new for a purpose. A host that already receives refresh tokens may receive them for another
    purpose; a host that receives only access tokens may not. Userinfo and metadata get the same tokens. ``calls``: only
    the hosts of CALLS, or only the others; by default all.
    """
    known = {bound[name] for name in OF_TOKENS if name in bound}
    same = {"metadata": bound.get("userinfo")}
    return {
        name: host
        for name, host in now.items()
        if host not in (bound.get(name), same.get(name, ""), *known) and calls in (None, name in CALLS)
    }


def calls_left_out(row: Provider, hosts: Hosts | None = None) -> dict[str, str]:
    """The hosts of described calls that are not made, because the client secret was not given for them (threat T171),
    by the name of the call. ``hosts``: what ``hosts_of`` has just returned.
    """
    if not row.client_secret:
        return {}
    return _strange(hosts_of(row) if hosts is None else hosts, row.bound_to, calls=True)


@lru_cache(maxsize=256)
def _warn_once(slug: str, calls: str) -> None:
    log.warning("provider %s: the client secret was not given for %s; give it again", slug, calls)


log = logging.getLogger(__name__)


def seal_client_secret(row: IdentityProvider | Provider, secret: Secret | None) -> None:
    """Seal the secret into the row, bound to the hosts that the row names now; the caller saves it."""
    row.client_secret = seal(secret, client_secret_place(row))
    row.bound_to = hosts_of(row) | {name: host for name, host in row.bound_to.items() if name == INSTALLATION}


def seal_app_key(row: Provider, key: Secret | None) -> None:
    """Seal the private key of an app into the row, bound to the host where its requests go now; the caller saves it."""
    row.app_key = seal(key, app_key_place(row))
    others = {name: host for name, host in row.bound_to.items() if name != INSTALLATION}
    row.bound_to = others | _installation_host(row)


def app_key(row: Provider) -> Secret | None:
    """The private key of an app, which signs and is not sent. Call ``check_app_key`` before it signs for anybody."""
    return reveal(row.app_key, app_key_place(row))


def app_key_place(row: Provider) -> str:
    return place("provider", row.slug, "app_key")


def app_key_moved(row: Provider) -> bool:
    """Whether what the key signs would go to another host than when the key was given."""
    return bool(row.app_key) and row.bound_to.get(INSTALLATION) != _installation_host(row).get(INSTALLATION)


def check_app_key(row: Provider, bound: Hosts) -> None:
    """Raises Unavailable if what the key signs would go to another host than when it was given, and
    ReauthorizationRequired if the person's token, which is ``bound``, may not be shown to that host.
    """
    if app_key_moved(row):
        log.error("provider %s: the app's key was not given for %s", row.slug, _installation_host(row))
        raise Unavailable("The addresses of this provider were changed: its operator has to give the app's key again.")
    if not {host for hosts in bound.values() for host in hosts.split()} >= {*_installation_host(row).values()}:
        raise ReauthorizationRequired("The provider's addresses have changed. Create a new elicitation.")


def _installation_host(row: Provider) -> dict[str, str]:
    way = row.quirks().installation
    return {INSTALLATION: host_of(way.mint, [])} if way else {}


def client_secret(row: IdentityProvider | Provider) -> Secret | None:
    """The client secret, for a comparison. Never send it: see ``_secret_to_send``."""
    return reveal(row.client_secret, client_secret_place(row))


def _secret_to_send(row: IdentityProvider | Provider, hosts: Hosts) -> Secret | None:
    """``hosts``: those of the row. Raises Unavailable where it would go to another one than it was given for."""
    if row.client_secret and (strange := _strange(hosts, row.bound_to, calls=False)):
        log.error("provider %s: the client secret was not given for %s", row.slug, hosts_in_words(strange))
        raise Unavailable("The addresses of this provider were changed: its operator has to give the secret again.")
    return reveal(row.client_secret, client_secret_place(row))


def openid(row: IdentityProvider) -> OpenIdProvider:
    return OpenIdProvider(
        slug=row.slug,
        issuer=row.issuer,
        client_id=row.client_id,
        client_secret=_secret_to_send(row, hosts_of(row)),
        scopes=tuple(row.scopes or ["openid"]),
        max_age=row.max_age,
    )


def site(row: IdentityProvider) -> Site:
    """The settings of a site that signs in its own users. It has no secret: its keys are public."""
    return Site(row.slug, row.issuer, row.sign_in_url, row.jwks_url or tuple(row.keys), row.max_age)


def proxy(row: IdentityProvider) -> Proxy:
    """The settings of a proxy that signs people in. It has no secret: its keys are public."""
    return Proxy(row.slug, row.issuer, row.header, tuple(row.audiences), row.jwks_url or tuple(row.keys))


def registration_of(row: Provider) -> Registration | None:
    """This service's registration at a provider; None if it has not registered, or if the provider's address changed
    since.
    """
    if row.registration != "dynamic":
        return None
    rows = Registration.objects.filter(**registered_for(row)).exclude(registered_at=None).select_related("provider")
    known = rows.first()
    return None if known is None or registered_elsewhere(known) else known


def registered_for(row: Provider) -> dict[str, Provider | str]:
    """What a registration belongs to, as its columns: the provider, or the authorization server of an MCP server."""
    return {"issuer": row.issuer} if row.mcp else {"provider": row}


def registration_place(row: Registration) -> str:
    return place("registration", row.issuer or str(row.provider_id), row.client_id, "client_secret")


def client_id(row: Provider) -> str:
    """The client id of this service at the provider."""
    if row.registration == "document":
        return f"{settings.ELICIT_PUBLIC_URL}/oauth/{row.client_slug or row.slug}/client.json"
    known = registration_of(row)
    return known.client_id if known else row.client_id


def oauth(row: Provider) -> OAuthProvider:
    """Raises Unavailable where the client secret was given for other hosts."""
    said = row.settings()
    hosts = hosts_of(row, said)
    left_out: dict[str, Any] = dict.fromkeys(calls_left_out(row, hosts))
    if left_out:
        _warn_once(row.slug, ", ".join(left_out))
    if known := registration_of(row):
        our_id, token_auth = known.client_id, known.token_auth
        secret = reveal(known.client_secret, registration_place(known))
    else:
        our_id = client_id(row) if row.registration == "document" else row.client_id
        token_auth, secret = said["token_auth"], _secret_to_send(row, hosts)
    return OAuthProvider(
        slug=row.slug,
        name=said["name"],
        client_id=our_id,
        client_secret=secret,
        issuer=said["issuer"] or None,
        authorize_url=said["authorize_url"] or None,
        token_url=said["token_url"] or None,
        revocation_url=said["revocation_url"] or None,
        userinfo_url=said["userinfo_url"] or None,
        device_authorization_url=said["device_authorization_url"] or None,
        token_auth=token_auth,
        scopes=tuple(said["scopes"]),
        grant=row.grant,
        pkce=said["pkce"],
        registration=row.registration,
        par=row.par,
        dpop=row.dpop,
        resources=tuple(row.resources),
        quirks=replace(row.quirks(said), **left_out) if left_out else row.quirks(said),
        scope_words=row.words_of_scopes(),
        hosts=bound_hosts(row, said, hosts),
        variables=row.named,
        metadata=tuple(map(connection_metadata.Named.of, said["metadata"])),
        metadata_url=said["metadata_url"] or None,
        mcp=row.mcp,
        default_scopes=tuple(row.default_scopes),
    )


def credentials_provider(row: Provider) -> CredentialsProvider:
    """The settings of a provider of kind credentials. It has no client secret."""
    said = row.settings()
    return CredentialsProvider(
        slug=row.slug,
        name=said["name"],
        fields=tuple(said["fields"]),
        find_url=said["find_url"],
        verify=Verify.of(said["verify"]) if said["verify"] else None,
        token=TokenRequest(
            url=said["token_url"],
            auth=said["token_auth"],
            scopes=tuple(said["scopes"]),
            resources=tuple(row.resources),
            revocation_url=said["revocation_url"],
            quirks=row.quirks(),
            metadata=tuple(map(connection_metadata.Named.of, said["metadata"])),
            scope_words=row.words_of_scopes(),
        )
        if said["token_url"]
        else None,
    )


def seal_webhook_secret(agent: Agent, secret: Secret, overlap_until: datetime | None = None) -> None:
    """Seal a new signing secret into the row. The present one also signs until ``overlap_until``."""
    present = reveal(agent.webhook_secret, webhook_place(agent, "webhook_secret"))
    agent.webhook_secret_previous = seal(present, webhook_place(agent, "webhook_secret_previous"))
    agent.webhook_previous_until = overlap_until if agent.webhook_secret_previous else None
    agent.webhook_secret = seal(secret, webhook_place(agent, "webhook_secret"))


def webhook_secrets(agent: Agent) -> list[Secret]:
    """The secrets that sign at present, newest first."""
    fields = ["webhook_secret"]
    if agent.webhook_previous_until and agent.webhook_previous_until > clock.now():
        fields.append("webhook_secret_previous")
    found = [reveal(getattr(agent, field), webhook_place(agent, field)) for field in fields]
    return [secret for secret in found if secret]


def webhook_place(agent: Agent, field: str) -> str:
    return place("agent", agent.slug, field)


def client_secret_place(row: IdentityProvider | Provider) -> str:
    return place(row._meta.model_name or "", row.slug, "client_secret")
