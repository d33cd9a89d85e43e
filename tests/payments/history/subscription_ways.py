"""Cases 68 to 87: subscriptions, and orders of several things. Each case is a method; see ``cases``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tests.payments.history.people import GaveUp, People, together
from tests.payments.history.stories import Story, order
from tests.support.stripe_control import Refused

NEWS = ["invoice.paid", "invoice.payment_failed", "customer.subscription.updated", "customer.subscription.deleted"]
CALM = {"types": [], "hold": False, "drop": False, "duplicate": 0}


class SubscriptionWays(People):
    # What all of them do.

    def subscribed(self, story: Story, elicitation: str) -> tuple[str, str]:
        """Our id of the subscription that the person pays for, and Stripe's. Raises GaveUp."""
        self.pay(story, self.to_the_page(story, elicitation))
        name = str(self.completed(story, elicitation)["subscription"])
        return name, str(self.world.sql("SELECT ref FROM elicit_flows_subscription WHERE id = %s", name)[0][0])

    def at_stripe(self, act: str, ref: str, **more: Any) -> None:
        """An order to Stripe; it may have ended there by now."""
        try:
            self.world.stripe.act(act, subscription=ref, **more)
        except Refused:
            return

    def unsubscribe(self, story: Story, name: str, at: str = "period_end") -> None:
        self.call(story, "POST", f"/v1/subscriptions/{name}/cancel", at=at)

    def at_account(self, story: Story, name: str, path: str) -> None:
        """The person sends a form of /account, with the token of the page of this subscription."""
        base = self.world.box.urls[story.second]
        self.open(f"{base}/account/payments/subscriptions/{name}")
        if "signout" not in self.user.actions():
            raise GaveUp
        self.user.form_request("signout")  # from here on the browser is on its way from this page
        token = dict(self.user.page.forms["signout"].fields)
        self.mind(self.user._go(self.user._request("POST", f"{base}/account/payments/{path}", data=token)))

    def cancel_at_account(self, story: Story, name: str) -> None:
        payment = self.world.sql("SELECT payment_id FROM elicit_flows_subscription WHERE id = %s", name)[0][0]
        self.at_account(story, name, f"{payment}/cancel")

    @contextmanager
    def news(self, **weather: Any) -> Iterator[None]:
        """Of all subscriptions, for a moment."""
        self.world.stripe.weather(types=NEWS, **weather)
        try:
            yield
        finally:
            self.world.stripe.release("lifo")
            self.world.stripe.weather(**CALM)

    # Renewals.

    def renewed_thrice(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        for _ in range(3):
            self.at_stripe("renew", ref)

    def renewals_held(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        with self.news(hold=True):
            self.at_stripe("renew", ref)
            self.at_stripe("renew", ref, outcome="fail")
            self.at_stripe("collect", ref, outcome="ok")

    def renewals_told_twice(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        with self.news(duplicate=3):
            self.at_stripe("renew", ref)
            self.at_stripe("renew", ref)

    def renewals_never_told(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        with self.news(drop=True):
            self.at_stripe("renew", ref)
            self.at_stripe("renew", ref)

    def renewal_refused_then_paid(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        self.at_stripe("renew", ref, outcome="fail")
        self.at_stripe("collect", ref, outcome="fail")
        self.at_stripe("collect", ref, outcome="ok")

    def renewal_refused_then_ended(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        self.at_stripe("renew", ref, outcome="fail")
        self.at_stripe("end", ref)

    # Its end.

    def unsubscribed_by_the_person(self, story: Story, elicitation: str) -> None:
        name, ref = self.subscribed(story, elicitation)
        self.cancel_at_account(story, name)
        self.at_stripe("renew", ref)

    def unsubscribed_by_the_agent(self, story: Story, elicitation: str) -> None:
        name, ref = self.subscribed(story, elicitation)
        self.unsubscribe(story, name)
        self.at_stripe("renew", ref)

    def ended_at_once(self, story: Story, elicitation: str) -> None:
        name, ref = self.subscribed(story, elicitation)
        self.at_stripe("renew", ref)
        self.unsubscribe(story, name, "now")

    def unsubscribed_and_kept(self, story: Story, elicitation: str) -> None:
        name, ref = self.subscribed(story, elicitation)
        self.cancel_at_account(story, name)
        self.at_account(story, name, f"subscriptions/{name}/keep")
        self.at_stripe("renew", ref)

    def unsubscribed_while_renewing(self, story: Story, elicitation: str) -> None:
        name, ref = self.subscribed(story, elicitation)
        together(lambda: self.unsubscribe(story, name), lambda: self.at_stripe("renew", ref))

    def trial_then_charged(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        self.at_stripe("renew", ref)

    def trial_and_cancelled(self, story: Story, elicitation: str) -> None:
        name, ref = self.subscribed(story, elicitation)
        self.unsubscribe(story, name)
        self.at_stripe("renew", ref)

    # What is asked again, goes back, or comes too late.

    def subscribed_twice(self, story: Story, elicitation: str) -> None:
        _, ref = self.subscribed(story, elicitation)
        self.ask_again(story)
        self.at_stripe("renew", ref)

    def first_period_refunded(self, story: Story, elicitation: str) -> None:
        self.world.stripe.refund(self.subscribed(story, elicitation)[1])

    def subscribed_while_cancelled(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        together(lambda: self.pay(story, session), lambda: self.cancel(story, elicitation))
        self.look(story, elicitation)

    # Orders.

    def ask_again(self, story: Story, **more: Any) -> str | None:
        """Another question of the same agent about the same thing."""
        return self.ask(replace(story, key=f"{story.key}-again", more=story.more | more, number=story.number + AGAIN))

    def order_with_tax(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        self.pay(story, session)
        self.paid(story, elicitation, session)

    def order_that_does_not_add_up(self, story: Story, elicitation: str) -> None:
        self.ask_in_vain(story, {**order(190), "amount": 1000})
        self.order_with_tax(story, elicitation)

    def order_with_another_tax(self, story: Story, elicitation: str) -> None:
        self.order_with_tax(story, elicitation)
        again = self.ask_again(story, **order(70))
        if again:
            self.pay(story, self.to_the_page(story, again))

    def taken_in_part(self, story: Story, elicitation: str) -> None:
        session = self.to_the_page(story, elicitation)
        self.world.stripe.bend(amount=story.amount // 2)
        try:
            self.pay(story, session)
        finally:
            self.world.stripe.bend()


AGAIN = 1_000_000  # what is added to a story's number, for another question of the same story
