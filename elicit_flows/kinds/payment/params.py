"""The parameters of kind payment."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json, is_slug
from elicit_flows.kinds.payment import mandate, order
from elicit_flows.lib import money

MODES = ("pay", "save", "subscribe", "mandate")
FREE = ("save", "mandate")  # nothing is charged on the page
INTERVALS = ("day", "week", "month", "year")
MAX_AMOUNT = 99_999_999  # Stripe accepts at most eight digits
MAX_DESCRIPTION = 250
MAX_ITEM = 200
MAX_USES = 1_000_000
MAX_TRIAL = 730  # days: Stripe accepts at most two years
MAX_ID = 64
_NAMES = (
    "amount", "currency", "description", "account", "mode", "interval", "trial_days", "item", "uses", "mandate",
    "order", "changes",
)  # fmt: skip
# What a change of the price leaves as it is.
_KEPT = ("description", "interval", "trial_days", "item", "uses")

Error = dict[str, object]


def clean(params: Json) -> Json:
    """All parameters; None for those left out, "pay" for ``mode``, 0 for the ``amount`` of modes save and mandate.
    ``mandate`` is there only in that mode, ``order``, ``trial_days`` and ``changes`` only if they are given. With
    ``changes``, the rest is the subscription's own, and None here.

    The description is returned as one line without invisible characters. Raises Invalid with all errors.
    """
    given = {name: params.get(name) for name in _NAMES}
    given["mode"] = mode = "pay" if given["mode"] is None else given["mode"]
    given["amount"] = 0 if mode in FREE and given["amount"] is None else given["amount"]
    given["description"] = order.one_line(given["description"])
    unknown = [name for name in params if name not in _NAMES]
    errors = [_error(name, f"There is no such parameter; use {', '.join(_NAMES)}.") for name in unknown]
    errors += _price(given)
    if given["changes"] is None:
        errors += _description(given) + _account(given) + _mode(given) + _purchase(given)
    else:
        errors += _account(given) + _change(given)
    errors += _mandate(given) + _order(given)
    if errors:
        raise Invalid(errors)
    for name in ("mandate", "order", "trial_days", "changes"):
        if given[name] is None:
            del given[name]
    return given


def _price(given: Json) -> list[Error]:
    errors = []
    amount = given["amount"]
    least, most = (0, 0) if given["mode"] in FREE else (1, MAX_AMOUNT)
    if not (_is_integer(amount) and least <= amount <= most):
        errors.append(_error("amount", f"Mode {given['mode']} takes no amount." if most == 0 else _BAD_AMOUNT))
    if not isinstance(given["currency"], str) or money.digits(given["currency"]) is None:
        errors.append(_error("currency", _BAD_CURRENCY))
    return errors


_BAD_AMOUNT = f"Give a whole number of minor units from 1 to {MAX_AMOUNT}: 1999 is 19.99 EUR and 1999 JPY."
_BAD_CURRENCY = "Give an ISO 4217 code in lower case of a currency with 0 or 2 decimal digits, such as eur."


def _is_integer(value: Any) -> bool:
    """Whether it is a whole number. A bool is an int in Python, and a mistake here."""
    return isinstance(value, int) and not isinstance(value, bool)


def _description(given: Json) -> list[Error]:
    description = given["description"]
    if isinstance(description, str) and 0 < len(description) <= MAX_DESCRIPTION:
        return []
    return [_error("description", f"Give 1 to {MAX_DESCRIPTION} visible characters that say what is paid for.")]


def _change(given: Json) -> list[Error]:
    """Of another price for a running subscription."""
    changes = given["changes"]
    if given["mode"] != "subscribe":
        return [_error("changes", "Leave it out: only mode subscribe changes a subscription.")]
    errors = [
        _error(name, "Leave it out: a change of the price keeps what the subscription has.")
        for name in _KEPT
        if given[name] is not None
    ]
    if not (isinstance(changes, str) and 0 < len(changes) <= MAX_ID):
        errors.append(_error("changes", "Give the id of the subscription whose price is to change."))
    return errors


def _account(given: Json) -> list[Error]:
    account = given["account"]
    if account is None or is_slug(account):
        return []
    return [_error("account", "Name the payment account by its slug, or leave it out.")]


def _mode(given: Json) -> list[Error]:
    mode, interval, trial = given["mode"], given["interval"], given["trial_days"]
    if mode not in MODES:
        return [_error("mode", f"Use one of {', '.join(MODES)}.")]
    if trial is not None and mode != "subscribe":
        return [_error("trial_days", "Leave it out: only mode subscribe has a trial.")]
    if trial is not None and not (_is_integer(trial) and 1 <= trial <= MAX_TRIAL):
        return [_error("trial_days", f"Give a whole number of days from 1 to {MAX_TRIAL}, or leave it out.")]
    if mode == "subscribe" and interval not in INTERVALS:
        return [_error("interval", f"Use one of {', '.join(INTERVALS)}: a subscription needs an interval.")]
    if mode != "subscribe" and interval is not None:
        return [_error("interval", "Leave it out: only mode subscribe has an interval.")]
    return []


def _purchase(given: Json) -> list[Error]:
    item, uses = given["item"], given["uses"]
    errors = []
    # Whether it can name an item. It is compared character by character, so it may have no invisible ones.
    if item is not None and not (isinstance(item, str) and 0 < len(item) <= MAX_ITEM and item == order.one_line(item)):
        errors.append(_error("item", f"Give 1 to {MAX_ITEM} visible characters on one line."))
    if uses is not None and not (_is_integer(uses) and 1 <= uses <= MAX_USES):
        errors.append(_error("uses", f"Give a whole number from 1 to {MAX_USES}, or leave it out."))
    elif uses is not None and item is None:
        errors.append(_error("uses", "Give an item as well: uses are counted for an item."))
    return errors


def _mandate(given: Json) -> list[Error]:
    if given["mode"] != "mandate":
        return (
            [_error("mandate", "Leave it out: only mode mandate has limits.")] if given["mandate"] is not None else []
        )
    given["mandate"], wrong = mandate.clean(given["mandate"])
    errors: list[Error] = [
        {"loc": ["params", "mandate", *filter(None, [name])], "message": message} for name, message in wrong.items()
    ]
    if given["item"] is not None:
        errors.append(_error("item", "Leave it out: each charge of a mandate says its own."))
    return errors


def _order(given: Json) -> list[Error]:
    """The order's errors, or one of the amount if it is not what the lines and the tax come to."""
    if given["order"] is None:
        return []
    if given["mode"] != "pay":
        return [_error("order", "Leave it out: only mode pay has an order.")]
    given["order"], wrong = order.clean(given["order"])
    errors: list[Error] = [{"loc": ["params", "order", *where], "message": message} for where, message in wrong]
    amount = given["amount"]
    if wrong or not _is_integer(amount):
        return errors
    lines, tax = order.subtotal(given["order"]), given["order"]["tax"]
    if tax == order.BY_PROVIDER:
        if lines == 0:
            errors.append(_error("order", "Give a line with a price: there is nothing to compute a tax on."))
        elif amount < lines:
            what = f"The lines are {lines} without tax, and the amount is {amount}, which is the most that is charged."
            errors.append(_error("amount", f"{what} Leave room for the tax."))
    elif amount != lines + tax:
        sums = f"The lines are {lines} and the tax is {tax}, together {lines + tax}, and the amount is {amount}."
        errors.append(_error("amount", f"{sums} Correct the amount, a line or the tax."))
    return errors


def _error(name: str, message: str) -> Error:
    return {"loc": ["params", name], "message": message}
