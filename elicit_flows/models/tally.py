"""How often something happened, by hour: what the charts and the metrics are made of. No ids, nothing personal."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import models

EVER = datetime(1970, 1, 1, tzinfo=UTC)  # stands for the hour of what is counted over all time


class Tally(models.Model):
    """``labels`` are the values of the labels of ``name``, as JSON, so that one column can be unique."""

    hour = models.DateTimeField()
    name = models.CharField(max_length=32)
    labels = models.CharField(max_length=200)
    count = models.BigIntegerField(default=0)
    sum = models.FloatField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["hour", "name", "labels"], name="one_tally_an_hour")]

    def __str__(self) -> str:
        return f"{self.name} {self.labels}"
