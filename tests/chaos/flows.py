"""What happens in one flow. It is drawn from the seed, so the same seed gives the same flows."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

AGENTS = 4
SHORT = 4  # seconds that a question is open which nobody answers
LONG = 36_000

KINDS = {
    "oauth": 30, "payment": 24, "credentials": 13, "form": 12, "confirm": 9, "link_on_return": 5, "link_by_agent": 3,
    "steps": 4,
}  # fmt: skip
# What the person does, and how the elicitation may end by it.
ENDS: dict[str, set[str]] = {
    "says_yes": {"completed"},
    "says_no": {"declined"},
    "says_no_there": {"declined"},
    "taken_back": {"cancelled"},
    "taken_back_meanwhile": {"cancelled", "completed"},
    "ignores_it": {"expired"},
    "leaves_half_way": {"expired"},
}
WEIGHTS = {
    "says_yes": 60, "says_no": 9, "says_no_there": 5, "taken_back": 7, "taken_back_meanwhile": 8, "ignores_it": 6,
    "leaves_half_way": 5,
}  # fmt: skip
WILLING = {"says_yes", "taken_back_meanwhile"}  # the others are of people who never say yes
Json = dict[str, Any]


@dataclass(frozen=True)
class Flow:
    """``twice``: the agent asks twice at the same moment, with one key. ``watched``: a request waits for the end."""

    number: int
    kind: str
    end: str
    agent: int
    key: str
    twice: bool
    watched: bool
    amount: int

    @property
    def wanted(self) -> set[str]:
        return ENDS[self.end]

    @property
    def willing(self) -> bool:
        return self.end in WILLING

    @property
    def life(self) -> int:
        return SHORT if self.wanted == {"expired"} else LONG

    @property
    def typed(self) -> str:
        """What the person types: nobody else's, and long enough to be looked for."""
        return f"typed-{self.key}-canary-{self.number:06d}"

    def question(self, visit: str) -> Json:
        """Kind and params. ``visit``: the address of a page to visit."""
        return {"kind": self.kind.partition("_")[0], "params": getattr(self, f"_{self.kind}")(visit)}

    def _oauth(self, visit: str) -> Json:
        return {"provider": "drive", "scopes": ["files.read"]}

    def _payment(self, visit: str) -> Json:
        item = {"item": f"report-{self.number}", "uses": 3} if self.number % 2 else {}
        return {"amount": self.amount, "currency": "eur", "description": f"Report {self.number}", **item}

    def _credentials(self, visit: str) -> Json:
        return {"fields": [{"name": "api_key", "label": "API key"}]}

    def _form(self, visit: str) -> Json:
        name = {"id": "name", "kind": "text", "message": "Name of the project?", "required": True}
        return {"questions": [name]}

    def _confirm(self, visit: str) -> Json:
        return {"detail": f"{self.number} files in /reports"}

    def _link_on_return(self, visit: str) -> Json:
        return {"url": visit, "completion": "on_return"}

    def _link_by_agent(self, visit: str) -> Json:
        return {"url": visit, "completion": "by_agent"}

    def _steps(self, visit: str) -> Json:
        kinds = {"confirm": self._confirm(visit), "form": self._form(visit), "oauth": self._oauth(visit)}
        return {"steps": [{"kind": kind, "params": params} for kind, params in kinds.items()]}


def flow(seed: str, number: int) -> Flow:
    dice = Random(f"{seed}/{number}")
    kind, end = drawn(dice, KINDS), drawn(dice, WEIGHTS)
    if end == "says_no_there" and kind != "oauth":
        end = "says_no"
    return Flow(
        number=number, kind=kind, end=end, agent=dice.randrange(AGENTS), key=f"{seed}-{number}",
        twice=dice.random() < 0.15, watched=dice.random() < 0.6, amount=dice.choice([500, 999, 1999]) + number,
    )  # fmt: skip


def drawn(dice: Random, weights: dict[str, int]) -> str:
    return dice.choices(list(weights), list(weights.values()))[0]
