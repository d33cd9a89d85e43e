"""The pure part of kind payment: its parameters, and what the person is shown. ``elicitations.payment`` does the
paying.
"""

from __future__ import annotations

import calendar
from datetime import date, datetime, timedelta

from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment import order, params, providers
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import clock, text

_SHOWN = ("amount", "currency", "description", "mode", "interval", "item", "uses")


class Payment:
    """Pay once, keep a payment method, or subscribe, at a payment provider's own page."""

    context: str | None = "account"
    takes_money = True
    leaves = True

    def clean(self, given: Json) -> Json:
        """``{amount, currency, description, account, mode, interval, item, uses, mandate?, order?, trial_days?,
        changes?}``.

        Raises Invalid.
        """
        return params.clean(given)

    def describe(self, asked: Json, config: Account | None) -> Json:
        """``{title, host, host_warning, livemode, next_charge, trial, amount, currency, description, mode, interval,
        item, uses, mandate, order}``.

        ``title`` is what is paid for, ``amount`` is in minor units (see ``lib.amounts``). ``host`` is the ASCII host
        that comes next, "" if the account is switched off. ``livemode`` False means that no real money moves.
        ``order`` is None, or as ``order.shown`` says. ``mandate`` is None or has the limits in minor units, and
        ``until`` as a time.
        ``next_charge`` is the day of a subscription's second payment if the first is made today (UTC), or else None.
        ``trial``: nothing is paid before that day. A change of a subscription's price has neither, and no host: it is
        made without the person.
        """
        today, trial, changes = clock.now().date(), asked.get("trial_days"), "changes" in asked
        after = following(today, asked["interval"]) if asked["interval"] and not changes else None
        url = (config.api_base or providers.get(config.provider).host) if config and not changes else ""
        limits = asked.get("mandate")
        return {name: asked[name] for name in _SHOWN} | {
            "mandate": limits and {**limits, "until": datetime.fromisoformat(limits["until"])},
            "order": order.shown(asked["order"]) if asked.get("order") else None,
            "title": asked["description"],
            "host": text.ascii_host(url),
            "host_warning": text.host_warning(url),
            "livemode": config.livemode if config else False,
            "next_charge": today + timedelta(days=trial) if trial else after,
            "trial": bool(trial),
        }


def following(day: date, interval: str) -> date:
    """A day, week, month or year later; the last day of a month that is too short."""
    if interval in {"day", "week"}:
        return day + timedelta(days=1 if interval == "day" else 7)
    year, month = divmod(day.month - 1 + (12 if interval == "year" else 1), 12)
    last = calendar.monthrange(day.year + year, month + 1)[1]
    return date(day.year + year, month + 1, min(day.day, last))
