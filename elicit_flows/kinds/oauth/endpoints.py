"""Where a provider's endpoints are: as configured, the rest from its metadata."""

from __future__ import annotations

from dataclasses import dataclass

from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.lib import http, oauth


@dataclass(frozen=True, slots=True)
class Endpoints:
    """``issuer`` None: the provider has none that its answers could be compared with. ``authorize`` is "" where nobody
    is sent there.
    """

    issuer: str | None
    authorize: str
    token: str
    revocation: str | None
    userinfo: str | None
    sends_iss: bool = False
    pushed: str | None = None
    device: str | None = None


def resolve(config: OAuthProvider) -> Endpoints:
    """``pushed`` is None where requests are not to be pushed.

    Raises DiscoveryError: metadata not to be had, what is required not offered, or an endpoint missing or refused.
    """
    found = oauth.discover(config.issuer) if config.issuer and _incomplete(config) else None
    if found and not found.offers_s256() and config.pkce != "off" and not config.by_device:
        raise oauth.DiscoveryError("The provider does not offer PKCE with S256.")
    return Endpoints(
        issuer=config.issuer,
        authorize="" if config.by_device else _required(_authorize(config, found)),
        token=_required(config.token_url or (found.token_endpoint if found else None)),
        revocation=config.revocation_url or (found.revocation_endpoint if found else None),
        userinfo=config.userinfo_url or (found.userinfo_endpoint if found else None),
        sends_iss=found.sends_iss if found else False,
        pushed=None if config.by_device else _pushed(config, found),
        device=config.device_authorization_url or (found.device_authorization_endpoint if found else None),
    )


def authorize_url(config: OAuthProvider) -> str | None:
    """The authorization endpoint, or the next best thing that names its host, without asking anybody."""
    known = oauth.discovered(config.issuer) if config.issuer else None
    return config.authorize_url or (known and known.authorization_endpoint) or config.issuer


def _authorize(config: OAuthProvider, found: oauth.Metadata | None) -> str | None:
    return config.authorize_url or (found.authorization_endpoint if found else None)


def _incomplete(config: OAuthProvider) -> bool:
    way_in = config.device_authorization_url if config.by_device else config.authorize_url
    said = (way_in, config.token_url, config.revocation_url, config.userinfo_url)
    return None in said or (config.par == "required" and not config.by_device)


def _pushed(config: OAuthProvider, found: oauth.Metadata | None) -> str | None:
    """ "off" is for a provider that offers it and does it badly; one that takes nothing else gets it all the same."""
    offered = found.pushed_authorization_request_endpoint if found else None
    if offered is None and (config.par == "required" or (found and found.requires_par)):
        raise oauth.DiscoveryError("The provider does not offer pushed authorization requests.")
    return offered if config.par != "off" or (found and found.requires_par) else None


def _required(url: str | None) -> str:
    if url is None:
        raise oauth.DiscoveryError("The provider's endpoints are not known.")
    try:
        http.check_url(url)
    except http.Refused as refusal:
        raise oauth.DiscoveryError(f"An endpoint of the provider is refused: {refusal}") from None
    return url
