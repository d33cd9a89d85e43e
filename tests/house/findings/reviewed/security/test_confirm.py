"""M10: an agent could write "Cancel" on the button that means yes."""

from __future__ import annotations

import pytest
from elicit_flows.errors import Invalid

from elicit_flows import kinds
from tests.kinds.test_confirm import visit


@pytest.mark.parametrize("label", ["Cancel", "No", "C\u0430ncel", "Keep them"])
def test_t135_a_yes_may_not_be_labelled_as_a_no(label: str) -> None:
    faults: list[object] = []
    try:
        kinds.get("confirm").clean({"confirm_label": label, "decline_label": "Yes, delete all"})
    except Invalid as error:
        faults = [one["loc"] for one in error.errors]
    assert ["params", "confirm_label"] in faults


@pytest.mark.parametrize("label", ["a", "Delete"])
def test_t135_the_word_to_type_is_ours_whatever_the_label_says(label: str) -> None:
    asked = visit(danger=True, confirm_label=label)
    assert kinds.get("confirm").describe(asked.params, None)["word"] == "CONFIRM"
