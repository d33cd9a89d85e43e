from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from elicit_flows import oauth
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.kinds import real_drive
from tests.support.op import Op


@pytest.fixture
def provider() -> Iterator[Provider]:
    """An OAuth provider that nobody has asked anything yet."""
    oauth.forget()
    with loopback_allowed(), Provider() as provider:
        yield provider


@pytest.fixture(scope="session")
def real_server(new_op: Callable[..., Op]) -> Op:
    resources = [real_drive.FILES, real_drive.MAIL]
    op = new_op(
        name="real-drive", role="oauth", scopes=["files.read"], par=True, resources=resources, registration=True
    )
    real_drive.add_clients(op)
    real_drive.add_clients(op, "-strict", require_pushed_authorization_requests=True, dpop_bound_access_tokens=True)
    return op


@pytest.fixture
def op(real_server: Op) -> Iterator[Op]:
    """The certified provider: everything is offered; of clients ``-strict`` pushed requests and DPoP are required."""
    real_server.reset()
    oauth.forget()
    with loopback_allowed():
        yield real_server
