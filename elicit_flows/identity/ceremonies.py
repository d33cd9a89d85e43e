"""The ceremonies of WebAuthn (level 3): the options for the browser and the check of its answer, with the library
``webauthn``.

The device always verifies the person (PIN, finger, face), because nothing else proves who they are. Whoever uses this
module imports it then: only the service's own accounts need the library, which takes long to import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

from elicit_flows.http import strict_json
from elicit_flows.identity.errors import SignInRefused
from elicit_flows.identity.passkeys import NewPasskey, Place, Used

MINUTES = 5 * 60_000  # milliseconds that the browser may take
MAX_CREDENTIAL = 20_000
# What the library and its CBOR reader raise for input that no device made.
_UNREADABLE = (
    WebAuthnException, ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError,
)  # fmt: skip


def to_make(place: Place, *, sub: str, name: str, known: Sequence[str], challenge: str) -> str:
    """The options for a new passkey, as JSON. ``known``: the ids of the person's passkeys, so that no device makes a
    second.
    """
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


def made(place: Place, credential: str, challenge: str) -> NewPasskey:
    """The new passkey in the browser's answer. Raises SignInRefused."""
    try:
        checked = webauthn.verify_registration_response(
            credential=_parsed(credential),
            expected_challenge=challenge.encode(),
            expected_rp_id=place.host,
            expected_origin=place.origin,
            require_user_verification=True,
        )
    except _UNREADABLE as error:
        raise _refused() from error
    return NewPasskey(
        bytes_to_base64url(checked.credential_id),
        bytes_to_base64url(checked.credential_public_key),
        checked.sign_count,
        checked.credential_backed_up,
    )


def to_use(place: Place, challenge: str) -> str:
    """The options for signing in, as JSON. They name nobody: the device knows whose passkeys it has."""
    options = webauthn.generate_authentication_options(
        rp_id=place.host,
        challenge=challenge.encode(),
        timeout=MINUTES,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options)


def read(credential: str) -> AuthenticationCredential:
    """The browser's answer, not checked yet. Raises SignInRefused."""
    try:
        return parse_authentication_credential_json(_parsed(credential))
    except _UNREADABLE as error:
        raise _refused() from error


def used(
    place: Place, credential: AuthenticationCredential, challenge: str, *, sub: str, public_key: str, sign_count: int
) -> Used:
    """Check that the passkey of the person ``sub`` with that key signed.

    Raises SignInRefused, also if its counter went back, which means that the passkey was copied.
    """
    if credential.response.user_handle != sub.encode():  # we named nobody, so the device must (level 3, 7.2, step 6)
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
    except _UNREADABLE as error:
        raise _refused() from error
    return Used(checked.new_sign_count, checked.credential_backed_up)


def _parsed(credential: str) -> dict[str, Any]:
    """The JSON that a browser sent. Raises ValueError, TypeError, KeyError and SignInRefused.

    It also reads ``clientDataJSON`` strictly, because the library reads it as JSON and fails for deep nesting.
    """
    if len(credential) > MAX_CREDENTIAL:
        raise _refused()
    found: dict[str, Any] = strict_json.loads(credential)
    strict_json.loads(base64url_to_bytes(found["response"]["clientDataJSON"]))
    return found


def _refused() -> SignInRefused:
    return SignInRefused(
        "bad_passkey", "This passkey was not accepted. Try again. If it keeps failing, ask for an invitation."
    )
