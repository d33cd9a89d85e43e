"""An operator's second factor, and whether their password is a temporary one."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _
from django_otp.models import Device, ThrottlingMixin


class Operator(ThrottlingMixin, Device):
    """``confirmed`` is set after the first correct code. ``secret`` is sealed by the vault, ``recovery`` contains
    hashes.

    ``last_step`` is the time step of the last accepted code (RFC 6238, section 5.2: no code is accepted twice).
    """

    given_password = models.BooleanField(default=False, db_default=False)
    secret = models.TextField(blank=True, editable=False)
    recovery = models.JSONField(default=list)
    last_step = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("second factor of an operator")
        verbose_name_plural = _("second factors of operators")
        constraints = [models.UniqueConstraint(fields=["user"], name="one_operator_per_user")]

    def __str__(self) -> str:
        return self.name

    def get_throttle_factor(self) -> int:
        """Seconds to wait after a wrong code; doubled with each further one."""
        return 1
