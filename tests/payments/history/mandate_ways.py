"""Cases 36 to 67: a person gives a mandate, and the agent charges under it. Each case is a method; see ``cases``."""

from __future__ import annotations

import time
from functools import partial
from random import Random

from tests.payments.history.checker import TERMINAL, Json
from tests.payments.history.people import TOLD_WITHIN, TRIES, GaveUp, People, together
from tests.payments.history.stories import Story
from tests.payments.history.world import LONG_AGO
from tests.support.stripe_control import Refused

REFUSED = {403, 409, 422}


class MandateWays(People):
    # What all of them do.

    def given(self, story: Story, elicitation: str) -> str:
        """The id of the mandate that the person gives. Raises GaveUp."""
        self.pay(story, self.to_the_page(story, elicitation))
        return str(self.completed(story, elicitation)["mandate"])

    def charge(self, story: Story, mandate: str, amount: int, name: str, item: str | None = None) -> str | None:
        """The id of the charge; None if it is refused."""
        began, key = self.world.book.now, f"{mandate}-{name}"
        body: Json = {"amount": amount, "description": f"Ticket {story.number} {name}", "item": item}
        answer = self.call(story, "POST", f"/v1/mandates/{mandate}/charges", key, **body)
        assert answer.status_code in {200, 201} | REFUSED, answer.text
        made = str(answer.json()["id"]) if answer.is_success else None
        told = {"agent": self.world.slugs[story.agent], "mandate": mandate, "key": key, "amount": amount}
        self.world.book.write("ordered", began=began, status=answer.status_code, charge=made, **told)
        return made

    def look_at_charge(self, story: Story, mandate: str, charge: str | None) -> Json:
        """As it stands once it is no longer on its way, or after a while."""
        if charge is None:
            raise GaveUp
        found: Json = {}
        for _ in range(TRIES):
            found = self.call(story, "GET", f"/v1/mandates/{mandate}/charges/{charge}").json()
            if found["status"] != "processing":
                break
            time.sleep(0.3)
        return found

    def bank_says(self, mandate: str, outcome: str) -> None:
        """What becomes of the charges of its saved method from now on."""
        ref = self.world.sql("SELECT method_ref FROM elicit_flows_mandate WHERE id = %s", mandate)[0][0]
        self.world.stripe.act("saved_method", payment_method=ref, outcome=outcome)

    def ref_of(self, story: Story, mandate: str, charge: str | None) -> str:
        """Stripe's id of the charge, once there is one. Raises GaveUp."""
        payment = self.look_at_charge(story, mandate, charge).get("payment")
        found = self.world.sql("SELECT ref FROM elicit_flows_checkout WHERE payment_id = %s", payment)
        if not found or not found[0][0]:
            raise GaveUp
        return str(found[0][0])

    def at_mandate(self, story: Story, mandate: str, action: str, **fields: str) -> None:
        """The person presses a button of the mandate's page. Raises GaveUp where there is none."""
        self.open(f"{self.world.box.urls[story.second]}/account/payments/mandates/{mandate}")
        if action not in self.user.actions():
            raise GaveUp
        answer = self.user.press(action, **fields)
        self.mind(answer)
        if f"done={'lowered' if action == 'lower' else 'ended'}" not in str(answer.url):
            return
        if action == "lower":
            limits = {name: round(float(text) * 100) for name, text in fields.items()}
            self.world.book.write("lowered", mandate=mandate, limits=limits)
        elif action == "end":
            self.world.book.write("stopped", mandate=mandate)

    def end(self, story: Story, mandate: str) -> None:
        answer = self.call(story, "POST", f"/v1/mandates/{mandate}/end")
        if answer.is_success:
            self.world.book.write("stopped", mandate=mandate)

    # Limits and keys.

    def charged_to_the_cent(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        for name, amount in (("one", 2000), ("two", 1999), ("three", 1002), ("four", 1001), ("five", 100)):
            self.charge(story, mandate, amount, name)

    def charged_too_much(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        self.charge(story, mandate, 2001, "much")
        self.charge(story, mandate, 2000, "less")

    def day_is_used_up(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        for name in ("one", "two", "three"):
            self.charge(story, mandate, 1400, name)

    def six_at_once(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        names = ("one", "two", "three", "four", "five", "six")
        together(*[partial(self.charge, story, mandate, 1900, name, f"seat-{name}-{mandate}") for name in names])

    def same_key_at_once(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        together(*[partial(self.charge, story, mandate, 1900, "same")] * 4)

    def key_of_another_charge(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        for amount in (1000, 1001, 1000):
            self.charge(story, mandate, amount, "key")

    # What the bank says.

    def refused_by(self, story: Story, elicitation: str, outcome: str) -> str:
        """The mandate, after a charge that the bank did not make."""
        mandate = self.given(story, elicitation)
        self.bank_says(mandate, outcome)
        self.look_at_charge(story, mandate, self.charge(story, mandate, 2000, "refused", f"seat-a-{mandate}"))
        self.bank_says(mandate, "ok")
        return mandate

    def charge_declined(self, story: Story, elicitation: str) -> None:
        mandate = self.refused_by(story, elicitation, "declined")
        self.charge(story, mandate, 2000, "again", f"seat-b-{mandate}")
        self.charge(story, mandate, 2000, "refused", f"seat-a-{mandate}")

    def charge_without_funds(self, story: Story, elicitation: str) -> None:
        self.charge(story, self.refused_by(story, elicitation, "insufficient_funds"), 2000, "again")

    def link_of(self, story: Story, elicitation: str, outcome: str = "authentication_required") -> tuple[str, str]:
        """The mandate, and the elicitation that its person is sent. Raises GaveUp."""
        mandate = self.given(story, elicitation)
        self.bank_says(mandate, outcome)
        charge = self.charge(story, mandate, 2000, "sca", f"seat-{mandate}")
        found = self.look_at_charge(story, mandate, charge)
        if not found["elicitation"]:
            raise GaveUp
        self.bank_says(mandate, "ok")
        return mandate, str(found["elicitation"])

    def bank_wants_the_person(self, story: Story, elicitation: str) -> None:
        mandate, link = self.link_of(story, elicitation)
        self.charge(story, mandate, 2000, "sca", f"seat-{mandate}")
        self.pay(story, self.to_the_page(story, link))

    def bank_stops_halfway(self, story: Story, elicitation: str) -> None:
        _, link = self.link_of(story, elicitation, "requires_action")
        self.pay(story, self.to_the_page(story, link))

    def person_does_not_come(self, story: Story, elicitation: str) -> None:
        mandate, link = self.link_of(story, elicitation)
        self.cancel(story, link)
        self.charge(story, mandate, 2000, "after")

    def person_declines_the_link(self, story: Story, elicitation: str) -> None:
        mandate, link = self.link_of(story, elicitation)
        self.decline(story, link)
        self.charge(story, mandate, 2000, "after")

    def link_cancelled_while_paying(self, story: Story, elicitation: str) -> None:
        mandate, link = self.link_of(story, elicitation)
        session = self.to_the_page(story, link)
        together(lambda: self.pay(story, session), lambda: self.cancel(story, link))
        self.charge(story, mandate, 2000, "after")

    def bank_refuses_the_person(self, story: Story, elicitation: str) -> None:
        _, link = self.link_of(story, elicitation)
        session = self.to_the_page(story, link)
        self.world.stripe.press(session, "pay_declined")
        self.pay(story, session)

    def on_its_way(self, story: Story, elicitation: str, outcome: str) -> None:
        mandate = self.given(story, elicitation)
        self.bank_says(mandate, "processing")
        try:
            charge = self.charge(story, mandate, 2000, "late", f"seat-{mandate}")
        finally:
            self.bank_says(mandate, "ok")  # one that is made later, of which nobody would know that it is on its way
        ref = self.ref_of(story, mandate, charge)
        try:
            self.world.stripe.act("settle_charge", payment_intent=ref, outcome=outcome)
        except Refused:
            return

    def charge_arrives_later(self, story: Story, elicitation: str) -> None:
        self.on_its_way(story, elicitation, "ok")

    def charge_fails_later(self, story: Story, elicitation: str) -> None:
        self.on_its_way(story, elicitation, "fail")

    # What the person takes back.

    def lowered_then_charged(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        self.charge(story, mandate, 1500, "one")
        self.at_mandate(story, mandate, "lower", per_charge="10.50", total="16.00")
        for name, amount in (("two", 1051), ("three", 101), ("four", 100)):
            self.charge(story, mandate, amount, name)

    def lowered_while_charging(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        calls = [partial(self.charge, story, mandate, 1900, name) for name in ("one", "two")]
        together(*calls, lambda: self.at_mandate(story, mandate, "lower", per_charge="19.00", total="20.00"))
        self.charge(story, mandate, 200, "three")

    def ended_by_the_person(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        self.charge(story, mandate, 500, "one")
        self.at_mandate(story, mandate, "end")
        self.charge(story, mandate, 500, "two")

    def ended_by_the_agent(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        self.charge(story, mandate, 500, "one")
        self.end(story, mandate)
        self.charge(story, mandate, 500, "two")

    def ended_while_charging(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        calls = [partial(self.charge, story, mandate, 900, name) for name in ("one", "two")]
        together(*calls, lambda: self.at_mandate(story, mandate, "end"))
        self.charge(story, mandate, 900, "three")

    def time_is_over(self, story: Story, elicitation: str) -> None:
        mandate = self.given(story, elicitation)
        self.charge(story, mandate, 500, "one")
        self.world.sql("UPDATE elicit_flows_mandate SET until = %s WHERE id = %s", LONG_AGO, mandate)
        self.world.book.write("stopped", mandate=mandate)
        self.charge(story, mandate, 500, "two")

    # Announced charges. The fault ``time`` may have made one before the person looks.

    def announced(self, story: Story, elicitation: str) -> str:
        mandate = self.given(story, elicitation)
        for name in ("one", "two"):
            self.charge(story, mandate, 2000, name, f"seat-{name}-{mandate}")
        return mandate

    def announced_and_refused(self, story: Story, elicitation: str) -> None:
        self.at_mandate(story, self.announced(story, elicitation), "refuse")

    def announced_and_made(self, story: Story, elicitation: str) -> None:
        self.announced(story, elicitation)

    def announced_and_ended(self, story: Story, elicitation: str) -> None:
        self.end(story, self.announced(story, elicitation))

    def announced_and_lowered(self, story: Story, elicitation: str) -> None:
        self.at_mandate(story, self.announced(story, elicitation), "lower", per_charge="19.99")

    # What comes of the money.

    def paid_charge(self, story: Story, elicitation: str) -> tuple[str, str]:
        """The payment and Stripe's id of a charge that was made. Raises GaveUp."""
        mandate = self.given(story, elicitation)
        charge = self.charge(story, mandate, 1500, "one", f"seat-{mandate}")
        found = self.look_at_charge(story, mandate, charge)
        if found["status"] != "paid":
            raise GaveUp
        return str(found["payment"]), self.ref_of(story, mandate, charge)

    def charge_given_back(self, story: Story, elicitation: str) -> None:
        payment, _ = self.paid_charge(story, elicitation)
        self.give_back(story, payment, None, "all")

    def charge_given_back_in_parts(self, story: Story, elicitation: str) -> None:
        payment, _ = self.paid_charge(story, elicitation)
        together(*[partial(self.give_back, story, payment, 1000, name) for name in ("a", "b")])

    def charge_refunded_at_dashboard(self, story: Story, elicitation: str) -> None:
        self.world.stripe.refund(self.paid_charge(story, elicitation)[1], 400)

    def charge_disputed(self, story: Story, elicitation: str) -> None:
        ref = self.paid_charge(story, elicitation)[1]
        self.world.stripe.dispute(ref)
        outcome = Random(elicitation).choice(["open", "won", "lost"])
        if outcome != "open":
            self.world.stripe.dispute(ref, outcome)  # type: ignore[arg-type]

    # The yes itself.

    def mandate_declined(self, story: Story, elicitation: str) -> None:
        self.decline(story, elicitation)

    def mandate_given_too_late(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        together(lambda: self.pay(story, session), lambda: self.cancel(story, elicitation))
        seen = self.look(story, elicitation, wait=TOLD_WITHIN)
        if seen["status"] in TERMINAL and seen["result"]:
            self.charge(story, seen["result"]["mandate"], 500, "one")
