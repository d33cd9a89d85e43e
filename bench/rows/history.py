"""Growing old: what a create and a claim cost beside a million finished elicitations, a claim behind the
webhooks of another agent, and a create with the indexes of lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.findings import Finding, Goal
from bench.ground import BOT, Ground
from bench.plan import Plan
from bench.rounds import Sample, interleaved
from bench.talk import Peer

TITLE = "History"


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    sides = {"old": plan.history, "new": 0, "lean": plan.history}
    hands: dict[str, Peer] = {}
    wrote = 0.0
    for name, count in sides.items():
        hands[name] = ground.inside(ground.box(start=False))
        if name == "lean":
            hands[name].call("without_lists")
        wrote += hands[name].call("past", slug=BOT.slug, count=count)
    many = 100 if plan.quick else 400

    def once(hand: Peer) -> Sample:
        before = hand.call("wal")
        create = hand.call("creates", slug=BOT.slug, count=many)
        return {
            "create": create,
            "wal": (hand.call("wal") - before) / many,
            "claim": hand.call("claims", slug=BOT.slug, count=many),
        }

    for hand in hands.values():
        once(hand)
    found = interleaved(plan.rounds, **{name: partial(once, hand) for name, hand in hands.items()})
    for what in ("create", "claim"):
        beside = f"{found.span('old', what, 'ms')} ÷ {found.span('new', what, 'ms')}; written in {wrote:.0f} s"
        title = f"a {what} with {plan.history:,} finished elicitations ÷ with none"
        yield Finding(title, found.ratio(what, "old", "new"), "", Goal("≤", 1.5), beside)
    beside = (
        f"{found.span('old', 'create', 'ms')} ÷ {found.span('lean', 'create', 'ms')}; bytes of PostgreSQL's log each "
    )
    beside += f"{found.span('old', 'wal')} ÷ {found.span('lean', 'wal')}"
    title = "a create with the indexes of the lists by status, kind and issuer ÷ without"
    yield Finding(title, found.ratio("create", "old", "lean"), "", None, beside)
    yield _behind(plan, hands["old"], hands["new"])


def _behind(plan: Plan, queued: Peer, free: Peer) -> Finding:
    """What the webhooks that one agent has waiting do to those of another."""
    [agent] = queued.call("hooked", count=1, url="http://127.0.0.1:9/%d", key="key-of-the-agent-in-front-%08d")
    count = plan.history // 10
    queued.call("in_front", agent=agent, count=count)
    sides = {"queued": queued, "free": free}
    many = 100 if plan.quick else 400

    def once(hand: Peer) -> Sample:
        return {"claim": hand.call("claims", slug=BOT.slug, count=many)}

    found = interleaved(plan.rounds, **{name: partial(once, hand) for name, hand in sides.items()})
    beside = f"{found.span('queued', 'claim', 'ms')} ÷ {found.span('free', 'claim', 'ms')}"
    what = f"a claim behind {count:,} webhooks of another agent ÷ behind none"
    return Finding(what, found.ratio("claim", "queued", "free"), "", Goal("≤", 1.5), beside)
