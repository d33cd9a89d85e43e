"""What the operator's pages look like and say: one row for the installation, and one for an agent that differs."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from elicit_flows.models.agent import Agent
from elicit_flows.models.picture import Picture


def _picture() -> Any:
    return models.ForeignKey(Picture, models.PROTECT, null=True, blank=True, related_name="+")


class Brand(models.Model):
    """``agent`` is None for the installation. What is empty on an agent's row is as on the installation's.

    ``texts`` has plain texts by name and language: ``{"done": {"en": "…"}}``. The colours are ``#rrggbb`` and have the
    contrasts that ``brands.theme`` asks for.
    """

    agent = models.OneToOneField(Agent, models.CASCADE, null=True, blank=True, related_name="own_brand")
    name = models.CharField(_("name"), max_length=100, blank=True)
    legal_name = models.CharField(_("legal name"), max_length=200, blank=True)
    logo = _picture()
    logo_dark = _picture()
    icon = _picture()
    brand = models.CharField(max_length=7, blank=True)
    brand_dark = models.CharField(max_length=7, blank=True)
    radius = models.CharField(max_length=8, blank=True)
    font = models.CharField(max_length=16, blank=True, default="", db_default="")
    support_url = models.CharField(max_length=2000, blank=True)
    support_email = models.CharField(max_length=254, blank=True)
    privacy_url = models.CharField(max_length=2000, blank=True)
    terms_url = models.CharField(max_length=2000, blank=True)
    texts = models.JSONField(default=dict, blank=True)
    hide_secured_by = models.BooleanField(default=False)

    class Meta:
        verbose_name = _("brand")
        verbose_name_plural = _("brands")
        constraints = [models.UniqueConstraint(Coalesce("agent", 0), name="one_brand_each")]

    def __str__(self) -> str:
        return f"brand of {self.agent}" if self.agent else "brand"
