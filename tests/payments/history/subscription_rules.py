"""What a history of subscriptions must not show: each period paid once and told once, and an end that is an end.

Beside the lines that ``checker`` names there are

    subscribed    about (the description), status, cancelled: the provider's subscription
    renewed       charge, about, amount, currency, livemode: what the provider took for a period after the first
    subscription  subscription, renewals: as its agent reads them when all has come to rest
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.payments.history.checker import History, Rule

SAME = {"active": "active", "trialing": "active", "past_due": "past_due", "canceled": "ended"}


def goes_on_as_there(history: History) -> Iterator[tuple[str, str]]:
    """Each is as the provider has it; and what nobody has is charged no more."""
    there = {line["about"]: line for line in history.of["subscribed"]}
    for line in history.of["subscription"]:
        one = line["subscription"]
        found = there.pop(one["description"], None)
        if found is None or one["status"] != SAME[found["status"]]:
            yield one["id"], f"it is {one['status']}, at the provider {found}"
        elif one["status"] != "ended" and bool(one["ends_at"]) != found["cancelled"]:
            yield one["id"], f"it ends at {one['ends_at']}, cancelled at the provider: {found['cancelled']}"
    for about, found in there.items():
        name = history.elicitation_of(about)
        seen = name is not None and history.types(name)["payment.mismatch"]
        if found["status"] != "canceled" and not seen:
            yield about, "it goes on at the provider, and nobody has it"


def renewed_once(history: History) -> Iterator[tuple[str, str]]:
    """Each period that was paid is one renewal and one event; one that was refused is told at most once."""
    there: defaultdict[str, list[int]] = defaultdict(list)
    for line in history.of["renewed"]:
        there[line["about"]].append(line["amount"])
    told = Counter[tuple[str, str]]()
    for line in history.feed:
        if "renewal" in line["event"]["data"]:
            told[line["event"]["data"]["renewal"]["id"], line["event"]["type"]] += 1
    for line in history.of["subscription"]:
        one, paid = line["subscription"], [each for each in line["renewals"] if each["status"] == "paid"]
        if sorted(each["amount"] for each in paid) != sorted(there[one["description"]]):
            yield one["id"], f"renewed were {paid}, at the provider {there[one['description']]}"
        for each in line["renewals"]:
            found = told[each["id"], "subscription.renewed"], told[each["id"], "subscription.past_due"]
            if found[0] != (each["status"] == "paid") or found[1] > 1 or (each["status"] == "failed") > found[1]:
                yield (
                    each["id"],
                    f"it is {each['status']}; told was that it is paid {found[0]}, refused {found[1]} times",
                )


def ended_once(history: History) -> Iterator[tuple[str, str]]:
    """The end is told once, and a cancellation before it."""
    for line in history.of["subscription"]:
        one = line["subscription"]
        told = history.types(history.named[one["payment"]]["elicitation"])
        if told["payment.ended"] != (one["status"] == "ended"):
            yield one["id"], f"it is {one['status']}, and its end was told {told['payment.ended']} times"
        waits = one["status"] != "ended" and bool(one["ends_at"])
        if waits != (told["payment.unsubscribed"] > told["subscription.resumed"]) and one["status"] != "ended":
            yield one["id"], f"it ends at {one['ends_at']}, told was {dict(told)}"


def usable_while_paid(history: History) -> Iterator[tuple[str, str]]:
    """What was subscribed to may be used until the end of what is paid, and no longer after the end."""
    until = {one["payment"]: one.get("valid_until") for one in history.entitlements}
    for line in history.of["subscription"]:
        one = line["subscription"]
        paid = max([each["period_end"] for each in line["renewals"] if each["status"] == "paid"], default="")
        last = until.get(one["payment"])
        if last is None:
            yield one["id"], "there is no entitlement"
        elif one["status"] != "ended" and last < max(paid, one["period_end"]):
            yield one["id"], f"paid is until {max(paid, one['period_end'])}, usable until {last}"
        elif one["status"] == "past_due" and last != one["grace_until"]:
            yield one["id"], f"grace is until {one['grace_until']}, usable until {last}"


RULES: list[Rule] = [goes_on_as_there, renewed_once, ended_once, usable_while_paid]
