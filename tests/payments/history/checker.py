"""What a history of payments must not show: pure functions over its lines (invariants I1 to I3, I7 and I8).

A history is a list of JSON objects, one for each thing that somebody saw, in any order. ``op`` says which:

    asked     agent, key (or null), outcome (ok, fail or unknown), elicitation (its id; with ok alone)
    seen      elicitation: as an agent read it at some moment
    ended     elicitation: as its agent reads it when all has come to rest
    told      by (feed or webhook), agent, event
    captured  charge, about (the payment's description), amount, currency, livemode: money that the provider took
    returned  refund, charge, amount, status (of the provider's), our_id (or null): money that the provider sent back
    disputed  charge, state (open, won or lost)
    payment   payment: as its agent reads it when all has come to rest; refunds: so too
    entitlement entitlement: as its agent reads it when all has come to rest
    gave_back agent, key, payment, refund (its id; null when refused): an agent's order to refund that was answered

Mandates and subscriptions have lines of their own: see ``mandate_rules`` and ``subscription_rules``.

What was taken is matched with what was asked by the description, which the driver makes unlike any other: what the
service itself wrote down is not trusted with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
TERMINAL = {"completed", "declined", "cancelled", "expired", "failed"}
PAID = {"paid", "refunded", "active", "ended"}
SENT = {"succeeded", "pending"}  # what the provider says of a refund that has not failed
SAME = {"succeeded": "done", "pending": "pending", "failed": "failed", "canceled": "failed"}


@dataclass(frozen=True)
class Violation:
    rule: str
    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}: {self.what}"


class History:
    """The lines by what they are about."""

    def __init__(self, lines: Iterable[Json]) -> None:
        self.of: defaultdict[str, list[Json]] = defaultdict(list)
        for line in lines:
            self.of[line["op"]].append(line)
        self.ended: dict[str, Json] = {line["elicitation"]["id"]: line["elicitation"] for line in self.of["ended"]}
        self.feed = [line for line in self.of["told"] if line["by"] == "feed"]
        self.events: defaultdict[str, list[Json]] = defaultdict(list)
        for line in self.feed:
            self.events[line["event"]["elicitation"]].append(line["event"])
        self._by_description = {one["params"]["description"]: name for name, one in self.ended.items()}
        self.charges: dict[str, Json] = {line["charge"]["id"]: line["charge"] for line in self.of["charge"]}
        self.captured: defaultdict[str, list[Json]] = defaultdict(list)  # by the description
        for line in self.of["captured"]:
            self.captured[line["about"]].append(line)
        charged = {one["description"] for one in self.charges.values()} - self._by_description.keys()
        self.taken: defaultdict[str | None, list[Json]] = defaultdict(list)  # but for charges that nobody was asked for
        for about in self.captured.keys() - charged:
            self.taken[self._by_description.get(about)] += self.captured[about]
        self.paid = {one["charge"]: name for name, charges in self.taken.items() for one in charges}
        self.back: defaultdict[str, list[Json]] = defaultdict(list)
        for line in self.of["returned"]:
            self.back[line["charge"]].append(line)
        self.disputes = {line["charge"]: line["state"] for line in self.of["disputed"]}
        self.named = {line["payment"]["id"]: line["payment"] for line in self.of["payment"]}
        self.entitlements = [line["entitlement"] for line in self.of["entitlement"]]
        self.payments = {line["payment"]["elicitation"]: line for line in self.of["payment"]}
        self.refunds = {one["id"]: one for line in self.of["payment"] for one in line["refunds"]}

    def asked_for_money(self) -> Iterator[tuple[str, Json]]:
        """But for those that what was paid before answers, and those that cost nothing at first."""
        for name, one in self.ended.items():
            if not one.get("reused") and due(one["params"]):
                yield name, one

    def elicitation_of(self, description: str) -> str | None:
        return self._by_description.get(description)

    def types(self, elicitation: str) -> Counter[str]:
        return Counter(event["type"] for event in self.events[elicitation])

    def as_asked(self, elicitation: str) -> list[Json]:
        """Charges of exactly what was asked."""
        params = self.ended[elicitation]["params"]
        wanted = (due(params), params["currency"], False)
        return [one for one in self.taken[elicitation] if (one["amount"], one["currency"], one["livemode"]) == wanted]

    def sent_back(self, charge: Json, *, by: str | None = None) -> int:
        """Minor units of it that went back, of those refunds that ``by`` ordered (None: anybody)."""
        back = [one for one in self.back[charge["charge"]] if one["status"] in SENT]
        return sum(one["amount"] for one in back if by is None or self.refunds.get(one["our_id"], {}).get("by") == by)

    def tried_by_policy(self, elicitation: str) -> bool:
        """The service wanted to give it back, the provider refused, and the agent was told."""
        line = self.payments.get(elicitation)
        failed = line and any(one["by"] == "policy" and one["status"] == "failed" for one in line["refunds"])
        return bool(failed) and self.types(elicitation)["payment.refund_failed"] > 0


def due(params: Json) -> int:
    """What is taken when the person agrees: nothing in modes save and mandate, and where a trial comes first."""
    free = params.get("mode") in {"save", "mandate"} or params.get("trial_days")
    return 0 if free else int(params["amount"])


Rule = Callable[[History], Iterator[tuple[str, str]]]


def one_end(history: History) -> Iterator[tuple[str, str]]:
    """I1: one terminal state each, reached in the end and never left."""
    told = [line["event"]["data"] for line in history.feed if line["event"]["type"].startswith("elicitation.")]
    seen: defaultdict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in [*(line["elicitation"] for line in history.of["seen"]), *told, *history.ended.values()]:
        seen[one["id"]][one["seq"]].add(one["status"])
    for name, by_seq in seen.items():
        ends: set[str] = set()
        for seq in sorted(by_seq):
            if len(by_seq[seq]) > 1 or (ends and by_seq[seq] != ends):
                yield name, f"it is {sorted(by_seq[seq])} at seq {seq} after {sorted(ends)}"
            ends |= by_seq[seq] & TERMINAL
        if name not in history.ended or history.ended[name]["status"] not in TERMINAL:
            yield name, "it came to no end"


def asked_once(history: History) -> Iterator[tuple[str, str]]:
    """What was answered exists, and one key is one elicitation; nothing exists that nobody asked for."""
    by_key: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for line in history.of["asked"]:
        if line["outcome"] != "ok":
            continue
        if line["elicitation"] not in history.ended:
            yield line["elicitation"], "it was answered to its agent and is gone"
        if line["key"] is not None:
            by_key[line["agent"], line["key"]].add(line["elicitation"])
    yield from ((key, f"asked as {sorted(ids)}") for (_, key), ids in by_key.items() if len(ids) > 1)
    twice = Counter(one["params"]["description"] for one in history.ended.values())
    yield from ((about, f"{count} elicitations for one question") for about, count in twice.items() if count > 1)


def told_once(history: History) -> Iterator[tuple[str, str]]:
    """I3: one event for the end of each elicitation, which says the same as the elicitation."""
    for name, one in history.ended.items():
        ends = {kind: count for kind, count in history.types(name).items() if kind.partition(".")[2] in TERMINAL}
        wanted = {f"elicitation.{one['status']}": 1} if one["status"] in TERMINAL else {}
        if ends != wanted:
            yield name, f"it is {one['status']}, and its agent was told {ends}"
    ids = Counter(line["event"]["id"] for line in history.feed)
    yield from ((name, "an event stands twice in the feed") for name, count in ids.items() if count > 1)


def webhooks_agree(history: History) -> Iterator[tuple[str, str]]:
    """I7: an agent with a webhook is told there what its feed says, under the same ids; as often as need be."""
    hooked = {line["agent"] for line in history.of["told"] if line["by"] == "webhook"}
    feed = {line["event"]["id"]: line["event"] for line in history.feed if line["agent"] in hooked}
    sent = [line["event"] for line in history.of["told"] if line["by"] == "webhook"]
    yield from ((name, "it is in the feed and was never sent") for name in feed.keys() - {one["id"] for one in sent})
    for one in sent:
        if one != feed.get(one["id"]):
            yield one["id"], "it was sent, and the feed has nothing or something else under this id"


def paid_for(history: History) -> Iterator[tuple[str, str]]:
    """I2: completed exactly when one payment of exactly what was asked was taken and not given back by policy."""
    for name, one in history.asked_for_money():
        exact = history.as_asked(name)
        stays = [charge for charge in exact if not history.sent_back(charge, by="policy")]
        if one["status"] == "completed" and len(stays) != 1:
            yield name, f"it is completed, and {len(stays)} payments as asked stay"
        if one["status"] != "completed" and stays and not history.tried_by_policy(name):
            yield name, f"it is {one['status']}, and {len(stays)} payments as asked stay"


def nothing_in_silence(history: History) -> Iterator[tuple[str, str]]:
    """I8: money that was taken is told: as a completion, or as a mismatch; what was not asked for goes back."""
    for name, charges in history.taken.items():
        if name is None:
            yield from ((charge["charge"], "nobody asked for this") for charge in charges)
            continue
        told = history.types(name)
        if charges and not told["elicitation.completed"] + told["payment.mismatch"]:
            yield name, "money was taken and no event says so"
        surplus = len(charges) - told["elicitation.completed"]
        if surplus > told["payment.mismatch"]:
            yield name, f"{surplus} payments beside the completion, {told['payment.mismatch']} alerts"


def one_charge_kept(history: History) -> Iterator[tuple[str, str]]:
    """Never two charges for one thing: of several all but one went back in full."""
    for name, charges in history.taken.items():
        kept = [one for one in charges if history.sent_back(one) < one["amount"] and not lost(history, one)]
        if name is not None and len(kept) > 1 and not history.tried_by_policy(name):
            yield name, f"{len(kept)} charges were kept"


def lost(history: History, charge: Json) -> bool:
    """The payer's bank took it back."""
    return history.disputes.get(charge["charge"]) == "lost"


