"""What leads to an elicitation where nobody can follow its link."""

from __future__ import annotations

from django.db import models

from elicit_flows.models.elicitation import Elicitation


class UserCode(models.Model):
    """Typed in place of the link. It says where, never who: it opens nothing that the link does not."""

    code = models.CharField(max_length=8, primary_key=True)
    elicitation = models.OneToOneField(Elicitation, models.CASCADE, related_name="user_code")

    def __str__(self) -> str:
        return self.code
