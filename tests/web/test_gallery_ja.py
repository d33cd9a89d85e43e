"""Every page and part of the gallery is accessible in Japanese."""

from __future__ import annotations

import pytest

from tests.support.box import Box
from tests.support.browser import User
from tests.web.gallery_axe import PARTS, walk


@pytest.mark.slow
@pytest.mark.limit(300)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_is_accessible(embedded_box: Box, user: User, part: int) -> None:
    assert not walk(user, f"{embedded_box.url}/_gallery", "ja", part)
