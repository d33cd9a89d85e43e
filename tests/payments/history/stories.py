"""What is to happen to one payment, drawn from the seed: the same seed draws the same stories."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.payments.history.cases import MANDATES, ORDERS, SUBSCRIPTIONS

AGENTS = 3
CURRENCIES = ["eur", "usd", "gbp", "jpy"]
ITEMS = [500, 999]  # what they cost: few, so that some questions are asked again
SAVING = {"card", "leaves_the_page", "goes_back_then_card", "declines"}  # the ways in which a card may be saved
LIFE = [3600, 20_000, 72_000]  # seconds that an elicitation is open
GOES_ON = 0.3  # of the payments: mandates, subscriptions and orders
UNTIL = (datetime.now(UTC) + timedelta(days=90)).replace(microsecond=0).isoformat()

# What the user does, and the agent meanwhile; how often.
WAYS = {
    "card": 38,
    "declined_card_then_card": 4,
    "three_d_secure": 3,
    "bank": 10,
    "bank_fails": 3,
    "bank_fails_then_card": 3,
    "goes_back_then_card": 4,
    "page_expires_then_card": 3,
    "two_tabs": 4,
    "leaves_the_page": 5,
    "never_opens": 3,
    "declines": 4,
    "declines_while_paying": 2,
    "cancelled_before": 2,
    "cancelled_at_the_page": 4,
    "cancelled_while_paying": 5,
    "cancelled_before_the_bank_says": 2,
    "time_runs_out_at_the_page": 3,
    "time_runs_out_while_paying": 3,
}
# What becomes of money that came.
LATER = {
    "nothing": 52,
    "all_back": 10,
    "part_back": 8,
    "all_back_twice_at_once": 4,
    "two_parts_at_once": 3,
    "dashboard_all": 5,
    "dashboard_part": 5,
    "dashboard_and_agent_at_once": 3,
    "dashboard_pending_then_done": 2,
    "dashboard_pending_then_failed": 2,
    "dispute": 2,
    "dispute_won": 2,
    "dispute_lost": 2,
}


@dataclass(frozen=True)
class Story:
    """``returns``: whether the browser comes back to us. ``second``: whether it talks to the other web process.

    ``item``: what is granted; who asks for it again on the same terms is answered. ``asks_again``: whether the agent,
    which has a key, asks again at the same moment. ``more``: what else is asked for, as params of kind payment.
    """

    number: int
    agent: int
    amount: int
    currency: str
    key: str | None
    life: int
    way: str
    later: str
    returns: bool
    second: bool
    asks_again: bool
    item: str | None
    mode: str
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def terms(self) -> dict[str, object]:
        """What is asked for, as params of kind payment."""
        usual = {"amount": self.amount, "currency": self.currency, "mode": self.mode, "item": self.item}
        return usual | self.more


def story(seed: str, number: int) -> Story:
    dice = Random(f"{seed}/{number}")
    usual = _story(dice, seed, number)
    if dice.random() < GOES_ON:
        return going_on(dice, usual)
    if dice.random() < 0.6:
        return usual
    wanted = replace(usual, item="pro", amount=dice.choice(ITEMS), currency=dice.choice(CURRENCIES[:2]))
    if dice.random() < 0.2 and usual.way in SAVING:
        return replace(wanted, mode="save", amount=0, later="nothing")
    return wanted


def going_on(dice: Random, usual: Story) -> Story:
    """The same payment as one of the cases of ``cases``; its item is its own, so that nothing answers it but itself."""
    way = dice.choice([*MANDATES, *SUBSCRIPTIONS, *ORDERS])
    key = usual.key or f"going-on-{usual.number}"
    made = replace(usual, way=way, key=key, item=f"item-{usual.number}", currency="eur", returns=True)
    if way in ORDERS:
        return replace(made, amount=order(190)["amount"], more=order(190))
    if way in SUBSCRIPTIONS:
        trial = {"trial_days": 14} if way.startswith("trial") else {}
        return replace(made, mode="subscribe", later="nothing", more={"interval": "month", **trial})
    limits = {"per_charge": 2000, "total": 5000, "until": UNTIL, **MANDATES[way]}
    more = {"amount": None, "item": None, "mandate": limits}
    return replace(made, mode="mandate", item=None, later="nothing", more=more)


def order(tax: int) -> dict[str, Any]:
    """Two notebooks and a pen."""
    lines = [{"name": "A notebook", "quantity": 2, "unit_amount": 450}, {"name": "A pen", "unit_amount": 99}]
    return {"amount": 999 + tax, "order": {"lines": lines, "tax": tax}}


def _story(dice: Random, seed: str, number: int) -> Story:
    return Story(
        number=number,
        agent=dice.randrange(AGENTS),
        amount=dice.choice([100, 500, 999, 1999, 12_345]) + dice.randrange(100),
        currency=dice.choice(CURRENCIES),
        key=(key := f"{seed}-{number}" if dice.random() < 0.7 else None),
        life=dice.choice(LIFE),
        way=drawn(dice, WAYS),
        later=drawn(dice, LATER),
        returns=dice.random() < 0.5,
        second=dice.random() < 0.4,
        asks_again=key is not None and dice.random() < 0.1,
        item=None,
        mode="pay",
    )


def drawn(dice: Random, weights: dict[str, int]) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]
