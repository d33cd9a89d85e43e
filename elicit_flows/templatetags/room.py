"""What the operators' pages say in words."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def duration(seconds: float | None) -> str:
    """42 s, 3 min, 1 h 5 min."""
    if seconds is None:
        return "-"
    if seconds < 90:
        return _("%(count)d s") % {"count": round(seconds)}
    hours, minutes = divmod(round(seconds / 60), 60)
    said = _("%(count)d min") % {"count": minutes}
    return _("%(count)d h") % {"count": hours} + (f" {said}" if minutes else "") if hours else said
