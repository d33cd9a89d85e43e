"""One row of six columns with two indexes, about as wide as a question."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Row(models.Model):
    id = models.CharField(max_length=64, primary_key=True)
    owner = models.CharField(max_length=255, db_index=True)
    message = models.TextField()
    data = models.JSONField()
    created_at = models.DateTimeField(db_index=True)
    expires_at = models.DateTimeField()

    objects: ClassVar[models.Manager[Row]]

    class Meta:
        app_label = "bare"
