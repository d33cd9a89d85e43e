"""The catalogue: what is known of OAuth providers that many people use. Data only; any field may be overridden.

``source_url`` is where the provider says so. A preset names no client and no secret: these are the operator's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    """The fields of OAuthProvider that are the same for everybody; "" is left to discovery or not offered."""

    name: str
    source_url: str
    issuer: str = ""
    authorize_url: str = ""
    token_url: str = ""
    revocation_url: str = ""
    userinfo_url: str = ""
    token_auth: str = "client_secret_basic"
    scopes: tuple[str, ...] = ()

    def fields(self) -> dict[str, str | list[str]]:
        """What it says about a provider, under the names of the configuration; what it leaves open is left out."""
        said = {name: value for name, value in asdict(self).items() if value and name != "source_url"}
        return {**said, "scopes": list(self.scopes)}


PRESETS = {
    # Revocation at GitHub is a call of its own API and not RFC 7009, so none is named.
    "github": Preset(
        name="GitHub",
        source_url="https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
        authorize_url="https://github.com/login/oauth/authorize",
        token_url="https://github.com/login/oauth/access_token",
        userinfo_url="https://api.github.com/user",
        token_auth="client_secret_post",
    ),
    "gitlab": Preset(
        name="GitLab",
        source_url="https://docs.gitlab.com/api/oauth2/",
        issuer="https://gitlab.com",
        authorize_url="https://gitlab.com/oauth/authorize",
        token_url="https://gitlab.com/oauth/token",
        revocation_url="https://gitlab.com/oauth/revoke",
        userinfo_url="https://gitlab.com/oauth/userinfo",
        scopes=("openid",),
    ),
    # Only offline access with consent brings a refresh token every time.
    "google": Preset(
        name="Google",
        source_url="https://developers.google.com/identity/protocols/oauth2/web-server",
        issuer="https://accounts.google.com",
        authorize_url="https://accounts.google.com/o/oauth2/v2/auth?access_type=offline&prompt=consent",
        token_url="https://oauth2.googleapis.com/token",
        revocation_url="https://oauth2.googleapis.com/revoke",
        userinfo_url="https://openidconnect.googleapis.com/v1/userinfo",
        token_auth="client_secret_post",
        scopes=("openid",),
    ),
    # Any account; no issuer, because the shared endpoint answers in the name of the user's own tenant; the ID token
    # says which account it is.
    "microsoft": Preset(
        name="Microsoft",
        source_url="https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow",
        authorize_url="https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        token_url="https://login.microsoftonline.com/common/oauth2/v2.0/token",
        token_auth="client_secret_post",
        scopes=("openid", "offline_access"),
    ),
}
