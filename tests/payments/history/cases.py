"""What a history shows beside the thirty-five cases of a payment: mandates, subscriptions and orders.

The number of each case, the method that plays it (of ``MandateWays``, ``SubscriptionWays`` or ``OrderWays``), and what
happens. Each is met by the faults of ``nemesis``; what must hold is in ``checker``, ``mandate_rules`` and
``subscription_rules``.

    36 charged_to_the_cent             until nothing is left; a cent more is refused
    37 charged_too_much                more than the person allowed per charge
    38 day_is_used_up                  the limit of a day before that of all
    39 six_at_once                     of six callers at two processes at most two have room
    40 same_key_at_once                four callers with one key
    41 key_of_another_charge           a key that is used for another amount
    42 charge_declined                 the bank refuses; the room is free again, under a new key
    43 charge_without_funds            and of another reason
    44 bank_wants_the_person           SCA: the person pays this one charge by a link
    45 bank_stops_halfway              SCA: the bank asks for more in the middle, what was begun is cancelled
    46 person_does_not_come            SCA: nobody opens the link
    47 person_declines_the_link        SCA: the person says no
    48 link_cancelled_while_paying     SCA: the agent takes the link back at that moment
    49 bank_refuses_the_person         SCA: the card is declined on the page first
    50 charge_arrives_later            a charge that is on its way, and arrives
    51 charge_fails_later              and one that does not
    52 lowered_then_charged            the person lowers the limits; the next charge is beyond them
    53 lowered_while_charging          at the same moment
    54 ended_by_the_person             and charged after that
    55 ended_by_the_agent              the same
    56 ended_while_charging            at the same moment
    57 time_is_over                    the last day of the mandate has passed
    58 announced_and_refused           the person refuses one of two announced charges
    59 announced_and_made              nobody refuses it
    60 announced_and_ended             the mandate is ended before it is due
    61 announced_and_lowered           it is beyond the limits when it is due
    62 charge_given_back               in full: what was paid for is revoked, and the room stays used
    63 charge_given_back_in_parts      two parts at once, more than there is
    64 charge_refunded_at_dashboard    a part, by the operator
    65 charge_disputed                 open, won or lost
    66 mandate_declined                the person does not agree
    67 mandate_given_too_late          the agent takes the question back while the person agrees
    68 renewed_thrice                  three periods
    69 renewals_held                   their news comes later, the last first
    70 renewals_told_twice             and three times
    71 renewals_never_told             no webhook comes
    72 renewal_refused_then_paid       past due, refused again, paid
    73 renewal_refused_then_ended      past due, and the provider gives up
    74 unsubscribed_by_the_person      it ends with the period
    75 unsubscribed_by_the_agent       the same
    76 ended_at_once                   by the agent
    77 unsubscribed_and_kept           the person changes their mind, and it is renewed
    78 unsubscribed_while_renewing     at the same moment
    79 trial_then_charged              the first charge comes after the trial
    80 trial_and_cancelled             nothing is ever charged
    81 subscribed_twice                the agent asks again for what the person has
    82 first_period_refunded           by the operator
    83 subscribed_while_cancelled      the agent takes the question back while the person pays
    84 order_with_tax                  lines and tax add up to what is taken
    85 order_that_does_not_add_up      it is refused before anybody is asked
    86 order_with_another_tax          what was paid with the old tax does not answer it
    87 taken_in_part                   the provider takes less than was asked
"""

from __future__ import annotations

from typing import Any

# With the limits that are not the usual ones.
MANDATES: dict[str, dict[str, Any]] = {
    "charged_to_the_cent": {},
    "charged_too_much": {},
    "day_is_used_up": {"per_day": 3000, "per_month": 4000},
    "six_at_once": {},
    "same_key_at_once": {},
    "key_of_another_charge": {},
    "charge_declined": {"total": 2000},
    "charge_without_funds": {"total": 2000},
    "bank_wants_the_person": {},
    "bank_stops_halfway": {},
    "person_does_not_come": {"total": 2000},
    "person_declines_the_link": {"total": 2000},
    "link_cancelled_while_paying": {"total": 2000},
    "bank_refuses_the_person": {},
    "charge_arrives_later": {},
    "charge_fails_later": {},
    "lowered_then_charged": {},
    "lowered_while_charging": {},
    "ended_by_the_person": {},
    "ended_by_the_agent": {},
    "ended_while_charging": {},
    "time_is_over": {},
    "announced_and_refused": {"notice": "before"},
    "announced_and_made": {"notice": "before"},
    "announced_and_ended": {"notice": "before"},
    "announced_and_lowered": {"notice": "before"},
    "charge_given_back": {},
    "charge_given_back_in_parts": {},
    "charge_refunded_at_dashboard": {},
    "charge_disputed": {},
    "mandate_declined": {},
    "mandate_given_too_late": {},
}
SUBSCRIPTIONS = (
    *("renewed_thrice", "renewals_held", "renewals_told_twice", "renewals_never_told", "renewal_refused_then_paid"),
    *("renewal_refused_then_ended", "unsubscribed_by_the_person", "unsubscribed_by_the_agent", "ended_at_once"),
    *("unsubscribed_and_kept", "unsubscribed_while_renewing", "trial_then_charged", "trial_and_cancelled"),
    *("subscribed_twice", "first_period_refunded", "subscribed_while_cancelled"),
)
ORDERS = ("order_with_tax", "order_that_does_not_add_up", "order_with_another_tax", "taken_in_part")
