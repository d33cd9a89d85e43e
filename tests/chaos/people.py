"""The people: each opens their link, does what they intend, and starts again at the link after a fault."""

from __future__ import annotations

import contextlib
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from tests.chaos.agents import PAUSE, RETRY_FOR, TERMINAL, Caller, GaveUpError, together
from tests.chaos.flows import Flow, Json
from tests.chaos.world import World, person
from tests.support.http_user import HttpUser
from tests.support.persona import MOST_PAGES

YES = ("allow", "pay", "submit")
# What they press where it is offered.
ANSWERS = {
    "says_yes": YES, "taken_back_meanwhile": YES, "says_no": ("decline",), "says_no_there": ("deny",),
    "leaves_half_way": (),
}  # fmt: skip


class Player:
    """Two people with a browser each, and the agents that ask them, one flow after the other."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.willing, self.unwilling = person(number)
        headers = {"x-forwarded-for": f"10.0.0.{number + 1}"}
        self.users = {sub: HttpUser(headers=headers) for sub in person(number)}
        for user in self.users.values():
            user.http.timeout = 20

    def close(self) -> None:
        for user in self.users.values():
            user.close()

    def play(self, flow: Flow) -> None:
        try:
            self._play(flow, Caller(self.world, flow))
        except GaveUpError as why:
            self.world.write("gave_up", flow=flow.number, kind=flow.kind, end=flow.end, why=str(why))

    def _play(self, flow: Flow, agent: Caller) -> None:
        sub = self.willing if flow.willing else self.unwilling
        asked = agent.ask(self.world.corp.issuer, sub)
        someone = Person(self.world, flow, sub, self.users[sub], asked)
        if flow.end == "taken_back_meanwhile":
            together(lambda: someone.go(agent), lambda: agent.cancel(asked["id"]))
        elif flow.watched:
            together(lambda: getattr(self, f"_{flow.end}")(someone, agent), lambda: agent.until_over(asked["id"]))
        else:
            getattr(self, f"_{flow.end}")(someone, agent)
        done = agent.until_over(asked["id"])
        if done["status"] == "completed":
            agent.act_on(done)

    def _says_yes(self, someone: Person, agent: Caller) -> None:
        someone.go(agent)

    _says_no = _says_no_there = _says_yes

    def _taken_back(self, someone: Person, agent: Caller) -> None:
        agent.cancel(someone.asked["id"])

    def _ignores_it(self, someone: Person, agent: Caller) -> None:
        """Nobody does anything."""

    def _leaves_half_way(self, someone: Person, agent: Caller) -> None:
        someone.look_in()


class Person:
    """One of them, and one link."""

    def __init__(self, world: World, flow: Flow, sub: str, user: HttpUser, asked: Json) -> None:
        self.world, self.flow, self.sub, self.user, self.asked = world, flow, sub, user, asked

    def go(self, agent: Caller) -> None:
        """To the end, however often they have to begin again. Raises GaveUpError."""
        end = time.monotonic() + RETRY_FOR
        while time.monotonic() < end:
            if self._try(agent):
                return
            time.sleep(PAUSE)
        at = f"{self.user.page_name} {self.user.page_status} {self.user.url}: {self.user.text[:200]}"
        raise GaveUpError(f"{self.asked['id']}: {self.sub} came no further than {at}")

    def look_in(self) -> None:
        """As far as where they would have to say yes."""
        with contextlib.suppress(GaveUpError):
            self._try(None)

    def _try(self, agent: Caller | None) -> bool:
        """From the link on. True when it is over."""
        try:
            self._mind(self.user.open(self.asked["url"]))
            for _ in range(MOST_PAGES):
                if self.user.page_name == "done":
                    return self._is_over(agent)
                action, fields = self._next()
                if not action:
                    return False
                self._press(action, fields)
        except (httpx2.TransportError, AssertionError):  # cut off, or a page that is none of ours
            return False
        return False

    def _press(self, action: str, fields: dict[str, str]) -> None:
        visit = self.world.receiver.url("/visit")
        with self.user.stopping_at(visit):
            self._mind(self.user.press(action, **fields))
            if not self.user.stopped:
                return
            back = parse_qs(urlsplit(self.user.location).query).get("elicit_return")
        if self.flow.end == "leaves_half_way":
            raise GaveUpError("they are on the agent's page and stay there")
        self.user.open(back[0] if back else f"{self.asked['url']}/done")

    def _is_over(self, agent: Caller | None) -> bool:
        if self.flow.kind == "link_by_agent" and agent and self.user.page_status == "started":
            agent.complete(self.asked["id"])
            return True
        return self.user.page_status in TERMINAL

    def _next(self) -> tuple[str, dict[str, str]]:
        """Which button of this page they press, and what they type; "" where they are stuck."""
        offered = self.user.actions()
        for action in ("signin", self.sub, *ANSWERS[self.flow.end]):
            if action in offered:
                return action, self._typed() if action == "submit" else {}
        if "continue" in offered and self.user.page_name != "refused":
            return "continue", {}
        return "", {}

    def _typed(self) -> dict[str, str]:
        names = {name for name, _ in self.user.page.forms["submit"].fields}
        return {name: self.flow.typed for name in ("api_key", "q0") if name in names}

    def _mind(self, answer: Any) -> None:
        """Whatever is broken, a page that says 500 is nobody's plan."""
        if answer.status_code == 500 and str(answer.url).startswith(self.world.url):
            self.world.write("broke", url=str(answer.url), text=self.user.text[:300])
