"""Describes for people what applying a file changes in a row: each field, what is emptied, what is switched off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models

from elicit_flows.config_file.reader import Entry

Changes = dict[str, tuple[Any, Any] | None]  # (old value, new value) by column; None for a secret

MAX_SHOWN = 2000  # characters of a value
NOTHING: tuple[Any, ...] = (None, "", [], {}, ())
# A file that leaves these out leaves them as they are, or one is made.
_MADE_OR_KEPT = ("api_key", "webhook_secret")
# Not keys of the file: whether "providers" was left out, the hosts of a secret, the keys that do not follow the preset.
_COLUMNS_ALONE = ("all_providers", "hosts", "given")


@dataclass(frozen=True)
class Difference:
    """``what`` names the row. ``changes`` is empty if the row is already as the file says."""

    entry: Entry
    row: models.Model
    what: str
    changes: Changes
    new: bool

    def emptied(self) -> list[str]:
        """The keys that have a value now and would have none."""
        if self.new:
            return []
        names = [name for name in self.changes if self._is_emptied(name)]
        return list(dict.fromkeys("providers" if name == "all_providers" else name for name in names))

    def lines(self) -> Iterator[str]:
        """One line for each change. For a secret it says only that it changes."""
        emptied = self.emptied()
        for name, pair in self.changes.items():
            if name in _COLUMNS_ALONE or (name == "providers" and "all_providers" in self.changes):
                continue
            if pair is None:
                yield f"{name}: " + ("emptied" if name in emptied else "set" if self.new else "changed")
            elif not self.new:
                mark = " (emptied)" if name in emptied else " (switched off)" if pair == (True, False) else ""
                yield f"{name}: {shown(pair[0])} -> {shown(pair[1])}{mark}"
            elif pair[1] not in NOTHING:
                yield f"{name}: {shown(pair[1])}"
        if every := self.changes.get("all_providers"):
            before, after = self.changes.get("providers") or ([], [])
            mark = " (emptied)" if "providers" in emptied else ""
            was = f"{'all' if every[0] else shown(before)} -> " if not self.new else ""
            yield f"providers: {was}{'all' if every[1] else shown(after)}{mark}"
        if hosts := self.changes.get("hosts"):
            yield f"hosts that get the client secret: {shown(hosts[0])} -> {shown(hosts[1])}"

    def _is_emptied(self, name: str) -> bool:
        values, pair = self.entry.values, self.changes[name]
        if name in {"providers", "all_providers"}:
            return bool(values["providers"] == [])
        # A value that comes from the preset: if a new version of the preset has none, the file empties nothing.
        follows = values.get("given") is not None and name not in self.entry.given and bool(values["preset"])
        if name in _COLUMNS_ALONE or follows:
            return False
        if pair is None:
            return name not in _MADE_OR_KEPT and values[name] in NOTHING
        return pair[0] not in NOTHING and pair[1] in NOTHING


def shown(value: Any) -> str:
    if value in NOTHING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
