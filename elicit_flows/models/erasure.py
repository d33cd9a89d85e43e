"""That a person wants everything about them deleted: taken up by the worker until nothing is left."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import ids
from elicit_flows.lib.clock import now
from elicit_flows.values import Claim


def new_id() -> str:
    return ids.name("er")


class Erasure(models.Model):
    """``iss`` and ``sub`` are emptied when it is done. What is kept then names ``id`` in place of the person."""

    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    iss = models.CharField(max_length=500, blank=True)
    sub = models.CharField(max_length=255, blank=True)
    asked_at = models.DateTimeField(default=now)
    next_at = models.DateTimeField(null=True, default=now)
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["iss", "sub"], condition=models.Q(done_at__isnull=True), name="one_open_erasure_per_person"
            ),
        ]
        indexes = [models.Index(fields=["next_at"], name="erasure_due", condition=models.Q(next_at__isnull=False))]

    def __str__(self) -> str:
        return self.id

    @property
    def claim(self) -> Claim:
        return Claim(self.iss, self.sub)