def refunds_add_up(history: History) -> Iterator[tuple[str, str]]:
    """No more goes back than came, nothing twice, and what we say of refunds is what the provider says."""
    for charge in history.of["captured"]:
        if history.sent_back(charge) > charge["amount"]:
            yield charge["charge"], f"{history.sent_back(charge)} of {charge['amount']} went back"
    ours = Counter(one["our_id"] for one in history.of["returned"] if one["our_id"])
    yield from ((name, f"sent back {count} times") for name, count in ours.items() if count > 1)
    yield from ((name, "sent back, and none of ours") for name in ours if name not in history.refunds)
    for line in history.of["returned"]:
        known = history.refunds.get(line["our_id"])
        if known and (known["amount"], known["status"]) != (line["amount"], SAME[line["status"]]):
            yield line["our_id"], f"we say {known['amount']} {known['status']}, it is {line['amount']} {line['status']}"
    for name, known in history.refunds.items():
        if known["by"] != "provider" and known["status"] != "failed" and name not in ours:
            yield name, f"it is {known['status']}, and the provider knows nothing of it"


def ledger_agrees(history: History) -> Iterator[tuple[str, str]]:
    """The payment as the API says it is the payment as the provider has it."""
    for name in history.ended:
        line, charges = history.payments.get(name), history.as_asked(name)
        if line is None:
            if history.taken[name]:
                yield name, "money was taken, and no event or result names a payment"
            continue
        payment = line["payment"]
        if due(history.ended[name]["params"]) and bool(charges) != (payment["status"] in PAID):
            yield name, f"the payment is {payment['status']}, taken as asked: {len(charges)}"
        if bool(charges) and history.taken[name] == charges[:1] and payment["mode"] != "subscribe":
            yield from ((name, what) for what in _differences(history, line, charges[0]))


