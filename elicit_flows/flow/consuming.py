"""consume: the agent acts on what an elicitation came to, once, however often its own client repeats the last retry."""

from __future__ import annotations

from django.db import transaction

from elicit_flows.errors import AlreadyConsumed, NotOver
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation


def consume(row: Elicitation, key: str | None = None) -> tuple[Elicitation, bool]:
    """The elicitation, and whether this is the replay of the call that consumed it: one with the same ``key``.

    Its Idempotency-Key is free from then on, so that the next create under it asks anew. Raises NotOver,
    AlreadyConsumed.
    """
    with transaction.atomic():
        locked = Elicitation.objects.select_for_update().get(pk=row.pk)
        if not locked.over:
            raise NotOver(f"The elicitation is {locked.status}: there is nothing to act on yet.")
        if locked.consumed_at is None:
            locked.consumed_at, locked.consumed_by, locked.idempotency_key = clock.now(), key, None
            locked.save(update_fields=["consumed_at", "consumed_by", "idempotency_key"])
            return locked, False
    if key is None or locked.consumed_by != key:
        raise AlreadyConsumed("What this elicitation came to was acted on already: do not act on it again.")
    return locked, True
