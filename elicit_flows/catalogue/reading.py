"""Reads the files of entries. All errors are reported at once, each with file, key and reason."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from elicit_flows.catalogue.entry import Entry
from elicit_flows.catalogue.faults import fault

HERE = Path(__file__).resolve().parent
OURS = HERE / "entries"

_folder: Path | None = None


class BadCatalogue(Exception):
    """``faults``: a line for each mistake."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def configure(folder: Path | None) -> None:
    """Set the folder with the operator's own entries, which take precedence over ours."""
    global _folder  # noqa: PLW0603
    _folder = folder
    for cached in (entries, find, _files):
        cached.cache_clear()


def check() -> None:
    """Raises BadCatalogue if one of the operator's own entries is wrong; ours are checked by the tests."""
    faults = _read(_folder)[1] if _folder else []
    if faults:
        raise BadCatalogue(faults)


@cache
def entries() -> Mapping[str, Entry]:
    """The entries by slug, in alphabetical order. Raises BadCatalogue."""
    found, faults = _ours()
    if _folder:
        own, more = _read(_folder)
        found, faults = {**found, **own}, [*faults, *more]
    if faults:
        raise BadCatalogue(faults)
    return MappingProxyType(dict(sorted(found.items())))


@cache
def _files() -> Mapping[str, Path]:
    """The file of each entry, by slug."""
    folders = [OURS, _folder] if _folder else [OURS]
    return {file.stem: file for folder in folders for file in folder.glob("*.toml")}


@lru_cache(maxsize=512)
def find(slug: str) -> Entry | None:
    """One entry, from its file: all of them take 3 MB and a sixth of a second. Raises BadCatalogue if it is wrong."""
    file = _files().get(slug)
    return read(file.read_text(encoding="utf-8"), slug, str(file)) if file else None


@cache
def libraries() -> Mapping[str, Mapping[str, Any]]:
    """The libraries that entries were compared with: name to version or day of reading, licence and address."""
    return MappingProxyType(tomllib.loads((HERE / "libraries.toml").read_text(encoding="utf-8")))


def read(text: str, slug: str, name: str) -> Entry:
    """The entry in one file. ``name`` is the file's name in error messages. Raises BadCatalogue."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadCatalogue([f"{name}: this is not TOML: {error}"]) from None
    if "slug" in said:
        raise BadCatalogue([f"{name}: slug: leave it out; it is the name of the file"])
    try:
        entry = Entry.model_validate({**said, "slug": slug})
    except ValidationError as wrong:
        faults = []
        for one in wrong.errors(include_url=False):
            key = ".".join(map(str, one["loc"])) or "the entry"
            faults.append(f"{name}: {key}: {one['msg'].removeprefix('Value error, ')}")
        raise BadCatalogue(faults) from None
    if wrong_together := fault(entry):
        raise BadCatalogue([f"{name}: the entry: {wrong_together}"])
    return entry


@cache
def _ours() -> tuple[dict[str, Entry], list[str]]:
    return _read(OURS)


def _read(folder: Path) -> tuple[dict[str, Entry], list[str]]:
    if not folder.is_dir():
        return {}, [f"{folder}: is not a folder"]
    found: dict[str, Entry] = {}
    faults: list[str] = []
    for file in sorted(folder.glob("*.toml")):
        try:
            found[file.stem] = read(file.read_text(encoding="utf-8-sig"), file.stem, str(file))
        except BadCatalogue as bad:
            faults += bad.faults
        except (OSError, UnicodeDecodeError) as error:
            faults.append(f"{file}: cannot be read as text in UTF-8 ({error})")
    return found, faults
