"""The parts of a payment, each to be cut off at any point and taken up again as people and programs do in life."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import httpx2

from tests.faults.crashing import cut
from tests.payments.history import checker, collecting
from tests.payments.test_mandates import bank_says, charge, given
from tests.payments.till import Till
from tests.support.http_user import HttpUser
from tests.support.process import until
from tests.support.stripe_control import StripeControl

Json = checker.Json
LONG_AGO = "2020-01-01 00:00:00"
# What somebody has yet to do. A checkout that was paid is looked at for months.
WAITING = {
    "checkout": "look_at IS NOT NULL AND status != 'paid'", "inbound": "try_at IS NOT NULL",
    "refund": "try_at IS NOT NULL",
}  # fmt: skip


class Way(ABC):
    """``prepare`` comes before it, ``act`` is what is cut, ``again`` what those do who saw it fail.

    ``gone`` says whether the process that works on it has been killed; nobody waits for that one.
    """

    def __init__(self, till: Till, user: HttpUser, gone: Callable[[], bool] = lambda: False) -> None:
        self.till, self.user, self.gone = till, user, gone
        self.stripe = StripeControl(till.stripe.url)
        self.asked: Json = {}
        self.begun: list[Json] = []

    def prepare(self, name: str) -> None:
        self.asked = self.till.ask(description=name)
        self.begun.append(self.asked)

    @abstractmethod
    def act(self) -> None: ...

    def again(self) -> None:
        return

    def ends(self) -> set[str]:
        return {"completed"}

    def moved(self) -> tuple[int, int]:
        """How many charges and refunds there are to be at the provider."""
        return len(self.begun), 0

    def to_the_page(self, name: str) -> str:
        """Stripe's id of the checkout that the user is sent to."""
        Way.prepare(self, name)
        return self.till.at_stripe(self.user, self.asked).rpartition("/")[2]

    def wait(self, done: Callable[[], bool]) -> None:
        until(lambda: self.gone() or done(), f"{type(self).__name__} is done, or cut off", every=0.01)

    def count(self, what: str, *values: object) -> int:
        """Read behind the service's back: asking it would be among its system calls."""
        return int(self.till.sql(f"SELECT count(*) FROM elicit_flows_{what}", *values)[0][0])

    def come_to_rest(self) -> None:
        """As long as it takes for every lease to run out and every look to come round."""
        for table, waits in WAITING.items():
            self.till.sql(f"UPDATE elicit_flows_{table} SET {waits.split()[0]} = %s WHERE {waits}", LONG_AGO)
        until(self.rested, "all has come to rest", timeout=30, every=0.2)

    def rested(self) -> bool:
        statuses = {self.till.look(asked)["status"] for asked in self.begun}
        return statuses <= self.ends() and not any(self.count(f"{table} WHERE {one}") for table, one in WAITING.items())

    def history(self) -> list[Json]:
        lines = [*collecting.of_agent(self.till.agent, self.till.agent.slug)]
        ours = {line["elicitation"]["params"]["description"] for line in lines if line["op"] == "ended"}
        ours |= {line["charge"]["description"] for line in lines if line["op"] == "charge"}
        done = list(collecting.of_provider(self.stripe.state()))
        charges = {line["charge"] for line in done if line.get("about") in ours}
        return lines + [line for line in done if line["charge"] in charges]


class Leaving(Way):
    """The button: a checkout is written down, opened at the provider, written down again, and shown."""

    def prepare(self, name: str) -> None:
        super().prepare(name)
        self.user.open(self.asked["url"])
        self.user.carry_on("signin", "alice")

    def act(self) -> None:
        request = self.user.form_request("continue")
        cut(lambda: self.user.http.send(request))

    def again(self) -> None:
        self.till.pay(self.user, self.asked)


class Returning(Way):
    """Back from the provider, whose webhooks are lost: of two who were cut off one reloads, the other goes away."""

    def prepare(self, name: str) -> None:
        self.stripe.weather(drop=True)
        page = self.to_the_page(name)
        self.back = self.stripe.press(page)

    def act(self) -> None:
        cut(lambda: self.user.http.get(self.back))

    def again(self) -> None:
        if len(self.begun) % 2:
            self.user.open(self.back)


