"""What an agent asks for in mode mandate: the limits, how long, and whether each charge is announced."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.lib import clock

MAX_AMOUNT = 99_999_999  # of one charge: Stripe accepts at most eight digits
MAX_TOTAL = 9_999_999_999
LONGEST = timedelta(days=400)  # a person who forgot it does not pay for ever
DAY, MONTH = timedelta(hours=24), timedelta(days=30)
NOTICE = timedelta(hours=24)  # how long an announced charge waits, so that the person can refuse it
NOTICES = ("before", "after")
AMOUNTS = ("per_charge", "per_day", "per_month", "total")
_NAMES = (*AMOUNTS, "until", "notice")


def clean(given: Any) -> tuple[Json, dict[str, str]]:
    """The six values, and what is wrong with them, by name ("" for the whole).

    ``until`` is returned in UTC. A limit that is left out is None; ``per_charge``, ``total`` and ``until`` are needed,
    so that the person can read what it costs at most.
    """
    if not isinstance(given, dict):
        return {}, {"": "Say the limits: {per_charge, total, until}, and per_day, per_month, notice if you like."}
    asked: Json = {name: given.get(name) for name in _NAMES}
    wrong = {name: f"There is no such value; use {', '.join(_NAMES)}." for name in given if name not in _NAMES}
    for name in AMOUNTS:
        most = MAX_AMOUNT if name == "per_charge" else MAX_TOTAL
        if asked[name] is None and name in ("per_day", "per_month"):
            continue
        if not is_amount(asked[name], most):
            wrong[name] = f"Give a whole number of minor units from 1 to {most}."
    if not wrong:
        # A limit that is smaller than one before it would make that one untrue on the person's page.
        said = [(name, asked[name]) for name in AMOUNTS if asked[name] is not None]
        wrong = {
            later: f"Give at least {amount}, which is {earlier}: a smaller limit makes that one meaningless."
            for (earlier, amount), (later, more) in pairwise(said)
            if more < amount
        }
    asked["until"], problem = _until(asked["until"])
    if problem:
        wrong["until"] = problem
    asked["notice"] = "after" if asked["notice"] is None else asked["notice"]
    if asked["notice"] not in NOTICES:
        wrong["notice"] = f"Use one of {', '.join(NOTICES)}."
    return asked, wrong


def is_amount(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _until(value: Any) -> tuple[str | None, str]:
    now = clock.now()
    what = f"Give a time in the future, at most {LONGEST.days} days from now, as RFC 3339: 2027-01-31T00:00:00Z."
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        moment = clock.in_utc(moment).replace(microsecond=0) if moment and moment.tzinfo else None
    except ValueError:
        moment = None
    if moment is None:
        return None, what
    return moment.isoformat().replace("+00:00", "Z"), "" if now < moment <= now + LONGEST else what
