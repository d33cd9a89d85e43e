"""A known text sealed under each vault key, so that a wrong key is noticed at the start and not at the first read."""

from __future__ import annotations

from django.db import models


class VaultKey(models.Model):
    key_id = models.CharField(max_length=32, primary_key=True)
    sealed = models.TextField(editable=False)
