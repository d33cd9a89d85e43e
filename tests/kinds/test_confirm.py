"""Kind confirm keeps what every kind promises, and only an explicit yes is a yes."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows import kinds
from elicit_flows.errors import Invalid
from elicit_flows.values import Answer, Claim, Json, Visit
from tests.kinds.contract import PageContract

PLAIN = {"detail": None, "danger": False, "confirm_label": None, "decline_label": None}
YES = {"confirm": ["yes"]}


def visit(**params: Any) -> Visit:
    asked = kinds.get("confirm").clean(params)
    return Visit("el_1", Claim("https://idp.test", "alice"), asked, None, "http://127.0.0.1/callback/confirm")


class TestConfirm(PageContract):
    name = "confirm"
    good: list[tuple[Json, Json]] = [
        ({}, PLAIN),
        ({"detail": "Delete\n12 files.", "danger": True}, PLAIN | {"detail": "Delete\n12 files.", "danger": True}),
        (
            {"confirm_label": "Delete", "decline_label": "Keep"},
            PLAIN | {"confirm_label": "Delete", "decline_label": "Keep"},
        ),
    ]
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({"danger": "yes"}, [["params", "danger"]]),
        ({"danger": 1}, [["params", "danger"]]),
        ({"detail": ""}, [["params", "detail"]]),
        ({"detail": "\u200b"}, [["params", "detail"]]),
        ({"detail": "x" * 2001}, [["params", "detail"]]),
        ({"detail": ["x"]}, [["params", "detail"]]),
        ({"confirm_label": "", "decline_label": "x" * 41}, [["params", "confirm_label"], ["params", "decline_label"]]),
        ({"confirm_label": "two\nlines"}, [["params", "confirm_label"]]),
        ({"confirm_label": "De\u200blete"}, [["params", "confirm_label"]]),
    ]
    right = [YES]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        ({}, None), ({"confirm": ["no"]}, None), ({"confirm": ["yes", "yes"]}, None), ({"confirm": [""]}, None),
    ]  # fmt: skip

    @pytest.fixture
    def visit(self) -> Visit:
        return visit(detail="Delete 12 files.")


class TestDangerous(PageContract):
    name = "confirm"
    good = TestConfirm.good
    bad = TestConfirm.bad
    right = [YES | {"typed": [typed]} for typed in ("Delete", "delete", " DELETE ")]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        (YES, "typed"), (YES | {"typed": [""]}, "typed"), (YES | {"typed": ["delet"]}, "typed"),
        (YES | {"typed": ["delete", "delete"]}, "typed"), ({"typed": ["delete"]}, None),
    ]  # fmt: skip

    @pytest.fixture
    def visit(self) -> Visit:
        return visit(danger=True, confirm_label="Delete")


@pytest.mark.parametrize(
    ("label", "word"),
    [(None, "confirm"), ("Delete", "Delete"), ("Delete all", "confirm"), ("Löschen", "confirm"), ("Yes!", "confirm")],
)
def test_the_word_is_one_that_anybody_can_type(label: str | None, word: str) -> None:
    asked = visit(danger=True, confirm_label=label)
    assert kinds.get("confirm").describe(asked.params, None)["word"] == word
    with pytest.raises(Invalid, match=f"Type {word} to go on"):
        kinds.get("confirm").check_answer(asked, Answer(YES | {"typed": ["x"]}))
