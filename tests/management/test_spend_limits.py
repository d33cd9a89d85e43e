"""``manage.py apply``: how much an agent may ask of one person."""

from __future__ import annotations

import pytest

from elicit_flows.models import Agent
from tests.management.files import Operator

AGENT = '[[agent]]\nslug = "bot"\n'
EUR = '{ currency = "eur", per_payment = 2000, per_day = 5000 }'


def with_limits(*limits: str) -> str:
    return f"{AGENT}spend_limits = [{', '.join(limits)}]\n"


def held() -> list[tuple[str, int | None, int | None]]:
    return sorted(Agent.objects.get().spend_limits.values_list("currency", "per_payment", "per_day"))


def test_limits_are_made_changed_and_taken_away_as_the_file_says(operator: Operator) -> None:
    operator.apply(with_limits(EUR, '{ currency = "usd", per_day = 1 }'))
    assert held() == [("eur", 2000, 5000), ("usd", None, 1)]
    changed = with_limits('{ currency = "eur", per_day = 6000 }')
    assert operator.apply(changed).lines == ["agent bot: changed spend_limits"]
    assert held() == [("eur", None, 6000)]
    assert operator.apply(changed).lines == ["agent bot: as it was"]
    assert operator.apply(AGENT).lines == ["agent bot: changed spend_limits"]
    assert held() == []


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ('"eur"', 'number 1 must be { currency = "usd", per_payment = 2000, per_day = 5000 }'),
        ('{ currency = "eur" }', "with one of the two or both"),
        ("{ per_day = 5 }", "with one of the two or both"),
        ('{ currency = "eur", per_week = 5 }', "with one of the two or both"),
        ('{ currency = "EUR", per_day = 5 }', "the currency must be one that is accepted here, in lower case"),
        ('{ currency = "kwd", per_day = 5 }', "the currency must be one that is accepted here, in lower case"),
        ('{ currency = "eur", per_day = 20.5 }', "per_day must be a whole number of minor units from 0"),
        ('{ currency = "eur", per_payment = -1 }', "per_payment must be a whole number of minor units from 0"),
        ('{ currency = "eur", per_payment = true }', "per_payment must be a whole number of minor units from 0"),
        ('{ currency = "eur", per_payment = 100000000 }', "from 0 to 99999999"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused_at_its_line(operator: Operator, limit: str, said: str) -> None:
    ran = operator.apply(with_limits(limit))
    assert ran.failed == 1
    assert "spend_limits" in ran.said[0]
    assert said in ran.said[0]
    assert not Agent.objects.exists()
