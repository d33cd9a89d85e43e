"""An answer that is not given yet: what is written on a form's page, or by the agent's viewers, before it is sent."""

from __future__ import annotations

from django.db import models

from elicit_flows.lib.clock import now
from elicit_flows.models.elicitation import Elicitation
from elicit_flows.values import Json


class Draft(models.Model):
    """The shared answer to one question as it stands; ``answer`` is None once somebody cleared it.

    ``seq`` is the elicitation's at that change, so that a reader who has seen N asks for what is newer. ``by`` is
    "person" or "agent".
    """

    elicitation = models.ForeignKey(Elicitation, models.CASCADE, related_name="drafts", db_index=False)
    question = models.CharField(max_length=100)
    answer = models.JSONField(null=True)
    seq = models.PositiveIntegerField()
    by = models.CharField(max_length=8)
    changed_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["elicitation", "question"], name="one_draft_per_question")]

    def __str__(self) -> str:
        return f"{self.question} of {self.elicitation_id}"

    def said(self) -> Json:
        """As the API says it: the answer's members, ``seq`` and ``by``; cleared: these two alone."""
        return {**(self.answer or {}), "seq": self.seq, "by": self.by}
