from __future__ import annotations

from pathlib import Path

import pytest

from tests.management.files import Operator


@pytest.fixture
def operator(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setenv("CORP_SECRET", "the-secret-of-our-client-at-corp")
    return Operator(tmp_path)
