"""What a message says: who asks or charges, where to answer, and how to hear no more of it. Nothing of the request
itself, no amount, and no secret: the link is worth nothing to anybody but its person (threat T160).
"""

from __future__ import annotations

from collections.abc import Sequence
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
ABOUT = REQUESTED, CHARGE_ANNOUNCED, CHARGED = "requested", "charge_announced", "charged"
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


def of_all(failures: Sequence[NotSent | Unknown]) -> NotSent | Unknown:
    """What became of a message that none of a person's addresses took: it may have been sent, else it may be tried
    again, else it was refused.
    """
    return min(failures, key=lambda one: (Unknown, NotSent, Refused).index(type(one)))


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
    unsubscribe_url = f"{settings.ELICIT_PUBLIC_URL}/unsubscribe/{token}"
    context = worded(about, shown_name(agent), brand, url, unsubscribe_url, language)
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
        body=context["message.txt"],
        text=context["email.txt"] + "\n",
        html=context["email.html"] + "\n",
        url=url,
        unsubscribe_url=unsubscribe_url,
    )


def worded(about: str, agent: str, brand: str, url: str, unsubscribe_url: str, language: str) -> dict[str, str]:
    """What is said, by the names in WORDS, and the texts that are made of it, by the names of their templates."""
    context = {
        "about": about,
        "agent": agent,
        "brand": brand,
        "url": url,
        "unsubscribe_url": unsubscribe_url,
        "language": locales.tag(language),
        "direction": "rtl" if get_language_info(language)["bidi"] else "ltr",
    }
    with override(language):
        context |= _lines(context)
        for name in ("message.txt", "email.txt"):
            context[name] = render_to_string(f"notifications/{name}", context).strip()
        # Isolates keep a name from changing the order of the words around it, as <bdi> does on pages.
        apart = {key: f"\u2068{context[key]}\u2069" for key in ("agent", "brand")}
        shown = context | _lines(context | apart)
        context["email.html"] = render_to_string("notifications/email.html", shown).strip()
    return context


def _lines(context: dict[str, str]) -> dict[str, str]:
    lines = render_to_string("notifications/words.txt", context).strip().splitlines()
    return dict(zip(WORDS, lines, strict=True))


def shown_name(agent: Agent) -> str:
    return one_line(agent.name)[:MAX_NAME]


def one_line(words: str) -> str:
    """Without line breaks, which would begin another header, and without what cannot be seen (threat T162)."""
    return " ".join(text.visible(words).split())
