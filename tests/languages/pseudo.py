"""A language that does not exist: every text of ours has brackets and accents, so that an untranslated one is found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.test import override_settings
from django.utils.translation import override

from elicit_flows.lib.text import ascii_host
from scripts.messages import catalogues
from scripts.messages.extract import Found

# It stands in for Japanese, whose dates have no letters that English has.
LANGUAGE, FOLDER = "ja", "ja"
_ACCENTED = str.maketrans("aceginosuyzACEGINOSUYZ", "áçéğíñöšûýžÁÇÉĞÍÑÖŠÛÝŽ")
_CROSSED = str.maketrans("bdfhjklmpqrtvwxBDFHJKLMPQRTVWX", "ƀđƒħĵķłɱƥɋŕŧṽŵẋɃĐƑĦĴĶŁṀƤɊŔŦṼŴẊ")
_KEPT = re.compile(r"(%\(\w+\)[sd]|%%|<[^>]+>|&\w+;)")
_WORD = re.compile(r"[A-Za-z]{2,}")


def changed(text: str) -> str:
    parts = _KEPT.split(text)
    accented = [
        part if place % 2 else part.translate(_ACCENTED).translate(_CROSSED) for place, part in enumerate(parts)
    ]
    return "[¡" + "".join(accented) + "¡]"


def write(folder: Path, found: Found) -> None:
    """A compiled catalogue of the whole of ``found``."""
    forms = {key: (changed(one.plural or one.text),) for key, one in found.items()}
    path = catalogues.path_of(folder, FOLDER).with_suffix(".mo")
    path.parent.mkdir(parents=True)
    path.write_bytes(catalogues.mo(FOLDER, found, forms))


def speaking(folder: Path) -> tuple[override_settings, override]:
    return override_settings(LOCALE_PATHS=[folder]), override(LANGUAGE)


def data_of(value: Any) -> Iterator[str]:
    """Every text in the example that a page is made from: what others have said."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from data_of(one)
    elif isinstance(value, str):
        yield from (value, ascii_host(value))
    elif isinstance(value, Sequence):
        for one in value:
            yield from data_of(one)


def english_in(text: str, data: set[str]) -> list[str]:
    """The words of English that are neither data nor within something of ours."""
    for known in sorted(data, key=len, reverse=True):
        if len(known) > 1:
            text = text.replace(known, " ")
    return _WORD.findall(text)
