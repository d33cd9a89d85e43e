"""The end of a run: waits until no work is left, then collects the state."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from tests.chaos.agents import Listener
from tests.chaos.flows import Json
from tests.chaos.world import World
from tests.payments.history import collecting, resting
from tests.support.process import until

STALLED = 60.0  # seconds in which nothing more comes to rest
LONG_AGO = "2020-01-01 00:00:00+00:00"
OPEN = resting.OPEN | {
    "attempt": "poll_at IS NOT NULL",
    "cancellation": "try_at IS NOT NULL",
    "pendinggrant": "give_back_at <= now()",
    "connection": "refresh_lease_until IS NOT NULL OR upstream = 'pending'",
}
LEASED = {"delivery": "lease_until IS NOT NULL"}
SETTLING = 30  # seconds, of the two minutes that the service itself waits for
HURRIED = {
    "checkout": ("look_at = now()", "look_at > now() AND status != 'paid'"),
    "inbound": ("try_at = now()", "try_at > now()"),
    "refund": ("try_at = now()", "try_at > now()"),
    "pendinggrant": ("give_back_at = now()", "give_back_at > now()"),
    "delivery": ("lease_until = NULL, next_at = now()", "status = 'pending'"),
    "connection": ("upstream_next_at = now()", "upstream = 'pending'"),
}


def hurry_settling(world: World) -> None:
    """Whoever was cut off in the middle may go on after half a minute instead of two: no exchange takes as long."""
    world.sql(
        "UPDATE elicit_flows_elicitation SET settling_since = %s WHERE status = 'settling'"
        f" AND settling_since < now() - interval '{SETTLING} seconds'",
        LONG_AGO,
    )


def let_time_pass(world: World) -> None:
    """Every pause is over. What somebody has in hand at this moment is left to them."""
    hurry_settling(world)
    for table, (change, waits) in HURRIED.items():
        free = f"SELECT id FROM elicit_flows_{table} WHERE {waits} ORDER BY id FOR UPDATE SKIP LOCKED"
        world.sql(f"UPDATE elicit_flows_{table} SET {change} WHERE id IN ({free})")


def left(world: World) -> dict[str, int]:
    found = {}
    for table, condition in [*OPEN.items(), *LEASED.items()]:
        count = int(world.sql(f"SELECT count(*) FROM elicit_flows_{table} WHERE {condition}")[0][0])
        found[table] = found.get(table, 0) + count
    return found


def come_to_rest(world: World) -> None:
    """Until nothing is left, or nothing moves any more: what is left then is a violation."""
    world.stripe.forward(26 * 3600)  # pages that nobody paid on close
    least, end = left(world), time.monotonic() + STALLED
    while any(least.values()) and time.monotonic() < end:
        let_time_pass(world)
        time.sleep(1.5)
        found = left(world)
        if sum(found.values()) < sum(least.values()):
            end = time.monotonic() + STALLED
        least = found
    for table, count in least.items():
        world.write("left", table=table, count=count)


def catch_up(world: World, listeners: list[Listener]) -> None:
    """Whoever reads along has read all there is, or reads no more."""
    wanted = dict(world.sql(_COUNTS))

    def heard() -> bool:
        return all(len(one.heard) >= wanted.get(world.programs[one.number].slug, 0) for one in listeners)

    try:
        until(heard, "those who read along have read all")
    except TimeoutError:
        world.write("note", what="somebody who read along did not read all")
    for one in listeners:
        one.over.set()


_COUNTS = """
    SELECT a.slug, count(*) FROM elicit_flows_event e JOIN elicit_flows_agent a ON a.id = e.agent_id GROUP BY a.slug
"""
_POSITIONS = """
    SELECT a.slug, e.id, e.position FROM elicit_flows_event e JOIN elicit_flows_agent a ON a.id = e.agent_id
    ORDER BY a.slug, e.position
"""
_CONNECTIONS = """
    SELECT a.slug, c.sub, c.status FROM elicit_flows_connection c JOIN elicit_flows_agent a ON a.id = c.agent_id
"""


def collect(world: World, listeners: list[Listener]) -> None:
    """What the agents were told, and what the database has, what the providers did, and what stands in the logs."""
    for number, one in enumerate(world.programs):
        with world.client(number, timeout=60) as client:
            for line in collecting.of_agent(client, one.slug):
                world.write(**line)
    for listener in listeners:
        for event in listener.heard:
            world.write("heard", agent=world.programs[listener.number].slug, event=event)
    for received in world.receiver.received():
        event = dict(received["event"])  # type: ignore[call-overload]
        world.write("told", by="webhook", agent=received["agent"], event=event)
        signed = {"id": received["id"], "verified": received["verified"]}
        world.write("signed", agent=received["agent"], event=event["id"], **signed)
    collect_behind(world)


def collect_behind(world: World) -> None:
    """What no agent sees."""
    for line in collecting.of_provider(world.stripe.state()):
        world.write(**line)
    for slug, event, position in world.sql(_POSITIONS):
        world.write("position", agent=slug, event=event, position=position)
    for slug, sub, status in world.sql(_CONNECTIONS):
        world.write("connection", agent=slug, sub=sub, status=status)
    tokens = world.drive.issued()
    for token in tokens:
        if token["kind"] == "access_token":
            world.write("granted", sub=token["sub"])
    for line in leaks(world, tokens):
        world.write("leak", **line)


_WORD = re.compile(r"[\w-]{12,}")


def leaks(world: World, tokens: list[Json]) -> Iterator[Json]:
    """Secrets in logs: those that were configured, what people typed, and every code and token of either provider."""
    wanted = world.secrets() | {f"{one['kind']} {number}": str(one["value"]) for number, one in enumerate(tokens)}
    wanted |= {f"{one['kind']} of sign-in {n}": str(one["value"]) for n, one in enumerate(world.corp.issued())}
    typed = {line["typed"] for line in world.lines if line["op"] == "flow" and line["kind"] == "credentials"}
    wanted |= {f"what was typed ({text})": text for text in typed}
    for place, text in world.logs():
        words = set(_WORD.findall(text))
        for name, secret in wanted.items():
            if secret in words or (not _WORD.fullmatch(secret) and secret in text):
                yield {"place": place, "name": name}
