"""What moved money at PayPal, by its Transaction Search (developer.paypal.com/docs/api/transaction-search/v1).

An app may read it once "Transaction Search" is switched on for it. A transaction is in it after three hours at most.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from elicit_flows.kinds.payment.providers.parts import Thing, moment, several, text, within
from elicit_flows.kinds.payment.providers.paypal import amounts
from elicit_flows.kinds.payment.providers.paypal.client import asked
from elicit_flows.kinds.payment.values import Account, BalanceLine, BalancePage, Movement
from elicit_flows.lib import clock

PAGE = 500
SPAN = timedelta(days=31)  # PayPal answers for no longer at a time
# By the beginning of the code (developer.paypal.com/docs/transaction-search/transaction-event-codes). Holds are none of
# them: the money is still there.
_CODES = {
    "T00": Movement.CHARGE,
    "T1107": Movement.REFUND,
    "T1106": Movement.DISPUTE,  # PayPal itself gives the buyer the money back
    "T1201": Movement.DISPUTE,  # a card's chargeback
}
_MOVED = ("S", "V")  # completed; and completed, and given back since, which has a line of its own


def page(account: Account, since: datetime, until: datetime, after: str) -> BalancePage:
    """``after`` says where the span of days begins, and which page of it is next. Use it within ``calling``."""
    start, number = since, 1
    if after:
        said, _, rest = after.partition(" ")
        start, number = datetime.fromisoformat(said), int(rest)
    end = min(start + SPAN, until)
    last = end - timedelta(seconds=1)  # which it includes
    dates = [at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for at in (start, last)]
    wanted = {
        "start_date": dates[0],
        "end_date": dates[1],
        "fields": "transaction_info",
        "balance_affecting_records_only": "Y",
        "page_size": PAGE,
        "page": number,
    }
    names = ("transaction_details", "total_pages")
    found = asked(account, lambda paypal: paypal.transaction_search.search_transactions(wanted), *names)
    infos = [within(one, "transaction_info") for one in several(found, "transaction_details")]
    lines = tuple(line for one in infos if (line := _line(one)) is not None)
    if number < found["total_pages"]:
        return BalancePage(lines, f"{start.isoformat()} {number + 1}")
    return BalancePage(lines, f"{end.isoformat()} 1" if end < min(until, clock.now()) else "")


def _line(info: Thing) -> BalanceLine | None:
    """None for what is not a transaction, or moved nothing."""
    ref, code = text(info.get("transaction_id")), text(info.get("transaction_event_code"))
    moved = within(info, "transaction_amount")  # before PayPal's fee
    value = text(moved.get("value"))
    money = amounts.minor({**moved, "value": value.removeprefix("-")}) * (-1 if value.startswith("-") else 1)
    at = moment(info, "transaction_initiation_date")
    if not ref or at is None or info.get("transaction_status") not in _MOVED:
        return None
    movement = _CODES.get(code) or _CODES.get(code[:3]) or Movement.OTHER
    if movement is Movement.CHARGE and money < 0:
        movement = Movement.OTHER  # paid by the account, not to it
    charge = movement is Movement.CHARGE
    return BalanceLine(
        ref=ref,
        movement=movement,
        at=at,
        amount=money,
        currency=amounts.currency(moved),
        payment_ref=(ref if charge else text(info.get("paypal_reference_id"))) or None,
        our_id=text(info.get("custom_field")) or None,
        refund_ref=ref if movement is Movement.REFUND else None,
    )
