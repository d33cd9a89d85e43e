"""Playing a story: what the user, the agent and the bank do with one payment, each way a method."""

from __future__ import annotations

import httpx2

from tests.payments.history.checker import TERMINAL
from tests.payments.history.mandate_ways import MandateWays
from tests.payments.history.people import TOLD_WITHIN, GaveUp, Paid, People, together
from tests.payments.history.stories import Story
from tests.payments.history.subscription_ways import SubscriptionWays
from tests.payments.history.world import LONG_AGO
from tests.support.stripe_control import Refused


class Afterwards(People):
    """What becomes of the money."""

    def go_on(self, paid: Paid) -> None:
        story = paid.story
        try:
            seen = self.look(story, paid.elicitation, wait=TOLD_WITHIN)
            if seen["status"] not in TERMINAL or not seen["result"]:
                return
            getattr(self, story.later)(story, seen["result"]["payment"], paid.session)
        except (GaveUp, Refused, httpx2.TransportError):
            return

    def all_back(self, story: Story, payment: str, session: str) -> None:
        self.give_back(story, payment, None, "all")

    def part_back(self, story: Story, payment: str, session: str) -> None:
        self.give_back(story, payment, story.amount // 3, "part")

    def all_back_twice_at_once(self, story: Story, payment: str, session: str) -> None:
        together(*[lambda: self.give_back(story, payment, None, "all")] * 2)

    def two_parts_at_once(self, story: Story, payment: str, session: str) -> None:
        """More than there is, if both were taken."""
        parts = [lambda name=name: self.give_back(story, payment, story.amount * 2 // 3, name) for name in ("a", "b")]
        together(*parts)

    def dashboard_all(self, story: Story, payment: str, session: str) -> None:
        self.world.stripe.refund(session)

    def dashboard_part(self, story: Story, payment: str, session: str) -> None:
        self.world.stripe.refund(session, story.amount // 4)

    def dashboard_and_agent_at_once(self, story: Story, payment: str, session: str) -> None:
        together(lambda: self.give_back(story, payment, None, "all"), lambda: self.at_dashboard(session))

    def at_dashboard(self, session: str) -> None:
        try:
            self.world.stripe.refund(session)
        except Refused:
            return

    def dashboard_pending_then_done(self, story: Story, payment: str, session: str) -> None:
        refund = self.world.stripe.refund(session, story.amount // 2, pending=True)
        self.world.stripe.refund_outcome(refund["id"], "done")

    def dashboard_pending_then_failed(self, story: Story, payment: str, session: str) -> None:
        refund = self.world.stripe.refund(session, story.amount // 2, pending=True)
        self.world.stripe.refund_outcome(refund["id"], "failed")

    def dispute(self, story: Story, payment: str, session: str) -> None:
        self.world.stripe.dispute(session)

    def dispute_won(self, story: Story, payment: str, session: str) -> None:
        self.world.stripe.dispute(session)
        self.world.stripe.dispute(session, "won")

    def dispute_lost(self, story: Story, payment: str, session: str) -> None:
        self.world.stripe.dispute(session)
        self.world.stripe.dispute(session, "lost")


class Player(Afterwards, MandateWays, SubscriptionWays):
    """The first part of each story."""

    def play(self, story: Story) -> None:
        try:
            if story.asks_again:
                together(lambda: self.ask(story), lambda: self.ask(story))
            elicitation = self.ask(story)
            if elicitation:
                getattr(self, story.way)(story, elicitation)
        except (GaveUp, Refused, httpx2.TransportError):
            return

    def card(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        self.pay(story, session)
        self.paid(story, elicitation, session)

    def declined_card_then_card(self, story: Story, elicitation: str) -> None:
        self.world.stripe.press(self.to_the_page(story, elicitation), "pay_declined")
        self.card(story, elicitation)

    def three_d_secure(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        self.pay(story, session, "pay_3ds")
        self.pay(story, session, "complete_3ds")
        self.paid(story, elicitation, session)

    def in_flight(self, story: Story, elicitation: str) -> str:
        session = self.to_the_page(story, elicitation)
        self.pay(story, session, "pay_bank")
        return session

    def bank(self, story: Story, elicitation: str) -> None:
        session = self.in_flight(story, elicitation)
        self.settle(session, "ok")
        self.paid(story, elicitation, session)

    def bank_fails(self, story: Story, elicitation: str) -> None:
        self.settle(self.in_flight(story, elicitation), "fail")

    def bank_fails_then_card(self, story: Story, elicitation: str) -> None:
        self.bank_fails(story, elicitation)
        self.card(story, elicitation)

    def settle(self, session: str, outcome: str) -> None:
        """The bank may not have heard of it: the user came to a page that was over."""
        try:
            self.world.stripe.act("settle", session=session, outcome=outcome)
        except Refused:
            return

    def goes_back_then_card(self, story: Story, elicitation: str) -> None:
        self.pay(story, self.to_the_page(story, elicitation), "back")
        self.card(story, elicitation)

    def page_expires_then_card(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        try:
            self.world.stripe.expire(session)
        except Refused:
            return
        self.card(story, elicitation)

    def two_tabs(self, story: Story, elicitation: str) -> None:
        """The same button twice at the same moment, then the same page twice."""
        self.open(f"{self.world.box.urls[story.second]}/c/{elicitation}")
        if "continue" in self.user.actions():
            self.user.at_once(self.user.form_request("continue"), 2)
        session = self.to_the_page(story, elicitation)
        together(lambda: self.pay(story, session), lambda: self.world.stripe.press(session, "pay"))
        self.paid(story, elicitation, session)

    def leaves_the_page(self, story: Story, elicitation: str) -> None:
        self.to_the_page(story, elicitation)

    def never_opens(self, story: Story, elicitation: str) -> None:
        self.look(story, elicitation)

    def declines(self, story: Story, elicitation: str) -> None:
        self.decline(story, elicitation)

    def declines_while_paying(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        together(lambda: self.decline(story, elicitation), lambda: self.world.stripe.press(session, "pay"))

    def cancelled_before(self, story: Story, elicitation: str) -> None:
        self.cancel(story, elicitation)
        self.look(story, elicitation)

    def cancelled_at_the_page(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        self.cancel(story, elicitation)
        if story.number % 2:
            self.pay(story, session)

    def cancelled_while_paying(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        together(lambda: self.pay(story, session), lambda: self.cancel(story, elicitation))
        self.look(story, elicitation)

    def cancelled_before_the_bank_says(self, story: Story, elicitation: str) -> None:
        session = self.in_flight(story, elicitation)
        together(lambda: self.cancel(story, elicitation), lambda: self.settle(session, "ok"))

    def run_out(self, elicitation: str) -> None:
        self.world.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", LONG_AGO, elicitation)
        about = "payment_id IN (SELECT id FROM elicit_flows_payment WHERE elicitation_id = %s)"
        self.world.sql(
            f"UPDATE elicit_flows_checkout SET look_at = now() WHERE look_at > now() AND {about}", elicitation
        )

    def time_runs_out_at_the_page(self, story: Story, elicitation: str) -> None:
        self.to_the_page(story, elicitation)
        self.run_out(elicitation)
        self.look(story, elicitation)

    def time_runs_out_while_paying(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        together(lambda: self.pay(story, session), lambda: self.run_out(elicitation))
        self.look(story, elicitation)
