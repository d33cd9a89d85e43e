"""Every page of the admin is accessible in German. A file of its own, so that a worker of its own walks it."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from tests.admin.test_accessibility import walk
from tests.support.browser import User
from tests.support.serving import Served


@pytest.mark.slow
@pytest.mark.limit(400)
def test_every_page_with_rows_is_accessible(served: Served, user: User, settings: Settings) -> None:
    walk(served, user, settings, "de")
