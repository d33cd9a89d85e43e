"""Idempotency keys as the service takes them."""

from __future__ import annotations

import pytest

import elicit_flows.sdk as sdk
from elicit_flows.sdk.testing import Service

ALICE = ("https://idp.example.com", "alice")


@pytest.mark.parametrize("key", ["\u0437\u0430\u043a\u0430\u0437-1", "caf\u00e9"])
def test_the_service_says_what_is_wrong_with_a_key_that_is_not_ascii(elicit_box: Service, key: str) -> None:
    with elicit_box.sync_elicit() as elicit, pytest.raises(sdk.InvalidRequestError, match="visible ASCII characters"):
        elicit.create("confirm", ALICE, {}, message="Really?", idempotency_key=key)
