"""An agent and a user, over HTTP, trying again as they would."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx2

from tests.cast import ALICE, BOB
from tests.payments.history.checker import TERMINAL, Json
from tests.payments.history.stories import Story
from tests.payments.history.world import World
from tests.support.http_user import HttpUser

TRIES = 6
TOLD_WITHIN = 2  # seconds that an agent waits to hear that it was paid


class GaveUp(Exception):
    """They tried often enough; the story ends here, as it would."""


def together(*acts: Callable[[], object]) -> None:
    """At the same moment; what one of them meets does not keep the other from going on."""
    with ThreadPoolExecutor(len(acts)) as pool:
        for done in [pool.submit(act) for act in acts]:
            error = done.exception()
            if error and not isinstance(error, GaveUp | httpx2.TransportError):
                raise error


@dataclass
class Paid:
    """A payment with a second part: what becomes of the money. Not before ``ready`` (monotonic)."""

    story: Story
    elicitation: str
    session: str
    ready: float


@dataclass
class People:
    """One browser, of Alice or of Bob, and the agents that ask them. ``later`` takes the second parts."""

    world: World
    number: int
    later: deque[Paid]
    user: HttpUser = field(init=False)

    def __post_init__(self) -> None:
        self.user = HttpUser(headers={"x-forwarded-for": f"10.0.0.{self.number + 1}"})
        self.who = (ALICE, BOB)[self.number % 2]

    # The agent.

    def call(
        self, story: Story, method: str, path: str, key: str | None = None, tries: int = TRIES, **body: object
    ) -> httpx2.Response:
        """The answer, once there is one that says something. Raises GaveUp."""
        headers = {"idempotency-key": key} if key else {}
        for number in range(tries):
            base = self.world.box.urls[(story.number + number) % 2]
            try:
                answer = self.world.agents[story.agent].request(
                    method, f"{base}{path}", headers=headers, json=body if method == "POST" else None
                )
            except httpx2.TransportError:
                time.sleep(0.15 * (number + 1))
                continue
            self.mind(answer)
            if answer.status_code < 500 and answer.status_code != 429:
                return answer
            time.sleep(0.15 * (number + 1))
        raise GaveUp

    def mind(self, answer: httpx2.Response) -> None:
        """A 500 is nobody's plan, whatever goes wrong."""
        if answer.status_code == 500:
            self.world.book.write("broke", url=str(answer.url), text=answer.text[:300])

    def ask(self, story: Story) -> str | None:
        """The id of the elicitation, None when nobody knows. Without a key an agent dares not ask twice."""
        body = self.question(story)
        line = {"agent": self.world.slugs[story.agent], "key": story.key, "story": story.number, "way": story.way}
        try:
            answer = self.call(story, "POST", "/v1/elicitations", story.key, TRIES if story.key else 1, **body)
        except GaveUp:
            self.world.book.write("asked", outcome="unknown", **line)
            return None
        assert answer.status_code in {200, 201}, answer.text
        found = answer.json()["id"]
        self.world.book.write("asked", outcome="ok", elicitation=found, **line)
        return str(found)

    def question(self, story: Story) -> Json:
        return {
            "kind": "payment", "subject": self.who.subject(self.world.corp.issuer), "message": "Pay for the report.",
            "params": {**story.terms, "description": f"Report {story.number}"},
            "expires_in": story.life,
        }  # fmt: skip

    def ask_in_vain(self, story: Story, terms: Json) -> None:
        """A question that is refused, whatever else goes wrong."""
        body = self.question(story)
        body["params"] |= terms
        answer = self.call(story, "POST", "/v1/elicitations", **body)
        assert answer.status_code == 422, answer.text

    def completed(self, story: Story, elicitation: str) -> Json:
        """The result, once there is one. Raises GaveUp."""
        for _ in range(2):
            seen = self.look(story, elicitation, wait=TOLD_WITHIN)
            if seen["status"] in TERMINAL:
                break
        if not seen["result"]:
            raise GaveUp
        return dict(seen["result"])

    def look(self, story: Story, elicitation: str, wait: int = 0) -> Json:
        path = f"/v1/elicitations/{elicitation}?wait={wait}"
        seen = dict(self.call(story, "GET", path).json())
        self.world.book.write("seen", elicitation=seen)
        return seen

    def cancel(self, story: Story, elicitation: str) -> None:
        self.call(story, "POST", f"/v1/elicitations/{elicitation}/cancel")

    def give_back(self, story: Story, payment: str, amount: int | None, order: str) -> None:
        key = f"{payment}-{order}"
        body = {} if amount is None else {"amount": amount}
        answer = self.call(story, "POST", f"/v1/payments/{payment}/refunds", key, **body)
        assert answer.status_code in {200, 201, 409, 422}, answer.text
        refund = answer.json()["id"] if answer.is_success else None
        agent = self.world.slugs[story.agent]
        self.world.book.write("gave_back", agent=agent, key=key, payment=payment, refund=refund)

    # The user.

    def to_the_page(self, story: Story, elicitation: str) -> str:
        """Through our page to the provider's; the id of the checkout there. Raises GaveUp."""
        for number in range(TRIES):
            base = self.world.box.urls[(story.second + number) % 2]
            try:
                found = self._through(f"{base}/c/{elicitation}")
            except httpx2.TransportError:
                found = None
            if found is not None:
                self.world.book.write("page", elicitation=elicitation, session=found)
                return found
            time.sleep(0.2 * (number + 1))
        raise GaveUp

    def _through(self, link: str) -> str | None:
        """None where it may be tried again. Raises GaveUp where our page offers nothing any more."""
        self.open(link)
        if "continue" not in self.user.actions():
            if self.user.page_name == "done":
                raise GaveUp
            return None
        with self.user.stopping_at(f"{self.world.sandbox.url}/c/pay/"):
            self.mind(self.user.press("continue"))
            return self.user.location.rpartition("/")[2] if self.user.stopped else None

    def open(self, link: str) -> None:
        self.mind(self.user.open(link))
        self.user.carry_on("signin", self.who.sub)

    def decline(self, story: Story, elicitation: str) -> None:
        self.open(f"{self.world.box.urls[story.second]}/c/{elicitation}")
        if "decline" in self.user.actions():
            self.user.press("decline")

    def pay(self, story: Story, session: str, how: str = "pay") -> None:
        """Presses at the provider's page; whoever returns does so by the address that it gives."""
        back = self.world.stripe.press(session, how)
        if back and story.returns:
            self.come_back(back)

    def paid(self, story: Story, elicitation: str, session: str) -> None:
        """What becomes of the money is for later."""
        if story.later != "nothing":
            self.later.append(Paid(story, elicitation, session, time.monotonic() + 1.0))

    def come_back(self, url: str) -> None:
        try:
            self.mind(self.user.http.get(url))
        except httpx2.TransportError:
            return
