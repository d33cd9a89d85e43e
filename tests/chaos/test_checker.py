"""Each rule of the checker finds its fault: correct histories pass, and each of these changed ones does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.checker import OF_ALL, RULES, check
from tests.chaos.flows import Flow, Json

AGENT = "bot"
Lines = list[Json]


def flow(number: int, kind: str, end: str) -> Flow:
    return Flow(number, kind, end, agent=0, key=f"k-{number}", twice=False, watched=False, amount=500)


FLOWS = [flow(0, "confirm", "says_no"), flow(1, "oauth", "says_yes"), flow(2, "oauth", "says_no_there")]
SUBS = ["never-0", "yes-0", "never-0"]


def elicitation(number: int, seq: int, status: str) -> Json:
    result = {"connection": "cn_1"} if status == "completed" else None
    return {
        "id": f"el_{number}", "kind": FLOWS[number].kind, "seq": seq, "status": status, "result": result,
        "error": None, "metadata": {"flow": number},
    }  # fmt: skip


def sound() -> Lines:
    lines: Lines = []
    position = 0
    for number, ways in enumerate(
        (["pending", "declined"], ["pending", "started", "completed"], ["pending", "declined"])
    ):
        asked = {"agent": AGENT, "flow": number, "sub": SUBS[number], "key": f"k-{number}", "outcome": "ok"}
        lines.append({"op": "asked", **asked, "elicitation": f"el_{number}"})
        for seq, status in enumerate(ways, start=1):
            position += 1
            one = elicitation(number, seq, status)
            name = "created" if status == "pending" else status
            event = {"id": f"ev_{position}", "type": f"elicitation.{name}", "elicitation": one["id"], "seq": seq}
            event["data"] = one
            lines += [{"op": "told", "by": by, "agent": AGENT, "event": event} for by in ("feed", "webhook")]
            lines.append({"op": "position", "agent": AGENT, "event": event["id"], "position": position})
            lines.append({"op": "heard", "agent": AGENT, "event": event["id"]})
            lines.append({"op": "signed", "agent": AGENT, "event": event["id"], "id": event["id"], "verified": True})
        lines.append({"op": "ended", "elicitation": one})
    return [
        *lines,
        {"op": "consumed", "elicitation": "el_1", "got": True},
        {"op": "consumed", "elicitation": "el_1", "got": False},
        {"op": "fetched", "elicitation": "el_1", "connection": "cn_1", "told": None, "works": True},
        {"op": "kept", "elicitation": "el_1", "right": True},
        {"op": "connection", "agent": AGENT, "sub": "yes-0", "status": "active"},
        {"op": "granted", "sub": "yes-0"},
        {"op": "left", "table": "delivery", "count": 0},
    ]


def test_nothing_is_wrong_with_a_sound_history() -> None:
    assert check(sound(), FLOWS) == []


def without(op: str, nth: int = 0, **fields: Any) -> Callable[[Lines], Lines]:
    """The nth line of that sort is missing."""

    def change(lines: Lines) -> Lines:
        found = [line for line in lines if line["op"] == op and fields.items() <= line.items()]
        return [line for line in lines if line is not found[nth]]

    return change


def twice(op: str, nth: int = 0, **fields: Any) -> Callable[[Lines], Lines]:
    def change(lines: Lines) -> Lines:
        found = [line for line in lines if line["op"] == op and fields.items() <= line.items()]
        return [*lines, found[nth]]

    return change


def but(op: str, nth: int = 0, **fields: Any) -> Callable[[Lines], Lines]:
    """The nth line of that sort says something else."""

    def change(lines: Lines) -> Lines:
        found = [line for line in lines if line["op"] == op]
        found[nth].update(fields)
        return lines

    return change


def ended_otherwise(lines: Lines) -> Lines:
    """Consistently so: everybody is told the same wrong end."""
    for line in lines:
        one = line["event"]["data"] if line["op"] == "told" else line.get("elicitation")
        if isinstance(one, dict) and (one["id"], one["status"]) == ("el_0", "declined"):
            one["status"] = "cancelled"
        if line["op"] == "told" and line["event"]["data"]["status"] == "cancelled":
            line["event"]["type"] = "elicitation.cancelled"
    return lines


def also(**line: Any) -> Callable[[Lines], Lines]:
    return lambda lines: [*lines, line]


WRONG: list[tuple[str, Callable[[Lines], Lines]]] = [
    ("one_end", but("ended", 0, elicitation=elicitation(0, 2, "started"))),
    ("told_once", without("told", 1, by="feed")),
    ("told_once", twice("told", 1, by="feed")),
    ("webhooks_agree", without("told", 3, by="webhook")),
    ("one_for_each_key", also(op="ended", elicitation={**elicitation(0, 2, "declined"), "id": "el_9"})),
    ("one_for_each_key", but("asked", 0, elicitation="el_gone")),
    ("one_for_each_key", also(op="ended", elicitation={**elicitation(0, 2, "declined"), "metadata": {}})),
    ("ended_as_meant", ended_otherwise),
    ("feed_without_gaps", but("position", 2, position=9)),
    ("feed_without_gaps", without("heard", 1)),
    ("feed_without_gaps", twice("heard", 1)),
    ("signed_and_the_same", but("signed", 0, verified=False)),
    ("signed_and_the_same", but("signed", 0, id="ev_other")),
    ("no_token_after_a_no", also(op="connection", agent=AGENT, sub="never-0", status="active")),
    ("no_token_after_a_no", also(op="granted", sub="never-0")),
    ("no_token_after_a_no", but("ended", 2, elicitation={**elicitation(2, 2, "declined"), "result": {"id": 1}})),
    ("acted_on_once", but("consumed", 1, got=True)),
    ("acted_on_once", but("consumed", 0, got=False)),
    ("acted_on_once", but("fetched", 0, works=False)),
    ("acted_on_once", but("fetched", 0, told="reauthorization_required")),
    ("acted_on_once", but("kept", 0, right=False)),
    ("nothing_left", but("left", 0, count=1)),
    ("no_secret_in_logs", also(op="leak", place="web", name="API key")),
    ("nothing_broke", also(op="broke", url="/v1/elicitations", text="500")),
    ("nothing_broke", also(op="gave_up", flow=0, kind="confirm", end="says_no", why="no answer")),
    ("nothing_broke", also(op="died", process="worker", said="…")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "change"), WRONG, ids=[f"{rule}-{n}" for n, (rule, _) in enumerate(WRONG)])
def test_each_rule_finds_what_it_is_for(rule: str, change: Callable[[Lines], Lines]) -> None:
    assert rule in {found.rule for found in check(change(sound()), FLOWS)}


def test_each_rule_has_a_history_that_breaks_it() -> None:
    assert {rule for rule, _ in WRONG} == {rule.__name__ for rule in [*OF_ALL, *RULES]}