class Hearing(Way):
    """The webhook: kept, then the provider is asked and the payment concluded. The buyer never returns."""

    def prepare(self, name: str) -> None:
        self.stripe.weather(retry_seconds=[0.3] * 40, timing="after")
        self.page = self.to_the_page(name)

    def act(self) -> None:
        self.stripe.press(self.page)
        self.wait(lambda: self.count("inbound WHERE ref = %s AND done_at IS NOT NULL", self.page) > 0)


class GivingBack(Way):
    """The agent's order, then the provider is told."""

    def prepare(self, name: str) -> None:
        self.stripe.weather(timing="before", types=["refund.created", "charge.refunded"], drop=True)
        self.stripe.press(self.to_the_page(name))
        self.payment = self.till.becomes(self.asked, "completed")["result"]["payment"]

    def act(self) -> None:
        if cut(self.order):
            self.wait(lambda: self.count("refund WHERE payment_id = %s AND status = 'done'", self.payment) > 0)

    def order(self) -> object:
        path = f"/v1/payments/{self.payment}/refunds"
        return self.till.agent.post(path, headers={"idempotency-key": self.payment}).raise_for_status()

    def again(self) -> None:
        self.order()

    def rested(self) -> bool:
        return super().rested() and not self.count("refund WHERE status != 'done'")

    def moved(self) -> tuple[int, int]:
        return len(self.begun), len(self.begun)


class TakingBack(Way):
    """The agent cancels what the user could pay now, then the provider closes its page."""

    def prepare(self, name: str) -> None:
        self.page = self.to_the_page(name)

    def act(self) -> None:
        if cut(self.cancel):
            self.wait(lambda: self.count("checkout WHERE ref = %s AND status = 'over'", self.page) > 0)

    def cancel(self) -> object:
        return self.till.agent.post(f"/v1/elicitations/{self.asked['id']}/cancel").raise_for_status()

    def again(self) -> None:
        self.cancel()

    def ends(self) -> set[str]:
        return {"cancelled"}

    def moved(self) -> tuple[int, int]:
        return 0, 0


class Charging(Way):
    """The agent charges under a mandate: reserved, made at the provider, and written down."""

    bank = "ok"
    notice = "after"

    def prepare(self, name: str) -> None:
        """One mandate for all. What is cut is a charge of that name."""
        if not self.begun:
            self.names: list[str] = []
            self.mandate = given(self.till, self.user, description=name, total=1_000_000, notice=self.notice)
            self.begun.append(self.mandate["asked"])
            bank_says(self.till, self.mandate, self.bank)
        self.name = name
        self.names.append(f"{name} charge")

    def act(self) -> None:
        cut(self.order)

    def order(self) -> httpx2.Response:
        return charge(self.till, self.mandate, 500, self.name, description=f"{self.name} charge").raise_for_status()

    def again(self) -> None:
        self.order()

    def rested(self) -> bool:
        return super().rested() and not self.count("payment WHERE mode = 'charge' AND status <> 'paid'")

    def moved(self) -> tuple[int, int]:
        return len(self.names), 0


class ChargingWithPerson(Charging):
    """The same, and the bank wants the person: what was begun is cancelled, and they pay by a link."""

    bank = "requires_action"

    def again(self) -> None:
        made = self.order().json()
        path = f"/v1/mandates/{self.mandate['id']}/charges/{made['id']}"

        def waits() -> Json | None:
            self.till.start()
            found = dict(self.till.agent.get(path).json())
            return found if found["status"] == "requires_action" else None

        link = (until(waits, "the bank wants the person", timeout=30) or {})["elicitation"]
        self.till.pay(self.user, dict(self.till.agent.get(f"/v1/elicitations/{link}").json()))


class ChargingWhenDue(Charging):
    """An announced charge, which the sweep makes when its time has come."""

    notice = "before"

    def act(self) -> None:
        made = self.order().json()
        self.till.sql("UPDATE elicit_flows_mandatecharge SET at = now() WHERE id = %s", made["id"])
        self.till.start()
        self.wait(lambda: self.count("payment WHERE id = %s AND status = 'paid'", made["payment"]) > 0)


WAYS: dict[str, type[Way]] = {
    "button": Leaving, "return": Returning, "webhook": Hearing, "refund": GivingBack, "close": TakingBack,
    "charge": Charging, "charge with the person": ChargingWithPerson, "charge when due": ChargingWhenDue,
}  # fmt: skip
