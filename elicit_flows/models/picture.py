"""Pictures that operators gave: logos and icons, cleaned before they are stored."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import clock


class Picture(models.Model):
    """Named by the hash of its content, so its address always means the same picture. See ``brands.pictures``."""

    digest = models.CharField(max_length=64, primary_key=True)
    media_type = models.CharField(max_length=32)
    content = models.BinaryField()
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=clock.now)

    def __str__(self) -> str:
        return self.digest[:12]

    @property
    def address(self) -> str:
        return f"/brand/picture/{self.digest}"
