from __future__ import annotations

from collections.abc import Iterator

import pytest

from elicit_flows import oauth
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.support import rows
from tests.support.rows import Known


@pytest.fixture
def double() -> Iterator[Provider]:
    oauth.forget()
    with Provider(client_secret="the-double's-client-secret") as running, loopback_allowed():
        yield running


@pytest.fixture
def drive_row(committed: None, double: Provider) -> ProviderRow:
    """Known by its issuer too, so that its metadata counts."""
    return rows.provider(double, issuer=double.issuer)


@pytest.fixture
def known(drive_row: ProviderRow) -> Known:
    """An agent that nobody used before."""
    return rows.agent()