def _differences(history: History, line: Json, charge: Json) -> Iterator[str]:
    payment = line["payment"]
    back = history.back[charge["charge"]]
    done = sum(one["amount"] for one in back if one["status"] == "succeeded")
    if payment["amount_refunded"] != done:
        yield f"we say {payment['amount_refunded']} went back, the provider {done}"
    if (payment["status"] == "refunded") != (done == charge["amount"]):
        yield f"it is {payment['status']}, {done} of {charge['amount']} went back"
    theirs = sorted((one["amount"], SAME[one["status"]]) for one in back if not one["our_id"])
    known = sorted((one["amount"], one["status"]) for one in line["refunds"] if one["by"] == "provider")
    if theirs != known:
        yield f"refunds at the dashboard: we say {known}, the provider {theirs}"
    state = history.disputes.get(charge["charge"])
    if payment["dispute"] != state:
        yield f"dispute: we say {payment['dispute']}, the provider {state}"


def results_agree(history: History) -> Iterator[tuple[str, str]]:
    """A result is given exactly when it is completed, and names the amount that was asked."""
    for name, one in history.ended.items():
        result, params = one["result"], one["params"]
        if (one["status"] == "completed") != bool(result):
            yield name, f"it is {one['status']} with result {result}"
        if result and result["livemode"] is not False:
            yield name, f"money was real, says the result: {result['livemode']}"
        if result and (result["amount"], result["currency"]) != (due(params), params["currency"]):
            yield name, f"asked was {due(params)} {params['currency']}, the result says {result}"


