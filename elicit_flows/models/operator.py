"""What is kept of an operator beside Django's own account: the second factor, and that a password was given."""

from __future__ import annotations

from django.db import models
from django_otp.models import Device, ThrottlingMixin


class Operator(ThrottlingMixin, Device):
    """``confirmed`` once a first code was right. ``secret`` is sealed by the vault, ``recovery`` are hashes.

    ``last_step`` is the time step of the last code that was taken (RFC 6238, section 5.2: none is taken twice).
    """

    given_password = models.BooleanField(default=False, db_default=False)
    secret = models.TextField(blank=True, editable=False)
    recovery = models.JSONField(default=list)
    last_step = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user"], name="one_operator_per_user")]

    def __str__(self) -> str:
        return self.name

    def get_throttle_factor(self) -> int:
        """Seconds to wait after a wrong code, doubled with each."""
        return 1
