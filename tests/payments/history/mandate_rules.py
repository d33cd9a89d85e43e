"""What a history of mandates must not show: no charge beyond a limit, none twice, none in silence.

Beside the lines that ``checker`` names there are

    mandate   mandate: as its agent reads it when all has come to rest
    charge    charge: so too
    ordered   agent, mandate, key, amount, began, status (of the answer), charge (its id; null when refused)
    lowered   mandate, limits (by name): the person was told that they hold from now on
    stopped   mandate: it was said to be over

``captured`` is the provider's side. It is matched with a charge by the description, as with a question.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.payments.history.checker import History, Json, Rule

ENDS = {"paid", "failed", "mismatch"}
LIMITS = ("per_day", "per_month", "total")  # a history is played within a day


def taken(history: History, charge: Json) -> list[Json]:
    """What the provider took for it, without what went back because it came too late or twice."""
    found = history.captured[charge["description"]]
    return [one for one in found if not history.sent_back(one, by="policy")]


def of_mandates(history: History) -> Iterator[tuple[Json, Json, list[Json]]]:
    """Each mandate, the limits that were agreed on, and its charges."""
    charges: defaultdict[str, list[Json]] = defaultdict(list)
    for charge in history.charges.values():
        charges[charge["mandate"]].append(charge)
    for line in history.of["mandate"]:
        asked = history.ended[history.named[line["mandate"]["payment"]]["elicitation"]]
        yield line["mandate"], asked["params"]["mandate"], charges[line["mandate"]["id"]]


def within_limits(history: History) -> Iterator[tuple[str, str]]:
    """What was taken stays within what the person agreed to, and within what they lowered it to before."""
    for mandate, limits, charges in of_mandates(history):
        money = {one["id"]: sum(line["amount"] for line in taken(history, one)) for one in charges}
        yield from _beyond(mandate, limits, money, set(money))
        for lowered in history.of["lowered"]:
            if lowered["mandate"] == mandate["id"]:
                later = _ordered_after(history, lowered) & {name for name, amount in money.items() if amount}
                yield from _beyond(mandate, lowered["limits"], money, later)


def _beyond(mandate: Json, limits: Json, money: dict[str, int], charges: set[str]) -> Iterator[tuple[str, str]]:
    """``charges``: those that the limits hold for. What was taken before counts."""
    if not charges:
        return
    for name in charges:
        if money[name] > limits.get("per_charge", money[name]):
            yield name, f"{money[name]} was taken, of {limits['per_charge']} per charge"
    for name in LIMITS:
        if limits.get(name) is not None and sum(money.values()) > limits[name]:
            yield mandate["id"], f"{sum(money.values())} was taken, {name} is {limits[name]}"


def _ordered_after(history: History, line: Json) -> set[str]:
    """The charges of the mandate that nobody had ordered before it was answered."""
    before: dict[str, bool] = {}
    for order in sorted(history.of["ordered"], key=lambda one: one["began"]):
        if order["mandate"] == line["mandate"] and order["charge"]:
            before.setdefault(order["charge"], order["began"] <= line["at"])
    return {charge for charge, known in before.items() if not known}


def charged_once(history: History) -> Iterator[tuple[str, str]]:
    """One key is one charge. A charge comes to an end, and was taken exactly when it is paid: once, as it was asked."""
    by_key: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for line in history.of["ordered"]:
        if line["charge"]:
            by_key[line["mandate"], line["key"]].add(line["charge"])
            if line["charge"] not in history.charges:
                yield line["charge"], "it was answered to its agent and is gone"
    yield from ((key, f"one order, charged as {sorted(ids)}") for (_, key), ids in by_key.items() if len(ids) > 1)
    named = Counter(one["description"] for one in history.charges.values())
    yield from ((about, f"{count} charges for one order") for about, count in named.items() if count > 1)
    for name, charge in history.charges.items():
        money = [(one["amount"], one["currency"]) for one in history.captured[charge["description"]]]
        if charge["status"] not in ENDS:
            yield name, f"it came to no end: {charge['status']}"
        elif charge["status"] == "paid" and money != [(charge["amount"], charge["currency"])]:
            yield name, f"it is paid: {charge['amount']} {charge['currency']}; taken was {money}"
        elif charge["status"] == "failed" and taken(history, charge):
            yield name, f"it failed, and taken was {money}"


def charges_told(history: History) -> Iterator[tuple[str, str]]:
    """One event for each charge, and for what became of each mandate."""
    told = Counter[tuple[str, str]]()
    for line in history.feed:
        kind, data = line["event"]["type"], line["event"]["data"]
        if kind.startswith("mandate."):
            told[(data.get("charge") or data["mandate"])["id"], kind.removeprefix("mandate.")] += 1
    for name, charge in history.charges.items():
        wanted = {"paid": (1, 0), "failed": (0, 1), "mismatch": (0, 0)}.get(charge["status"])
        found = told[name, "charged"], told[name, "charge_failed"]
        # The link was over, and its money came after that: both was so, and it went back.
        late = charge["status"] == "paid" and not taken(history, charge) and found == (1, 1)
        if wanted and found != wanted and not late:
            yield (
                name,
                f"it is {charge['status']}; told was that it is made {found[0]}, that it failed {found[1]} times",
            )
    for mandate, limits, _ in of_mandates(history):
        name, changed = mandate["id"], any(mandate[one] != limits[one] for one in ("per_charge", *LIMITS))
        said = told[name, "created"], told[name, "ended"], told[name, "changed"] > 0
        if said != (1, int(mandate["status"] == "ended"), changed):
            yield name, f"it is {mandate['status']}, changed {changed}; told was {said}"


def room_agrees(history: History) -> Iterator[tuple[str, str]]:
    """What counts for the limits is what was paid, whether it went back or not."""
    for mandate, _, charges in of_mandates(history):
        paid = sum(one["amount"] for one in charges if one["status"] != "failed")
        if mandate["used"]["total"] != paid:
            yield mandate["id"], f"{mandate['used']['total']} counts, paid was {paid}"


def stopped_for_good(history: History) -> Iterator[tuple[str, str]]:
    """Nothing is charged that was ordered after the mandate was said to be over."""
    states = {line["mandate"]["id"]: line["mandate"]["status"] for line in history.of["mandate"]}
    for line in history.of["stopped"]:
        if states.get(line["mandate"]) != "ended":
            yield line["mandate"], f"it was said to be over, and is {states.get(line['mandate'])}"
        yield from ((charge, "it was ordered after the end") for charge in _ordered_after(history, line))


def charges_of_the_ledger(history: History) -> Iterator[tuple[str, str]]:
    """The payment of each charge is the provider's charge: its amount, refunds and dispute."""
    for name, charge in history.charges.items():
        payment, money = history.named.get(charge["payment"]), history.captured[charge["description"]]
        if payment is None or (payment["amount"], payment["mode"]) != (charge["amount"], "charge"):
            yield name, f"its payment is {payment}"
            continue
        back = [one for line in money for one in history.back[line["charge"]]]
        done = sum(one["amount"] for one in back if one["status"] == "succeeded")
        if payment["amount_refunded"] != done:
            yield name, f"we say {payment['amount_refunded']} went back, the provider {done}"
        states = [history.disputes[line["charge"]] for line in money if line["charge"] in history.disputes]
        if [payment["dispute"]] != (states or [None]):
            yield name, f"dispute: we say {payment['dispute']}, the provider {states}"


RULES: list[Rule] = [
    within_limits, charged_once, charges_told, room_agrees, stopped_for_good, charges_of_the_ledger,
]  # fmt: skip