TERMS = ("account", "mode", "interval", "amount", "currency", "item", "uses", "order")


def answered_on_its_own_terms(history: History) -> Iterator[tuple[str, str]]:
    """What was paid for one question answers another only where that asks for the same, of the same person."""
    for name, one in history.ended.items():
        if not one.get("reused"):
            continue
        paid = history.named.get(one["result"]["payment"])
        first = history.ended.get(paid["elicitation"]) if paid else None
        if first is None or first.get("reused"):
            yield name, "nobody paid for what answers it"
            continue
        asked, before = ([each["params"].get(term) for term in TERMS] for each in (one, first))
        if (asked, one["subject"]) != (before, first["subject"]):
            yield name, f"asked was {asked} of {one['subject']}, it is answered by {before} of {first['subject']}"


def entitlements_match(history: History) -> Iterator[tuple[str, str]]:
    """Each is of one payment that was made, as it was asked; it counts unless that went back, and it is not missing."""
    for one in history.entitlements:
        paid = history.named.get(one["payment"])
        if paid is None or paid["paid_at"] is None:
            yield one["id"], "nothing was paid for it"
        elif (one["item"], one["livemode"]) != (paid["item"], paid["livemode"]):
            yield one["id"], f"it is {one['item']} of livemode {one['livemode']}, paid was {paid}"
        elif one["status"] != (wanted := _worth(history, paid)):
            yield one["id"], f"it is {one['status']}, and should be {wanted}: {paid}"
    granted = Counter(one["payment"] for one in history.entitlements)
    for name, paid in history.named.items():
        if granted[name] != (1 if paid["item"] and paid["paid_at"] else 0):
            yield name, f"{granted[name]} entitlements of a payment that is {paid['status']}"


def _worth(history: History, paid: Json) -> str:
    asked = paid["elicitation"]  # none for a charge that its mandate allowed
    kept = asked is None or history.ended[asked]["status"] == "completed"
    back = paid["status"] == "refunded" or 0 < paid["amount"] <= paid["amount_refunded"]
    if back or paid["dispute"] == "lost" or not kept:
        return "revoked"
    if paid["status"] == "ended":
        return "ended"
    return "suspended" if paid["dispute"] == "open" else "active"


def what_came_of_it_is_told(history: History) -> Iterator[tuple[str, str]]:
    """One order is one refund, and each refund's end, each dispute's state is told."""
    by_key: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)
    for line in history.of["gave_back"]:
        by_key[line["payment"], line["key"]].add(line["refund"])
        if line["refund"] and line["refund"] not in history.refunds:
            yield line["refund"], "it was answered to its agent and is gone"
    yield from ((key, f"one order, answered {ids}") for (_, key), ids in by_key.items() if len(ids) > 1)
    told: Counter[tuple[str, str]] = Counter()
    for line in history.feed:
        if "refund" in line["event"]["data"]:
            told[line["event"]["data"]["refund"]["id"], line["event"]["type"]] += 1
    for name, one in history.refunds.items():
        kind = {"done": "payment.refunded", "failed": "payment.refund_failed"}.get(one["status"])
        if kind and told[name, kind] != 1:
            yield name, f"it is {one['status']}, and that was told {told[name, kind]} times"
    for charge in history.of["disputed"]:
        name = history.paid.get(charge["charge"])
        if name and not history.types(name)["payment.disputed"]:
            yield name, "a dispute was not told"


RULES: list[Rule] = [
    one_end, asked_once, told_once, webhooks_agree, paid_for, nothing_in_silence, one_charge_kept, refunds_add_up,
    ledger_agrees, results_agree, answered_on_its_own_terms, entitlements_match, what_came_of_it_is_told,
]  # fmt: skip
