"""The operator's secrets: client secrets and webhook secrets, sealed in their rows."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings

from elicit_flows.identity import OpenIdProvider
from elicit_flows.identity.proxy import Proxy
from elicit_flows.identity.site import Site
from elicit_flows.kinds.credentials.config import CredentialsProvider, TokenRequest, Verify
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.lib import clock
from elicit_flows.models import Agent, IdentityProvider, Provider, Registration
from elicit_flows.values import Json, Secret
from elicit_flows.vault.seal import place, reveal, seal


def seal_client_secret(row: IdentityProvider | Provider, secret: Secret | None) -> None:
    """Put the secret on the row; the caller saves it."""
    row.client_secret = seal(secret, client_secret_place(row))


def client_secret(row: IdentityProvider | Provider) -> Secret | None:
    return reveal(row.client_secret, client_secret_place(row))


def openid(row: IdentityProvider) -> OpenIdProvider:
    return OpenIdProvider(
        slug=row.slug,
        issuer=row.issuer,
        client_id=row.client_id,
        client_secret=client_secret(row),
        scopes=tuple(row.scopes or ["openid"]),
        max_age=row.max_age,
    )


def site(row: IdentityProvider) -> Site:
    """The operator keeps no secret of a site: its keys are public."""
    return Site(row.slug, row.issuer, row.sign_in_url, row.jwks_url or tuple(row.keys), row.max_age)


def proxy(row: IdentityProvider) -> Proxy:
    """The operator keeps no secret of a proxy: its keys are public."""
    return Proxy(row.slug, row.issuer, row.header, tuple(row.audiences), row.jwks_url or tuple(row.keys))


def registration_of(row: Provider) -> Registration | None:
    """Who we are at a provider where this service registered itself; None before that."""
    if row.registration != "dynamic":
        return None
    return Registration.objects.filter(provider=row).exclude(registered_at=None).first()


def registration_place(provider: int, client_id: str) -> str:
    return place("registration", str(provider), client_id, "client_secret")


def _client(row: Provider, token_auth: str) -> tuple[str, Secret | None, str]:
    """Our id, our secret and how we prove that it is us: as the operator has it, or as we were registered."""
    known = registration_of(row)
    if known:
        secret = reveal(known.client_secret, registration_place(row.pk, known.client_id))
        return known.client_id, secret, known.token_auth
    own = f"{settings.ELICIT_PUBLIC_URL}/oauth/{row.slug}/client.json"
    return own if row.registration == "document" else row.client_id, client_secret(row), token_auth


def oauth(row: Provider) -> OAuthProvider:
    said = row.settings()
    client_id, secret, token_auth = _client(row, said["token_auth"])
    return OAuthProvider(
        slug=row.slug,
        name=said["name"],
        client_id=client_id,
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
        quirks=row.quirks(),
        scope_words=row.scope_words(),
    )


def credentials_provider(row: Provider) -> CredentialsProvider:
    """The operator keeps no secret of such a provider."""
    said = row.settings()
    return CredentialsProvider(
        slug=row.slug,
        name=said["name"],
        fields=tuple(said["fields"]),
        find_url=said["find_url"],
        verify=Verify.of(said["verify"]) if said["verify"] else None,
        token=_token_request(row, said) if said["token_url"] else None,
    )


def _token_request(row: Provider, said: Json) -> TokenRequest:
    return TokenRequest(
        url=said["token_url"],
        auth=said["token_auth"],
        scopes=tuple(said["scopes"]),
        resources=tuple(row.resources),
        revocation_url=said["revocation_url"],
        quirks=row.quirks(),
        scope_words=row.scope_words(),
    )


def seal_webhook_secret(agent: Agent, secret: Secret, overlap_until: datetime | None = None) -> None:
    """Put a new signing secret on the row; the present one goes on signing beside it until ``overlap_until``."""
    agent.webhook_secret_previous = seal(
        _webhook(agent, "webhook_secret"), webhook_place(agent, "webhook_secret_previous")
    )
    agent.webhook_previous_until = overlap_until if agent.webhook_secret_previous else None
    agent.webhook_secret = seal(secret, webhook_place(agent, "webhook_secret"))


def webhook_secrets(agent: Agent) -> list[Secret]:
    """The secrets to sign with now, newest first."""
    found = [_webhook(agent, "webhook_secret")]
    if agent.webhook_previous_until and agent.webhook_previous_until > clock.now():
        found.append(_webhook(agent, "webhook_secret_previous"))
    return [secret for secret in found if secret]


def _webhook(agent: Agent, field: str) -> Secret | None:
    return reveal(getattr(agent, field), webhook_place(agent, field))


def webhook_place(agent: Agent, field: str) -> str:
    return place("agent", agent.slug, field)


def client_secret_place(row: IdentityProvider | Provider) -> str:
    return place(row._meta.model_name or "", row.slug, "client_secret")
