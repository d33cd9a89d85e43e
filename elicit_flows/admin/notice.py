"""What the front page says: a thing to look at, what it means and where to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

MOST = 1000  # what is counted further is said as "over 1000"


@dataclass(frozen=True, slots=True)
class Notice:
    """``grave``: somebody is waiting in vain. ``links``: what to press, and where it leads."""

    title: str
    detail: str
    links: tuple[tuple[str, str], ...] = ()
    grave: bool = True


def up_to(rows: Any) -> str:
    """How many there are, without counting for ever; "" for none."""
    count = rows.values("pk")[: MOST + 1].count()
    if count > MOST:
        return _("over %(most)d") % {"most": MOST}
    return str(count) if count else ""
