"""Why a sign-in was refused."""

from __future__ import annotations


class SignInRefused(Exception):
    """``code`` is an OAuth error code or one of ours; ``message`` is a sentence of ours that is safe to show.

    Our codes: issuer_mismatch, bad_answer, provider_error, bad_id_token, stale_login (the sign-in is older than the
    identity provider's ``max_age``; asking again with prompt "login" may help).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class BadToken(SignInRefused):
    """``why`` completes the sentence."""

    def __init__(self, why: str) -> None:
        super().__init__("bad_id_token", f"The identity provider's answer is not valid: {why}.")
        self.why = why


def bad_token(why: str) -> BadToken:
    return BadToken(why)
