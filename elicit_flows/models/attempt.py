"""One press of the button: the way out and back, bound to a browser, single use, at most ten minutes; or what our page
shows because nobody leaves, for as long as the provider keeps it.
"""

from __future__ import annotations

from django.db import models

from elicit_flows.models.elicitation import Elicitation


class Attempt(models.Model):
    """``state_hash`` finds it again. ``context`` is the plug-in it left for; ``stash`` is sealed by the vault.

    ``poll_at``: when the provider is to be asked how it stands, and while it is asked, when somebody else is to.
    """

    elicitation = models.ForeignKey(Elicitation, models.CASCADE, related_name="attempts")
    state_hash = models.CharField(max_length=64, unique=True)
    browser_hash = models.CharField(max_length=64)
    press_hash = models.CharField(max_length=64, null=True)
    context = models.CharField(max_length=64, blank=True)
    stash = models.TextField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    poll_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # two presses of one rendered button are one attempt
            models.UniqueConstraint(fields=["elicitation", "press_hash"], name="one_attempt_per_press"),
        ]
        indexes = [
            models.Index(fields=["expires_at"], name="attempt_purge"),
            models.Index(
                fields=["poll_at"], name="attempt_poll", condition=models.Q(poll_at__isnull=False, used_at=None)
            ),
        ]
