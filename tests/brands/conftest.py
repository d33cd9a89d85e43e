from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from elicit_flows.brands import page_brand
from tests.brands.files import SVG, png
from tests.management.files import Operator


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    page_brand.forget()
    yield
    page_brand.forget()


@pytest.fixture
def operator(db: None, tmp_path: Path) -> Operator:
    (tmp_path / "logo.svg").write_text(SVG)
    (tmp_path / "icon.png").write_bytes(png())
    return Operator(tmp_path)
