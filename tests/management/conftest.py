from __future__ import annotations

from pathlib import Path

import pytest

from tests.management.files import STRIPE_HOOK, STRIPE_KEY, Operator


@pytest.fixture
def operator(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setenv("CORP_SECRET", "the-secret-of-our-client-at-corp")
    monkeypatch.setenv("STRIPE_KEY", STRIPE_KEY)
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", STRIPE_HOOK)
    return Operator(tmp_path)
