"""The contract of every kind, for a provider whose operator names the fields."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows import kinds
from elicit_flows.domain.errors import ProviderUnavailable
from elicit_flows.domain.values import Again, Answer, Json, Visit
from elicit_flows.kinds.credentials.config import CredentialsProvider
from tests.kinds.contract import PageContract
from tests.kinds.credentials import providers
from tests.kinds.credentials.providers import ACCOUNT, KEY

KIND = kinds.get("credentials")


class TestWithProvider(PageContract):
    name = "credentials"
    secrets = ("key_typed",)
    good: list[tuple[Json, Json]] = [({"provider": "keys"}, {"fields": None, "provider": "keys", "seal_to": None})]
    bad: list[tuple[Json, list[list[Any]]]] = [({"provider": ["keys"]}, [["params", "provider"]])]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        ({}, "api_key"), ({"api_key": ["key_typed"]}, "account"), ({"api_key": ["typed"], "account": ["a"]}, "api_key"),
        ({"api_key": ["key_" + "x" * 2000], "account": ["a"]}, "api_key"),
    ]  # fmt: skip
    right = [{"api_key": ["key_typed"], "account": ["a"]}, {"api_key": [" key_typed\n"], "account": ["a"]}]

    @pytest.fixture
    def visit(self) -> Visit:
        return providers.visit(providers.made((KEY, ACCOUNT)))


def test_the_page_is_told_what_the_operator_said() -> None:
    shown = KIND.describe({"fields": None, "provider": "keys"}, providers.by_header("https://api.example.com/check"))
    assert (shown["title"], shown["provider"]) == ("Key House", "Key House")
    assert shown["find_url"] == "https://keys.example.com/new"
    assert shown["checked_at"] == "api.example.com"
    assert shown["fields"] == [
        {"name": "api_key", "label": "API key", "secret": True, "help": None, "pattern": "^key_", "example": "key_…"}
    ]


@pytest.mark.parametrize("config", [providers.made((KEY,)), None], ids=["switched on", "switched off"])
def test_a_provider_without_a_check_asks_nobody_and_one_that_is_off_takes_nothing(
    config: CredentialsProvider | None,
) -> None:
    asked = providers.visit(config)
    answer = Answer({"api_key": ["key_1"]})
    if config:
        KIND.check_answer(asked, answer)
        assert KIND.resume(asked, answer).status == "completed"  # type: ignore[union-attr]
        return
    with pytest.raises(ProviderUnavailable):
        KIND.check_answer(asked, answer)
    outcome = KIND.resume(asked, answer)
    assert isinstance(outcome, Again)
    assert outcome.field is None
