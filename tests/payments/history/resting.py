"""The end of a history: fair weather, all time runs out, and everything comes to rest."""

from __future__ import annotations

import time
from random import Random

from tests.payments.history import collecting
from tests.payments.history.checker import Json
from tests.payments.history.world import LONG_AGO, World
from tests.support.stripe_control import Refused

STALLED = 60.0  # seconds in which nothing at all comes to rest, on a machine that plays as quickly as ours
PLAYED_IN = 0.15  # seconds that a payment takes to be played on such a machine
OPEN = {
    "elicitation": "status IN ('pending', 'started', 'settling')",
    "checkout": "status IN ('starting', 'open', 'processing') OR look_at <= now()",
    "inbound": "try_at IS NOT NULL",
    "refund": "try_at IS NOT NULL",
    "cancellation": "try_at IS NOT NULL",
    "mandate": "status = 'active' AND until <= now()",
    "delivery": "status = 'pending'",
}


def come_to_rest(world: World, seed: str, played_in: float) -> None:
    """Nothing is open any more, and nothing is left to be done. TimeoutError when it does not come to that.

    ``played_in``: the seconds that a payment took to be played. A slow machine, or one that others use, gets longer;
    and how long it takes is not limited while less and less is left. Notices that were lost are not sent again: the
    sweep finds out.
    """
    state = world.stripe.state()
    settle(world, state, Random(f"{seed}/end"))
    world.stripe.forward(26 * 3600)
    limit = STALLED * max(1.0, played_in / PLAYED_IN)
    wait(world, limit)
    world.let_months_pass(moved(state))
    wait(world, limit)


def wait(world: World, limit: float) -> None:
    """TimeoutError when in ``limit`` seconds no less was left than ever before."""
    least, until = sum(left(world).values()), time.monotonic() + limit
    while not rested(world):
        now_left = left(world)
        if sum(now_left.values()) < least:
            least, until = sum(now_left.values()), time.monotonic() + limit
        if time.monotonic() > until:
            raise TimeoutError(f"in {limit:.0f} s nothing more came to rest: left are {now_left}, {stuck(world)}")
        time.sleep(0.5)


def rested(world: World) -> bool:
    world.let_time_pass()
    statement = "UPDATE elicit_flows_elicitation SET expires_at = %s WHERE status IN ('pending', 'started')"
    world.sql(statement, LONG_AGO)
    # What was asked of the provider has arrived there by now, so that a charge that is not there was not made.
    statement = (
        "UPDATE elicit_flows_mandatecharge SET at = now() - interval '6 minutes' WHERE payment_id IN"
        " (SELECT payment_id FROM elicit_flows_checkout WHERE off_session AND status = %s)"
    )
    world.sql(statement, "starting")
    return not any(left(world).values())


def stuck(world: World) -> dict[str, list[str]]:
    """Some of what is left, by its id: to look it up in the logs."""
    return {
        table: [str(row[0]) for row in world.sql(f"SELECT id FROM elicit_flows_{table} WHERE {condition} LIMIT 5")]
        for table, condition in OPEN.items()
    }


def settle(world: World, state: Json, dice: Random) -> None:
    """The bank says how every delayed payment ended."""
    for one in state["sessions"]:
        if (one["status"], one["payment_status"]) == ("complete", "unpaid"):
            try:
                world.stripe.settle(one["id"], dice.choice(["ok", "ok", "fail"]))
            except Refused:  # it said so before: it failed
                continue
    of_sessions = {one["payment_intent"] for one in state["sessions"]}
    for one in state["payment_intents"]:
        if one["status"] == "processing" and one["id"] not in of_sessions:
            world.stripe.act("settle_charge", payment_intent=one["id"], outcome=dice.choice(["ok", "fail"]))


def moved(state: Json) -> list[str]:
    """The checkouts whose money went back, or is disputed, or that go on: of some the service was never told."""
    intents = {one["payment_intent"] for one in [*state["refunds"], *state["disputes"]]}
    pages = [one["id"] for one in state["sessions"] if one["payment_intent"] in intents or one["subscription"]]
    return [*pages, *intents]


def left(world: World) -> dict[str, int]:
    return {
        table: int(world.sql(f"SELECT count(*) FROM elicit_flows_{table} WHERE {condition}")[0][0])
        for table, condition in OPEN.items()
    }


def final_lines(world: World) -> list[Json]:
    lines = list(collecting.of_provider(world.stripe.state()))
    orders = [(line["agent"], line["payment"]) for line in world.book.lines if line["op"] == "gave_back"]
    for agent, slug in zip(world.agents, world.slugs, strict=True):
        agent.base_url = world.box.url
        lines += collecting.of_agent(agent, slug, [payment for asked_by, payment in orders if asked_by == slug])
    return [*lines, *collecting.of_sink(world.sink, world.hooked)]
