"""Seals and opens an agent's notes."""

from __future__ import annotations

import json

from elicit_flows.domain.values import Secret
from elicit_flows.models import Elicitation
from elicit_flows.vault.seal import place, reveal, seal

Note = dict[str, str]


def seal_note(row: Elicitation, note: Note) -> str:
    return seal(Secret(json.dumps(note)) if note else None, note_place(row))


def open_note(row: Elicitation) -> Note:
    """The text of an agent's note. Raises Unavailable if it cannot be opened."""
    text = reveal(row.note, note_place(row))
    note: Note = json.loads(text.reveal()) if text else {}
    return note


def note_place(row: Elicitation) -> str:
    return place("elicitation", row.pk, row.iss, row.sub, "note")
