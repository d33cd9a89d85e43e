"""Kind confirm passes the contract of every kind, and only an explicit yes counts as a yes."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows import kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Answer, Claim, Json, Visit
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
        (
            {"confirm_label": "Cancel", "decline_label": "Yes, delete all"},
            [["params", "confirm_label"], ["params", "decline_label"]],
        ),
        ({"confirm_label": "Tidy up", "decline_label": "tidy up"}, [["params", "decline_label"]]),
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
    right = [YES | {"typed": [typed]} for typed in ("CONFIRM", "confirm", " Confirm ", "\u200fConfirm\u200b")]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        (YES, "typed"), (YES | {"typed": [""]}, "typed"), (YES | {"typed": ["delete"]}, "typed"),
        (YES | {"typed": ["confirm", "confirm"]}, "typed"), ({"typed": ["confirm"]}, None),
    ]  # fmt: skip

    @pytest.fixture
    def visit(self) -> Visit:
        return visit(danger=True, confirm_label="Delete")


@pytest.mark.parametrize("label", [None, "a", "Delete", "Delete all", "Löschen"])
def test_t135_the_word_to_type_is_ours_whatever_the_label_says(label: str | None) -> None:
    asked = visit(danger=True, confirm_label=label)
    assert kinds.get("confirm").describe(asked.params, None)["word"] == "CONFIRM"
    for typed in ("a", label or "x"):
        with pytest.raises(Invalid, match="Type CONFIRM to confirm"):
            kinds.get("confirm").check_answer(asked, Answer(YES | {"typed": [typed]}))


NO = """
Cancel; cancel; CANCEL; C\u0430ncel; Cancel it; Cancel everything; No; No, keep them; No thanks; Do not delete; Don't
Don\u2019t delete; Never mind; Go back; Stop; Close; Decline; Skip; Not now; Deny; Reject; Keep them; Leave it; Abort
Nein; Abbrechen; Annuler; Non; Cancelar; Нет; Отмена; ❌; ✗ Delete; Maybe not; C A N C E L; Ｃａｎｃｅｌ; 𝐂𝐚𝐧𝐜𝐞𝐥
"""
YES_ = """
Yes; yes, delete all; YES; Y\u0435s; OK; Okay; Continue; Confirm; Accept; Agree; I agree; Proceed; Go on
Approve it; Do it; Go ahead; Sure; Ja; Oui; Sí; Да; ✔; ✅ Delete; Allow; Bestätigen
"""
ACTIONS = """
Delete; Delete all; Cancel the subscription; Cancel subscription; Stop server; Reject invoice 12; Close the account
Send; Leave the team; Skip tests; Decline the invitation; Pay; Löschen; Deploy; Keep signed in; Archive
Back up now; Notify them
"""
LEFT = "Keep them; Keep; Cancel; Leave it; Not now; Later; Do nothing; Leave everything as it is; Nothing; Behalten"


def listed(said: str) -> list[str]:
    return [one.strip() for line in said.strip().splitlines() for one in line.split(";")]


def refused(**params: Any) -> list[object]:
    try:
        kinds.get("confirm").clean(params)
    except Invalid as error:
        return [one["loc"] for one in error.errors]
    return []


@pytest.mark.parametrize("label", listed(NO))
def test_t135_a_yes_may_not_be_labelled_as_a_no(label: str) -> None:
    assert refused(confirm_label=label) == [["params", "confirm_label"]]
    assert refused(confirm_label=label, decline_label=f"{label} 2")[:1] == [["params", "confirm_label"]]


@pytest.mark.parametrize("label", listed(YES_))
def test_t135_a_no_may_not_be_labelled_as_a_yes(label: str) -> None:
    assert refused(decline_label=label) == [["params", "decline_label"]]


@pytest.mark.parametrize("label", listed(ACTIONS))
def test_what_is_to_be_done_may_stand_on_the_yes(label: str) -> None:
    assert refused(confirm_label=label) == []


@pytest.mark.parametrize("label", listed(LEFT))
def test_what_is_left_alone_may_stand_on_the_no(label: str) -> None:
    assert refused(decline_label=label) == []
