"""note: what the agent needs to find again after a restart, kept sealed beside its question. Nobody else is told."""

from __future__ import annotations

from django.db import transaction

from elicit_flows import vault
from elicit_flows.errors import Invalid
from elicit_flows.models import Elicitation
from elicit_flows.vault import Note

MAX_NOTE = 128 * 1024


def note(row: Elicitation) -> Note:
    """Empty where there is none, or where it has gone."""
    return vault.open_note(row)


def add_to_note(row: Elicitation, changes: dict[str, str | None]) -> Note:
    """The note with these members changed, None takes one out (RFC 7396): of two that write at once none undoes the
    other. Raises Invalid for one that is too long.
    """
    with transaction.atomic():
        locked = Elicitation.objects.select_for_update().get(pk=row.pk)
        merged = vault.open_note(locked) | changes
        kept = {name: text for name, text in merged.items() if text is not None}
        if sum(len(name.encode()) + len(text.encode()) for name, text in kept.items()) > MAX_NOTE:
            raise Invalid.at("note", f"A note may have {MAX_NOTE} bytes in all.")
        locked.note = vault.seal_note(locked, kept)
        locked.save(update_fields=["note"])
    return kept
