"""What an agent may send for a confirm. The SDK runs the same code, so nothing here needs Django."""

from __future__ import annotations

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.kinds.confirm import labels
from elicit_flows.kinds.params import Fault, fault, is_line, is_text, unknown

MAX_DETAIL = 2000
MAX_LABEL = 40
_NAMES = ("detail", "danger", "confirm_label", "decline_label")


def clean(given: Json) -> Json:
    """``{detail, danger, confirm_label, decline_label}``; None or False for what was left out. Raises Invalid."""
    asked = {name: given.get(name) for name in _NAMES}
    asked["danger"] = False if asked["danger"] is None else asked["danger"]
    faults = unknown(given, _NAMES)
    if asked["detail"] is not None and not is_text(asked["detail"], MAX_DETAIL):
        faults.append(fault("detail", f"Say in at most {MAX_DETAIL} characters what will happen, or leave it out."))
    if not isinstance(asked["danger"], bool):
        faults.append(fault("danger", "Say true or false."))
    for name in ("confirm_label", "decline_label"):
        if asked[name] is not None and not is_line(asked[name], MAX_LABEL):
            faults.append(fault(name, f"Give a button 1 to {MAX_LABEL} visible characters, or leave it out."))
    faults += _turned_round(asked)
    if faults:
        raise Invalid(faults)
    return asked


def _turned_round(asked: Json) -> list[Fault]:
    """Labels that would make a person press one button and mean the other."""
    yes, no = asked["confirm_label"], asked["decline_label"]
    found = []
    if isinstance(yes, str) and labels.says_no(yes):
        what = 'This button means yes, but its label says no. It is shown after "Yes: ", so say what will be done.'
        found.append(fault("confirm_label", what))
    if isinstance(no, str) and labels.says_yes(no):
        what = 'This button means no, but its label says yes. It is shown after "No: ", so say what will not be done.'
        found.append(fault("decline_label", what))
    if isinstance(yes, str) and isinstance(no, str) and yes.strip().casefold() == no.strip().casefold():
        found.append(fault("decline_label", "Both buttons would say the same. Give them different labels."))
    return found
