"""A payment plug-in that raises what nobody foresaw, when a test says so: Stripe's, with moods."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar, cast

from elicit_flows.kinds.payment.providers.stripe import Stripe
from elicit_flows.kinds.payment.values import Account, Ask, Notice, RefundSeen, Snapshot, Started

MOODS = "MOODS_OF_THE_PLUG_IN"
T = TypeVar("T")


class Moody(Stripe):
    """The file that ``MOODS_OF_THE_PLUG_IN`` names has a line for each bad mood: ``fetch``, or ``fetch cs_1`` for one
    ref alone; with ``!`` behind, as ``fetch!``, it answers nonsense instead of raising.
    """

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        return moody("start", "", lambda: Stripe.start(self, account, ask, key))

    def find(self, account: Account, our_id: str) -> str | None:
        return moody("find", our_id, lambda: Stripe.find(self, account, our_id))

    def fetch(self, account: Account, ref: str) -> Snapshot:
        return moody("fetch", ref, lambda: Stripe.fetch(self, account, ref))

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        return moody("close", ref, lambda: Stripe.close(self, account, ref, key))

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        return moody("refund", payment_ref, lambda: Stripe.refund(self, account, payment_ref, amount, our_id, key))

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        return moody("receive", "", lambda: Stripe.receive(self, account, headers, body))


def moody(verb: str, about: str, call: Callable[[], T]) -> T:
    moods = Path(os.environ[MOODS]).read_text().splitlines()
    if {verb, f"{verb} {about}"} & set(moods):
        raise KeyError("a field that nobody thought of")
    return cast(T, object()) if f"{verb}!" in moods else call()
