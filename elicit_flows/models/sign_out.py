"""That a person signed out everywhere: what their sessions are compared with."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib.clock import now


class SignOut(models.Model):
    """A session counts as long as it knows the ``epoch``. Kept until every session of before is over by itself."""

    iss = models.CharField(max_length=500)
    sub = models.CharField(max_length=255)
    epoch = models.CharField(max_length=64)
    at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["iss", "sub"], name="one_sign_out_per_person")]
        indexes = [models.Index(fields=["at"], name="sign_out_purge")]

    def __str__(self) -> str:
        return self.epoch
