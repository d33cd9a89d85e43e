"""Making elicitations change, and knowing to the microsecond when each change was committed."""

from __future__ import annotations

import time

from django.db import transaction

from elicit_flows.domain.status import Status
from elicit_flows.elicitations.transitions import move
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation


def stir(elicitations: list[str], pause: float) -> list[tuple[int, int]]:
    """Change each, ``pause`` seconds apart; (seq, nanoseconds of the monotonic clock at the commit) of each.

    From started to settling and back, as when a provider's answer leads nowhere: that may go on for ever.
    """
    told = []
    for pk in elicitations:
        row = Elicitation.objects.select_related("agent").get(pk=pk)
        there = row.status == Status.STARTED
        stamps: list[int] = []
        with transaction.atomic():
            transaction.on_commit(lambda at=stamps: at.append(time.monotonic_ns()))  # type: ignore[misc]
            if there:
                move(row, Status.SETTLING, settling_since=clock.now())
            else:
                move(row, Status.STARTED, settling_since=None)
        told.append((row.seq, stamps[0]))
        time.sleep(pause)
    return told
