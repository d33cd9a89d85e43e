"""The end of a history: fair weather, all time runs out, and everything comes to rest."""

from __future__ import annotations

from random import Random

from tests.payments.history import collecting
from tests.payments.history.checker import Json
from tests.payments.history.world import LONG_AGO, World
from tests.support.process import until
from tests.support.stripe_control import Refused

REST_WITHIN = 60.0  # seconds
OPEN = {
    "elicitation": "status IN ('pending', 'started', 'settling')",
    "checkout": "status IN ('starting', 'open', 'processing') OR look_at <= now()",
    "inbound": "try_at IS NOT NULL",
    "refund": "try_at IS NOT NULL",
    "delivery": "status = 'pending'",
}


def come_to_rest(world: World, seed: str) -> None:
    """Nothing is open any more, and nothing is left to be done. TimeoutError when it does not come to that.

    Notices that were lost are not sent again: the sweep finds out.
    """
    state = world.stripe.state()
    settle(world, state, Random(f"{seed}/end"))
    world.stripe.forward(26 * 3600)
    wait(world)
    world.let_months_pass(moved(state))
    wait(world)


def wait(world: World) -> None:
    def rested() -> bool:
        world.let_time_pass()
        world.sql(
            "UPDATE elicit_flows_elicitation SET expires_at = %s WHERE status IN ('pending', 'started')", LONG_AGO
        )
        return not any(left(world).values())

    try:
        until(rested, "all has come to rest", timeout=REST_WITHIN, every=0.5)
    except TimeoutError as error:
        raise TimeoutError(f"{error}: left are {left(world)}") from None


def settle(world: World, state: Json, dice: Random) -> None:
    """The bank says how every delayed payment ended."""
    for one in state["sessions"]:
        if (one["status"], one["payment_status"]) == ("complete", "unpaid"):
            try:
                world.stripe.settle(one["id"], dice.choice(["ok", "ok", "fail"]))
            except Refused:  # it said so before: it failed
                continue


def moved(state: Json) -> list[str]:
    """The checkouts whose money went back, or is disputed: of some the service was never told."""
    intents = {one["payment_intent"] for one in [*state["refunds"], *state["disputes"]]}
    return [one["id"] for one in state["sessions"] if one["payment_intent"] in intents]


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
