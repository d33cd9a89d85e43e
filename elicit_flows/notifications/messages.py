"""What a message says: who asks or charges, where to answer, and how to hear no more of it. Nothing of the request
itself, no amount, and no secret: the link is worth nothing to anybody but its person (threat T160).
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import get_language_info, override

from elicit_flows import vault
from elicit_flows.brands import page_brand
from elicit_flows.domain.values import Claim
from elicit_flows.lib import locales, text
from elicit_flows.models import Agent, Notification
from elicit_flows.people import contacts

MAX_NAME = 100
# What a message is about: a request waits, a charge is made in a day, a charge was made.
REQUESTED, CHARGE_ANNOUNCED, CHARGED = "requested", "charge_announced", "charged"
# What notifications/words.txt says, a line each.
WORDS = ("subject", "what", "button", "sign_in", "why")


class NotSent(Exception):
    """It was not sent, and may be tried again. ``str`` says why, in one line for the log, without an address."""


class Refused(NotSent):
    """It was not sent, and another try would end in the same way."""


class NoAddress(Exception):
    """The channel has no address of this person."""


class Unknown(Exception):
    """The connection broke off: it may have been sent."""


@dataclass(frozen=True, slots=True)
class Message:
    """``about``: REQUESTED, CHARGE_ANNOUNCED or CHARGED. ``body``: who asks and the link; ``text`` has what an e-mail
    says besides, and ``html`` is a whole page.
    """

    name: str
    about: str
    claim: Claim
    agent: str
    agent_slug: str
    brand: str
    language: str
    direction: str
    subject: str
    body: str
    text: str
    html: str
    url: str
    unsubscribe_url: str


def compose(row: Notification) -> Message:
    """The message in the person's language. ``row`` has its elicitation or charge, and its agent."""
    elicitation, charge, agent, claim = row.elicitation, row.charge, row.agent, row.claim
    about, url = REQUESTED, elicitation.url if elicitation else ""
    if charge is not None:
        about = CHARGE_ANNOUNCED if charge.mandate.notice else CHARGED
        url = f"{settings.ELICIT_PUBLIC_URL}/account/payments/mandates/{charge.mandate_id}"
    language = contacts.language(claim, elicitation.locale if elicitation else None)
    brand = one_line(page_brand.of(agent.pk).name)
    token = vault.contacts.seal_unsubscribe(contacts.person_of(claim), agent.pk)
    context = {
        "about": about,
        "agent": shown_name(agent),
        "brand": brand,
        "url": url,
        "unsubscribe_url": f"{settings.ELICIT_PUBLIC_URL}/unsubscribe/{token}",
        "language": locales.tag(language),
        "direction": "rtl" if get_language_info(language)["bidi"] else "ltr",
    }
    with override(language):
        lines = render_to_string("notifications/words.txt", context).strip().splitlines()
        context |= zip(WORDS, lines, strict=True)
        said = {
            name: render_to_string(f"notifications/{name}", context).strip()
            for name in ("message.txt", "email.txt", "email.html")
        }
    return Message(
        name=row.pk,
        about=about,
        claim=claim,
        agent=context["agent"],
        agent_slug=agent.slug,
        brand=brand,
        language=context["language"],
        direction=context["direction"],
        subject=one_line(context["subject"]),
        body=said["message.txt"],
        text=said["email.txt"] + "\n",
        html=said["email.html"] + "\n",
        url=context["url"],
        unsubscribe_url=context["unsubscribe_url"],
    )


def shown_name(agent: Agent) -> str:
    return one_line(agent.name)[:MAX_NAME]


def one_line(words: str) -> str:
    """Without line breaks, which would begin another header, and without what cannot be seen (threat T162)."""
    return " ".join(text.visible(words).split())
