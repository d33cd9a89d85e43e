"""What a provider granted for an account that the person has yet to say yes to."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib import ids
from elicit_flows.models.connection import Connection
from elicit_flows.models.elicitation import Elicitation


def new_id() -> str:
    return ids.name("hg")


class HeldGrant(models.Model):
    """Kept until the person says what is to become of it, at most until ``expires_at``; from ``give_back_at`` on the
    provider is told that nobody wants it. ``grant`` is sealed by the vault, ``connection`` the one that was meant,
    where one was.
    """

    id = models.CharField(max_length=64, primary_key=True, default=new_id)
    elicitation = models.ForeignKey(Elicitation, models.CASCADE)
    connection = models.ForeignKey(Connection, models.CASCADE, null=True)
    account_id = models.CharField(max_length=255, blank=True)
    account_label = models.CharField(max_length=255, blank=True)
    grant = models.TextField(editable=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    give_back_at = models.DateTimeField(db_index=True)
