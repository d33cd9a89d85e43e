"""Rules of ``[brand]`` and ``[agent.brand]``, of pictures in all tables, and how they are put on a row."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from elicit_flows.brands import page_brand, pictures, theme
from elicit_flows.brands.values import Image, Unsafe
from elicit_flows.config_file.values import InvalidValue, Rule, boolean, browser_url, in_languages, one_of, text
from elicit_flows.domain.values import Json
from elicit_flows.lib import colours
from elicit_flows.models import Agent, Brand, IdentityProvider, Picture, Provider

MAX_TEXT = 500
_DATA = re.compile(r"data:image/(?:png|svg\+xml);base64,([A-Za-z0-9+/=]*)")


def picture(value: Any) -> Image:
    """``file:PATH``, or the picture itself as a ``data:`` address, as ``export`` writes it."""
    if not isinstance(value, str):
        raise InvalidValue("must be file:PATH of a PNG or an SVG")
    source, _, path = value.partition(":")
    try:
        if source == "file":
            with Path(path).open("rb") as file:
                raw = file.read(pictures.MAX_BYTES + 1)
        else:
            found = _DATA.fullmatch(value)
            raw = base64.b64decode(found[1] if found else "!", validate=True)
    except binascii.Error:
        raise InvalidValue("must be file:PATH of a PNG or an SVG") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no such name"
        raise InvalidValue(f"names the file {path}, which cannot be read ({why})") from None
    try:
        return pictures.read(raw)
    except Unsafe as refusal:
        raise InvalidValue(str(refusal)) from None


def as_data(row: Picture) -> str:
    """A stored picture as the file can hold it."""
    return f"data:{row.media_type};base64,{base64.b64encode(bytes(row.content)).decode()}"


def colour(value: Any, scheme: theme.Scheme) -> str:
    """A colour that has enough contrast with what it stands on and what stands on it."""
    if not colours.is_colour(value):
        raise InvalidValue('must be a colour such as "#0b5cad"')
    if fault := theme.fault(value, scheme):
        raise InvalidValue(fault)
    return str(value).lower()


def email(value: Any) -> str:
    try:
        validate_email(text(254)(value))
    except ValidationError:
        raise InvalidValue("must be an e-mail address") from None
    return str(value)


def texts(value: Any) -> dict[str, dict[str, str]]:
    """``{ done = { en = "…", de = "…" } }``: plain texts by name and language."""
    if not isinstance(value, dict) or value.keys() - set(page_brand.TEXTS):
        raise InvalidValue(f"must have {', '.join(page_brand.TEXTS)}, each with a text for each language")
    found = {name: in_languages(name, said, MAX_TEXT) for name, said in value.items()}
    return {name: said for name, said in found.items() if said}


# Each key with its rule and its default.
RULES: Mapping[str, tuple[Rule, Any]] = {
    "name": (text(100), ""),
    "legal_name": (text(200), ""),
    "logo": (picture, None),
    "logo_dark": (picture, None),
    "icon": (picture, None),
    "brand": (partial(colour, scheme=theme.LIGHT), ""),
    "brand_dark": (partial(colour, scheme=theme.DARK), ""),
    "radius": (one_of(*theme.RADII), ""),
    "font": (one_of(*theme.FONTS), ""),
    "support_url": (browser_url, ""),
    "support_email": (email, ""),
    "privacy_url": (browser_url, ""),
    "terms_url": (browser_url, ""),
    "texts": (texts, {}),
    "hide_secured_by": (boolean, False),
}


def own_brand(value: Any) -> Json:
    """``[agent.brand]``: the keys of ``[brand]`` that differ for this agent."""
    if not isinstance(value, dict) or value.keys() - RULES.keys():
        raise InvalidValue(f"must be a table with keys of [brand]: {', '.join(RULES)}")
    found = {name: default for name, (_, default) in RULES.items()}
    for name in value:
        try:
            found[name] = RULES[name][0](value[name])
        except InvalidValue as error:
            raise InvalidValue(f"{name} {error}") from None
    return found


def set_brand(row: Brand, values: Json) -> dict[str, tuple[Any, Any] | None]:
    """Put the values on the row; the caller saves it. Returns the old and the new ones that differ."""
    changes: dict[str, tuple[Any, Any] | None] = {}
    for name in RULES:
        if name in page_brand.PICTURES:
            changes |= set_picture(row, name, values[name])
        elif getattr(row, name) != values[name]:
            changes[name] = (getattr(row, name), values[name])
            setattr(row, name, values[name])
    return changes


def set_picture(
    row: Brand | Agent | IdentityProvider | Provider, name: str, image: Image | None
) -> dict[str, tuple[Any, Any] | None]:
    """Store the picture and put it on the row, under its digest; the caller saves the row."""
    before, wanted = getattr(row, f"{name}_id"), image.digest if image else None
    if before == wanted:
        return {}
    setattr(row, name, pictures.store(image))
    old, new = (f"sha256:{digest[:12]}" if digest else None for digest in (before, wanted))
    return {name: (old, new)}


def set_own_brand(agent: Agent, values: Json | None) -> dict[str, tuple[Any, Any] | None]:
    """Make, change or remove the brand of a stored agent. Returns what differs, under ``brand.NAME``."""
    row = Brand.objects.filter(agent=agent).first()
    if values is None and row is None:
        return {}
    row = row or Brand(agent=agent)
    empty = {name: default for name, (_, default) in RULES.items()}
    changes = set_brand(row, values or empty)
    if values is None:
        row.delete()
    elif changes or row.pk is None:
        row.save()
    return {f"brand.{name}": change for name, change in changes.items()}


def finish() -> None:
    """After all is stored."""
    pictures.remove_unused()
    page_brand.forget()
