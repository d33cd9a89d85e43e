"""Four server processes on one PostgreSQL, without Redis: what one of them commits the others hear by NOTIFY."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.box import Box
from tests.support.services import Postgres


@pytest.fixture(scope="module")
def several(new_box: Callable[..., Box], postgres: Postgres) -> Box:
    """Each of the four has the embedded worker too. Shared by the tests of a file: leave it as you found it."""
    return new_box("embedded", webs=4, database_url=postgres.database())
