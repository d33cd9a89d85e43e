from __future__ import annotations

from collections.abc import Iterator

import pytest

from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.support import rows
from tests.support.rows import Known


@pytest.fixture
def double() -> Iterator[Provider]:
    """The provider that connections are of."""
    with Provider(client_secret="the-double's-client-secret") as running, loopback_allowed():
        yield running


@pytest.fixture
def drive_row(committed: None, double: Provider) -> ProviderRow:
    return rows.provider(double)


@pytest.fixture
def known(drive_row: ProviderRow) -> Known:
    """An agent that nobody used before."""
    return rows.agent()


@pytest.fixture
def held(known: Known, drive_row: ProviderRow, double: Provider) -> Connection:
    """A connection whose access token ran out a minute ago."""
    row = rows.connection(known, drive_row, rows.grant(double))
    rows.expire(row)
    return row
