"""Counts of events by hour, for charts and metrics. They contain no ids and nothing personal."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import models
from django.utils.translation import gettext_lazy as _

EVER = datetime(1970, 1, 1, tzinfo=UTC)  # the "hour" of counters that count over all time


class Tally(models.Model):
    """``labels`` are the values of the labels of ``name``, as JSON, so that one column can be unique."""

    hour = models.DateTimeField()
    name = models.CharField(max_length=32)
    labels = models.CharField(max_length=200)
    count = models.BigIntegerField(default=0)
    sum = models.FloatField(default=0)

    class Meta:
        verbose_name = _("hourly count")
        verbose_name_plural = _("hourly counts")
        constraints = [models.UniqueConstraint(fields=["hour", "name", "labels"], name="one_tally_an_hour")]

    def __str__(self) -> str:
        return f"{self.name} {self.labels}"


class Health(models.Model):
    """``sort``: job, provider, payment or identity; ``name``: the job's name, or the slug.

    ``failing_since`` is the first failure after the last success, ``failures`` the number since then. Written by
    ``jobs.metrics_store`` only.
    """

    sort = models.CharField(max_length=16)
    name = models.CharField(max_length=100)
    ok_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=100, blank=True)

    class Meta:
        verbose_name = _("health record")
        verbose_name_plural = _("health records")
        constraints = [models.UniqueConstraint(fields=["sort", "name"], name="one_health_each")]

    def __str__(self) -> str:
        return f"{self.sort} {self.name}"
