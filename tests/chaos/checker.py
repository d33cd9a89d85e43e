"""What a run must not show: pure functions over its history.

Money is checked by the rules of tests/payments/history/checker.py, which also say what the lines ``asked``, ``seen``,
``ended``, ``told``, ``captured``, ``payment`` and ``entitlement`` are. Here every kind is checked. Beside those lines:

    asked       has flow and sub too
    position    agent, event, position: the rows of the events, in the order of their positions
    heard       agent, event: what the agent read of its feed while everything broke, in that order
    signed      agent, event, id, verified: a webhook as it arrived
    consumed    elicitation, got: whether the call that claims the result got it
    fetched     elicitation, connection, told (the code of a refusal), works: a token, tried at the provider
    kept        elicitation, right: whether what was typed came back
    connection  agent, sub, status: what is kept in the end
    granted     sub: a token that the provider gave for the files of that person
    leak        place, name: a secret that stands in a log
    left        table, count: what is pending or leased when all has come to rest
    broke       url, text: an answer that nobody should get
    gave_up     flow, kind, end, why: somebody who came to no end
    died        process, said: a process that was ready and ended though nobody told it to
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from tests.chaos.flows import Flow, Json
from tests.payments.history import checker as money
from tests.payments.history.checker import History, Violation

Found = Iterator[tuple[str, str]]
OF_MONEY = [
    money.paid_for, money.nothing_in_silence, money.one_charge_kept, money.refunds_add_up, money.ledger_agrees,
    money.results_agree, money.entitlements_match,
]  # fmt: skip
OF_ALL = [money.one_end, money.told_once, money.webhooks_agree]


class Run(History):
    """The lines by what they are about, and what was meant to happen."""

    def __init__(self, lines: Iterable[Json], flows: Iterable[Flow]) -> None:
        self.lines = list(lines)
        self.flows = {one.number: one for one in flows}
        about_money = [line for line in self.lines if _is_of_money(line)]
        self.money = History(about_money)
        self.of = defaultdict(list)
        for line in self.lines:
            self.of[line["op"]].append(line)
        self.ended = {line["elicitation"]["id"]: line["elicitation"] for line in self.of["ended"]}
        self.feed = [line for line in self.of["told"] if line["by"] == "feed"]
        self.events = defaultdict(list)
        for line in self.feed:
            self.events[line["event"]["elicitation"]].append(line["event"])

    def flow_of(self, elicitation: Json) -> Flow | None:
        return self.flows.get(elicitation["metadata"].get("flow"))


def _is_of_money(line: Json) -> bool:
    one = line.get("elicitation") or line.get("event", {})
    if line["op"] in {"seen", "ended"}:
        return bool(one["kind"] == "payment")
    if line["op"] == "told":
        data = line["event"]["data"]
        return data.get("kind") == "payment" or "payment" in data
    return line["op"] in {"captured", "returned", "disputed", "payment", "entitlement"}


def check(lines: Iterable[Json], flows: Iterable[Flow]) -> list[Violation]:
    """Everything that is wrong with the run; an empty list for a sound one."""
    run = Run(lines, flows)
    found = [Violation(rule.__name__, *one) for rule in OF_MONEY for one in rule(run.money)]
    found += [Violation(rule.__name__, *one) for rule in OF_ALL for one in rule(run)]
    return found + [Violation(rule.__name__, *one) for rule in RULES for one in rule(run)]


def one_for_each_key(run: Run) -> Found:
    """However often a create was repeated, there is one elicitation, and none that nobody asked for."""
    by_flow: defaultdict[int, set[str]] = defaultdict(set)
    for line in run.of["asked"]:
        by_flow[line["flow"]].add(line["elicitation"])
        if line["elicitation"] not in run.ended:
            yield line["elicitation"], "it was answered to its agent and is gone"
    for name, one in run.ended.items():
        if (flow := one["metadata"].get("flow")) in run.flows:
            by_flow[flow].add(name)
        else:
            yield name, "nobody asked for it"
    yield from ((f"flow {flow}", f"asked as {sorted(ids)}") for flow, ids in by_flow.items() if len(ids) != 1)
    yield from ((f"flow {number}", "it was never asked") for number in run.flows.keys() - by_flow.keys())


def ended_as_meant(run: Run) -> Found:
    """A yes completes it, a no declines it, whatever broke on the way."""
    for name, one in run.ended.items():
        flow = run.flow_of(one)
        if flow and one["status"] not in flow.wanted:
            yield name, f"flow {flow.number} ({flow.kind}, {flow.end}) is {one['status']}: {one['error']}"


def feed_without_gaps(run: Run) -> Found:
    """Positions are 1, 2, 3, …, and whoever read along read every event once, in that order."""
    rows: defaultdict[str, list[Json]] = defaultdict(list)
    for line in run.of["position"]:
        rows[line["agent"]].append(line)
    heard: defaultdict[str, list[str]] = defaultdict(list)
    for line in run.of["heard"]:
        heard[line["agent"]].append(line["event"])
    listed: defaultdict[str, list[str]] = defaultdict(list)
    for line in run.feed:
        listed[line["agent"]].append(line["event"]["id"])
    for agent, lines in rows.items():
        places = [line["position"] for line in lines]
        if places != list(range(1, len(places) + 1)):
            missing = set(range(1, places[-1] + 1)) - set(places)
            yield agent, f"positions {sorted(missing)[:5]} of {len(places)} are missing"
        order = [line["event"] for line in lines]
        for what, ids in (("the list", listed[agent]), ("who read along", heard[agent])):
            if ids != order:
                twice = [name for name, count in Counter(ids).items() if count > 1]
                yield agent, f"{what} has {len(ids)} of {len(order)} events, twice {twice[:3]}, or in another order"
    for name, events in run.events.items():
        seqs = [event["seq"] for event in events if event["type"].startswith("elicitation.")]
        if seqs != sorted(seqs):
            yield name, f"told in the order {seqs}"


def signed_and_the_same(run: Run) -> Found:
    """Each webhook has its event's id in its header and its agent's signature."""
    for line in run.of["signed"]:
        if not line["verified"] or line["id"] != line["event"]:
            yield line["event"], f"sent to {line['agent']} as {line['id']}, signature right: {line['verified']}"


def no_token_after_a_no(run: Run) -> Found:
    """Who never said yes has no token, neither here nor at the provider, and no result names one."""
    said_yes = {(line["agent"], line["sub"]) for line in run.of["asked"] if _brought_something(run, line)}
    for line in run.of["connection"]:
        if (line["agent"], line["sub"]) not in said_yes:
            yield line["sub"], f"{line['agent']} has a connection of somebody who completed nothing"
    for line in run.of["granted"]:
        if line["sub"].startswith("never"):
            yield line["sub"], "the provider gave a token for somebody who always said no"
    for name, one in run.ended.items():
        if one["status"] != "completed" and one["kind"] != "steps" and one["result"]:
            yield name, f"it is {one['status']}, with a result"


def _brought_something(run: Run, asked: Json) -> bool:
    """What the first of several steps brought stays, however the others end."""
    one = run.ended.get(asked["elicitation"], {})
    return one.get("status") == "completed" or one.get("kind") == "steps"


def acted_on_once(run: Run) -> Found:
    """Of all who want to act on a result, one may; what it names works, and what was typed came back."""
    got: defaultdict[str, int] = defaultdict(int)
    for line in run.of["consumed"]:
        got[line["elicitation"]] += line["got"]
    yield from ((name, f"{count} runs may act on it") for name, count in got.items() if count != 1)
    told = {
        line["event"]["data"]["id"] for line in run.feed
        if line["event"]["type"] == "connection.reauthorization_required"
    }  # fmt: skip
    for line in run.of["fetched"]:
        if line["told"] and line["connection"] not in told:
            yield line["connection"], f"its agent is refused ({line['told']}) and no event said why"
        if not line["told"] and not line["works"]:
            yield line["elicitation"], "the provider does not take its token"
    yield from ((line["elicitation"], "not what was typed") for line in run.of["kept"] if not line["right"])


def nothing_left(run: Run) -> Found:
    """Nothing is pending, due or leased when everything is mended and time has passed."""
    yield from ((line["table"], f"{line['count']} left") for line in run.of["left"] if line["count"])


def no_secret_in_logs(run: Run) -> Found:
    yield from ((line["name"], f"stands in the log of {line['place']}") for line in run.of["leak"])


def nothing_broke(run: Run) -> Found:
    """No answer of 500, nobody who never came to an end, and no process that ended by itself."""
    yield from ((line["url"], line["text"]) for line in run.of["broke"])
    yield from (
        (f"flow {line['flow']} ({line['kind']}, {line['end']})", line["why"]) for line in run.of["gave_up"]
    )  # fmt: skip
    yield from ((line["process"], f"it ended, and nobody told it to: {line['said'][-500:]}") for line in run.of["died"])


RULES: list[Callable[[Run], Found]] = [
    one_for_each_key, ended_as_meant, feed_without_gaps, signed_and_the_same, no_token_after_a_no, acted_on_once,
    nothing_left, no_secret_in_logs, nothing_broke,
]  # fmt: skip
