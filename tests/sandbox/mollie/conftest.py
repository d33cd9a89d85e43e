from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mollie.api.client import Client
from mollie.api.objects.payment import Payment

from tests.kinds.payment.mollie_house import KEY, MollieHouse


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MollieHouse]:
    found = MollieHouse(tmp_path_factory.mktemp("mollie") / "log")
    yield found
    found.close()


@pytest.fixture
def house(double: MollieHouse) -> MollieHouse:
    """The double as at its start."""
    double.order("reset")
    double.sink.forget()
    return double


@pytest.fixture
def client(house: MollieHouse) -> Client:
    """Mollie's own library, as it comes."""
    found = Client(api_endpoint=f"{house.url}/mollie")
    found.set_api_key(KEY)
    return found


Create = Callable[..., Payment]


@pytest.fixture
def create(client: Client, house: MollieHouse) -> Create:
    """A payment of 19.99 EUR; ``more`` replaces parameters, None leaves one out."""

    def create(key: str = "", **more: Any) -> Payment:
        params = {**asked(house), **more}
        given = {name: value for name, value in params.items() if value is not None}
        made: Payment = client.payments.create(given, idempotency_key=key)
        return made

    return create


def asked(house: MollieHouse) -> dict[str, Any]:
    return {
        "amount": {"currency": "EUR", "value": "19.99"},
        "description": "A report",
        "redirectUrl": "http://127.0.0.1:9/done",
        "cancelUrl": "http://127.0.0.1:9/back",
        "webhookUrl": house.notify_url,
        "metadata": {"our_id": "co_1"},
    }
