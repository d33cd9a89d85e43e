"""The errors of talking to an authorization server. Every ``str`` is a sentence of ours that is safe to show."""

from __future__ import annotations

# Only the operator can correct these: connecting again would get the same answer. The last three mean invalid_client at
# Slack and GitHub (docs.slack.dev/reference/methods/oauth.v2.access; docs.github.com, "Troubleshooting OAuth app access
# token request errors"), and so does access_denied at Auth0 and at Atlassian, which is built on it.
OUR_CLIENT = frozenset(
    {
        "access_denied", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
        "invalid_client_id", "bad_client_secret", "incorrect_client_credentials",
    }
)  # fmt: skip
# How a token endpoint says that it does not know the client. The second is what MCP's Python SDK said until 2025
# (modelcontextprotocol/python-sdk#1480).
IDENTITY_CHANGED = "identity_changed"  # ours: a refresh was answered for another account
CLIENT_LOST = frozenset({"invalid_client", "unauthorized_client"})
NOBODY_THERE = frozenset({404, 405})


class OAuthError(Exception):
    """Base of the errors that this package raises about the server."""


class DiscoveryError(OAuthError):
    """There is no metadata that we may use: not found, unreachable, contradictory, or with addresses that are
    refused.
    """


class InvalidGrant(OAuthError):
    """The code or refresh token is not valid, or no longer valid (RFC 6749, section 5.2)."""

    code = "invalid_grant"


class NotAllowed(InvalidGrant):
    """The organisation's identity provider does not vouch for this person to that server. ``said`` is its code."""

    code = "organisation_refused"

    def __init__(self, said: str) -> None:
        super().__init__(f"The organisation does not allow this ({said}).")
        self.said = said


class NotSignedIn(InvalidGrant):
    """The identity provider can be asked about this person only when they have signed in again."""

    code = "sign_in_again"


class IssuerMismatch(OAuthError):
    """The answer does not come from the server that was asked (RFC 9207)."""


class ProviderError(OAuthError):
    """The provider refused, or its answer cannot be used; a retry will not help.

    ``code`` is an OAuth error code or one of ours: redirect, bad_response, not_allowed, unknown_error. ``status`` is
    the HTTP status of a refusal, or else None. ``said`` is the provider's explanation without possible secrets, or "",
    for the operator's log.
    """

    def __init__(self, code: str, message: str, *, status: int | None = None, said: str = "") -> None:
        super().__init__(message)
        self.code, self.status, self.said = code, status, said

    @property
    def of_the_grant(self) -> bool:
        """Whether this may mean that a grant has ended: a token endpoint answered, and did not refuse our client
        itself.
        """
        return self.status is not None and self.status not in NOBODY_THERE and self.code not in OUR_CLIENT


class ClientRefused(ProviderError):
    """The provider does not accept the client that a token was requested for.

    invalid_client: unknown client or wrong secret. unauthorized_client: the grant is not allowed to it. invalid_scope.
    access_denied: the provider does not say which.
    """


class NotYet(OAuthError):
    """The person has not finished (RFC 8628, section 3.5). ``slower``: poll less often from now on."""

    def __init__(self, message: str, *, slower: bool = False) -> None:
        super().__init__(message)
        self.slower = slower


class Transient(OAuthError):
    """No answer, or a temporary error. ``sent``: the request may have had an effect."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent
