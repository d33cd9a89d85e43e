"""Passkeys (WebAuthn, level 3): what a browser is asked, and whether its answer is good; the ``webauthn`` library says.

The person is always verified by their device (PIN, finger, face): the passkey is all that stands for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import webauthn
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    options_to_json,
    parse_authentication_credential_json,
)
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticationCredential,
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from elicit_flows.identity.errors import SignInRefused

MINUTES = 5 * 60_000  # milliseconds that a browser may take to ask the person
MAX_CREDENTIAL = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """The one origin that a passkey is for."""

    origin: str
    name: str

    @property
    def host(self) -> str:
        return urlsplit(self.origin).hostname or ""


@dataclass(frozen=True, slots=True)
class Made:
    """A new passkey, its binary parts in base64url."""

    credential_id: str
    public_key: str
    sign_count: int
    backed_up: bool


@dataclass(frozen=True, slots=True)
class Used:
    sign_count: int
    backed_up: bool


def to_make(place: Place, *, sub: str, name: str, known: Sequence[str], challenge: str) -> str:
    """The options as JSON. ``known``: the ids of those that the person has, so that no device makes a second one."""
    options = webauthn.generate_registration_options(
        rp_id=place.host,
        rp_name=place.name,
        user_id=sub.encode(),
        user_name=name,
        challenge=challenge.encode(),
        timeout=MINUTES,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=[PublicKeyCredentialDescriptor(id=base64url_to_bytes(one)) for one in known],
    )
    return options_to_json(options)


def made(place: Place, credential: str, challenge: str) -> Made:
    """Raises SignInRefused."""
    try:
        checked = webauthn.verify_registration_response(
            credential=_short(credential),
            expected_challenge=challenge.encode(),
            expected_rp_id=place.host,
            expected_origin=place.origin,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, TypeError, KeyError) as error:
        raise _refused() from error
    return Made(
        bytes_to_base64url(checked.credential_id),
        bytes_to_base64url(checked.credential_public_key),
        checked.sign_count,
        checked.credential_backed_up,
    )


def to_use(place: Place, challenge: str) -> str:
    """The options as JSON. Nobody is named: the device knows whose passkeys it has for this place."""
    options = webauthn.generate_authentication_options(
        rp_id=place.host,
        challenge=challenge.encode(),
        timeout=MINUTES,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options)


def read(credential: str) -> AuthenticationCredential:
    """What a browser answered, nothing of it checked. Raises SignInRefused."""
    try:
        return parse_authentication_credential_json(_short(credential))
    except (WebAuthnException, ValueError, TypeError, KeyError) as error:
        raise _refused() from error


def used(
    place: Place, credential: AuthenticationCredential, challenge: str, *, sub: str, public_key: str, sign_count: int
) -> Used:
    """Whether the passkey with that key, of the person ``sub``, signed. Raises SignInRefused, also where its counter
    went back: then there is a copy of it.
    """
    if credential.response.user_handle != sub.encode():  # nobody was named, so the device has to (level 3, 7.2, step 6)
        raise _refused()
    try:
        checked = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge.encode(),
            expected_rp_id=place.host,
            expected_origin=place.origin,
            credential_public_key=base64url_to_bytes(public_key),
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, TypeError, KeyError) as error:
        raise _refused() from error
    return Used(checked.new_sign_count, checked.credential_backed_up)


def _short(credential: str) -> str:
    if len(credential) > MAX_CREDENTIAL:
        raise _refused()
    return credential


def _refused() -> SignInRefused:
    return SignInRefused(
        "bad_passkey", "This passkey was not accepted. Try again; if it stays so, ask for an invitation."
    )
