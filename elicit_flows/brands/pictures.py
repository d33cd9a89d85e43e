"""Pictures from operators: read, cleaned, stored under the hash of their content, and removed when unused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from elicit_flows.brands import png, svg
from elicit_flows.brands.values import Image, Unsafe
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Brand, IdentityProvider, Picture, Provider

MAX_BYTES = 64 * 1024
KEPT_UNUSED = timedelta(days=1)  # an open page may still load it, and a form may still save it
_USES: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (Brand, ("logo", "logo_dark", "icon")),
    (Agent, ("logo",)),
    (IdentityProvider, ("icon",)),
    (Provider, ("logo",)),
)


def read(raw: bytes) -> Image:
    """The cleaned picture. Raises Unsafe. What is read again comes out the same."""
    if len(raw) > MAX_BYTES:
        raise Unsafe(f"has {len(raw)} bytes; make it at most {MAX_BYTES}")
    if raw.startswith(png.SIGNATURE):
        return png.clean(raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    if "<svg" not in text:
        raise Unsafe("is neither a PNG nor an SVG in UTF-8")
    return svg.clean(text)


def store(image: Image | None) -> Picture | None:
    if image is None:
        return None
    values = {
        "media_type": image.media_type,
        "content": image.content,
        "width": image.width,
        "height": image.height,
    }
    return Picture.objects.get_or_create(digest=image.digest, defaults=values)[0]


def remove_unused() -> None:
    """Remove the pictures that nothing has shown for a day."""
    rows = Picture.objects.filter(created_at__lt=clock.now() - KEPT_UNUSED)
    for model, names in _USES:
        for name in names:
            rows = rows.exclude(pk__in=model.objects.exclude(**{name: None}).values(name))
    rows.delete()
