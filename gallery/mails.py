"""The e-mails that the service sends, as a mail program shows them."""

from __future__ import annotations

from django.utils.translation import get_language

from elicit_flows.brands.page_brand import PageBrand
from elicit_flows.notifications.messages import CHARGE_ANNOUNCED, CHARGED, REQUESTED, worded

SITE = "https://flows.example.com"
# By their address in the gallery. Each is about something, and leads there.
MAILS = {
    "mail-a-request": (REQUESTED, f"{SITE}/c/el_Kq3v9ZtY2mXw7LpR4sNcB8dFhJ6gT1aE"),
    "mail-a-charge-announced": (CHARGE_ANNOUNCED, f"{SITE}/account/payments/mandates/ma_1"),
    "mail-charged": (CHARGED, f"{SITE}/account/payments/mandates/ma_1"),
}


TEXT = "-text"  # the end of the address of the part that is text
ADDRESSES = [f"{name}{end}" for name in MAILS for end in ("", TEXT)]


def mail(name: str, brand: PageBrand | None = None) -> dict[str, str]:
    """Its parts, in the language of the page: ``email.html`` and ``email.txt``."""
    about, url = MAILS[name]
    by = brand.name if brand else "Elicit Flows"
    return worded(about, "Travel Bot", by, url, f"{SITE}/unsubscribe/v1.Qm9i", get_language() or "en")
