"""Notes: data that an agent needs after a restart, stored sealed with its elicitation. Only the agent can read them."""

from __future__ import annotations

from django.db import transaction

from elicit_flows import vault
from elicit_flows.domain.errors import Invalid
from elicit_flows.models import Elicitation
from elicit_flows.vault import Note

MAX_NOTE = 128 * 1024


def read_note(row: Elicitation) -> Note:
    """The note; empty if there is none, or if it was deleted."""
    return vault.open_note(row)


def change_note(row: Elicitation, changes: dict[str, str | None]) -> Note:
    """Change members of the note, and return the whole note. None removes a member (RFC 7396). Two changes at the same
    time do not undo each other. Raises Invalid if the note becomes too long.
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
