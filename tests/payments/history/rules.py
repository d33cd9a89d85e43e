"""All rules of a history: of each payment, of mandates and of subscriptions."""

from __future__ import annotations

from collections.abc import Iterable

from tests.payments.history import checker, mandate_rules, subscription_rules
from tests.payments.history.checker import History, Json, Rule, Violation

RULES: list[Rule] = [*checker.RULES, *mandate_rules.RULES, *subscription_rules.RULES]


def check(lines: Iterable[Json]) -> list[Violation]:
    """Everything that is wrong with the history; an empty list for a sound one."""
    history = History(lines)
    return [Violation(rule.__name__, *found) for rule in RULES for found in rule(history)]
