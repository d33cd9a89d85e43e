"""One worker makes what the run shares, however many ask at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from tests.support import shared


def test_who_waited_for_the_first_is_not_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both once made the cluster: the second had opened the empty file before the first was done."""
    monkeypatch.setattr(shared, "RUN", tmp_path)
    opened, real_open = Event(), Path.open

    def open_and_say(path: Path, *arguments: str) -> object:
        file = real_open(path, *arguments)
        opened.set()
        return file

    def ask() -> bool:
        with shared._first("thing") as first:
            return first

    monkeypatch.setattr(Path, "open", open_and_say)
    with ThreadPoolExecutor(1) as pool:
        with shared._first("thing") as first:
            opened.clear()
            second = pool.submit(ask)
            assert opened.wait(10)
        assert (first, second.result(10)) == (True, False)
