"""How talking to an authorization server fails. Every ``str`` is one sentence of ours, safe to show."""

from __future__ import annotations


class OAuthError(Exception):
    """Base of all that this package raises about the other side."""


class DiscoveryError(OAuthError):
    """There is no metadata that we may use: not found, not reachable, contradictory or pointing where we do not go."""


class InvalidGrant(OAuthError):
    """The code or the refresh token is not, or no longer, honoured (RFC 6749, section 5.2)."""


class IssuerMismatch(OAuthError):
    """The answer does not come from the server that was asked (RFC 9207)."""


class ProviderError(OAuthError):
    """The provider refused or answered something unusable; asking again will not help.

    ``code`` is an OAuth error code or one of ours: redirect, bad_response, not_allowed, unknown_error.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ClientRefused(ProviderError):
    """A token was asked for the client itself, and it is that client which the provider does not take: invalid_client
    (it does not know it, or the secret is wrong), unauthorized_client (it may not ask so), invalid_scope, or
    access_denied where the provider does not say which.
    """


class NotYet(OAuthError):
    """The person is still at it (RFC 8628, section 3.5). ``slower``: we are to ask less often from now on."""

    def __init__(self, message: str, *, slower: bool = False) -> None:
        super().__init__(message)
        self.slower = slower


class Transient(OAuthError):
    """No answer, or one that says "later". ``sent``: the request may have had its effect all the same."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent
