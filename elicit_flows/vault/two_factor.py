"""Operators' second factor: time-based one-time passwords (RFC 6238) and recovery codes."""

from __future__ import annotations

import base64
import secrets
from urllib.parse import quote, urlencode

from django.contrib.auth.models import User
from django.db import transaction
from django_otp.oath import TOTP

from elicit_flows.domain.values import Secret
from elicit_flows.lib import ids
from elicit_flows.models import Operator
from elicit_flows.vault.seal import place, reveal, seal

SECRET_BYTES = 20  # RFC 4226, section 4, R6
RECOVERY_CODES = 10
TOLERANCE = 1  # steps of 30 seconds that a clock may be off
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without letters and digits that look alike


def operator(user: User) -> Operator:
    """The operator row of this user, created without a second factor if there is none."""
    name = user.get_username()[:64]
    row: Operator = Operator.objects.get_or_create(user=user, defaults={"name": name, "confirmed": False})[0]
    return row


def secret_place(row: Operator) -> str:
    return place("operator", str(row.pk), str(row.user_id), "secret")


def key_uri(row: Operator, issuer: str) -> tuple[str, str]:
    """The URI for an authenticator app to scan, and the secret in base32 to type.

    For a row whose second factor is not confirmed. The secret is made at the first call and stays until it is confirmed
    or reset.
    """
    kept = reveal(row.secret, secret_place(row))
    if kept is None:
        kept = Secret(base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode())
        row.secret = seal(kept, secret_place(row))
        row.save(update_fields=["secret"])
    label, typed = quote(f"{issuer}:{row.name}"), kept.reveal()
    return f"otpauth://totp/{label}?{urlencode({'secret': typed, 'issuer': issuer}, quote_via=quote)}", typed


def confirm(row: Operator, code: str) -> list[str] | None:
    """Confirm the second factor with a code. Returns the recovery codes, which are shown once; None if the code is
    wrong.
    """
    with transaction.atomic():
        row = _held(row)
        if row.confirmed or not row.verify_is_allowed()[0] or not _is_code(row, code):
            return None
        codes = []
        for _ in range(RECOVERY_CODES):
            made = "".join(secrets.choice(ALPHABET) for _ in range(16))  # 80 random bits
            codes.append("-".join(made[at : at + 4] for at in range(0, 16, 4)))
        row.confirmed, row.recovery = True, [ids.digest(plain(one)) for one in codes]
        row.save(update_fields=["confirmed", "recovery"])
    return codes


def verify_code(row: Operator, code: str) -> bool:
    """Whether this is the current code or a recovery code. Each is accepted once; wrong codes are rate limited."""
    with transaction.atomic():
        row = _held(row)
        return row.confirmed and bool(row.verify_is_allowed()[0]) and (_is_code(row, code) or _is_recovery(row, code))


def forget_factor(row: Operator) -> None:
    """Remove the second factor; the next sign-in sets up another one."""
    row.secret, row.recovery, row.confirmed, row.last_step = "", [], False, 0
    row.throttle_reset(commit=False)
    row.save()


def plain(code: str) -> str:
    """The code without the spaces and hyphens that people type."""
    return "".join(one for one in code.upper() if one.isalnum())


def _held(row: Operator) -> Operator:
    held: Operator = Operator.objects.select_for_update().get(pk=row.pk)
    return held


def _is_code(row: Operator, code: str) -> bool:
    kept, typed = reveal(row.secret, secret_place(row)), plain(code)
    right = TOTP(base64.b32decode(kept.reveal())) if kept else None
    if not (right and len(typed) == right.digits and typed.isdecimal() and typed.isascii()):
        return _wrong(row)
    if not right.verify(int(typed), tolerance=TOLERANCE, min_t=row.last_step + 1):
        return _wrong(row)
    row.last_step = right.t()
    row.throttle_reset()
    return True


def _is_recovery(row: Operator, code: str) -> bool:
    hashed = ids.digest(plain(code))
    if hashed not in row.recovery:
        return False
    row.recovery = [one for one in row.recovery if one != hashed]
    row.throttle_reset()
    return True


def _wrong(row: Operator) -> bool:
    row.throttle_increment()
    return False
