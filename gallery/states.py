"""Every page in every state: the template, what the page calls itself, and its context."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.utils.translation import gettext

from elicit_flows.domain.status import Status
from elicit_flows.lib import clock
from gallery.account import (
    account_page,
    activity_page,
    answered_page,
    authorizations,
    calls_page,
    connection_page,
    delete_page,
    ended_page,
    found_page,
    just_ended,
    mandate_page,
    mandates,
    passkeys_page,
    past_page,
    payments,
    payments_page,
    requests_page,
    security_page,
    sessions,
    subscription_page,
    told_page,
    untold,
)
from gallery.answering import (
    OWN_ANSWERS,
    QUESTIONS,
    confirm_page,
    credentials_page,
    form_page,
    provider_off,
    provider_page,
    refused_credentials,
    tokens_page,
    wrong_form_page,
    x402_page,
)
from gallery.asking import (
    CHOICES,
    ORDER,
    TAX_LATER,
    changed_page,
    code_to_type,
    device_page,
    link_page,
    mcp_page,
    other_device,
    payment_page,
    request_page,
    shop_page,
    steps,
    unnamed_page,
    which_page,
    yours_page,
)
from gallery.everywhere import Context, everywhere
from gallery.others import catalogue_page, code_page, docs_page, passkey_page, refused_page, unsubscribe_page
from gallery.outcomes import connected_page, late_page, outcome_page, payment_outcome_page, unavailable_page

# Django's own errors, which may be rendered without the context of the other pages.
BARE = ["400.html", "403.html", "403_csrf.html", "404.html", "500.html"]


def to_start_again() -> Context:
    return {**outcome_page("started"), "why": gettext("The time for it ran out.")}


def wrong_shop() -> Context:
    said = gettext("This does not look right. Write it like this: %(example)s") % {"example": "example-shop"}
    return shop_page(faults={"variable.shop": said})


PAGES: dict[str, tuple[str, str, Callable[[], Context]]] = {
    "sign-in": ("connect/signin.html", "signin", request_page),
    "sign-in with a choice": ("connect/signin.html", "signin", lambda: {**request_page(), "choices": CHOICES}),
    "consent": ("connect/consent.html", "consent", request_page),
    "consent, a step": ("connect/consent.html", "consent", lambda: {**request_page(), "steps": steps()}),
    "consent by a code": ("connect/consent.html", "consent", device_page),
    "consent for an MCP server": ("connect/consent.html", "consent", mcp_page),
    "consent for an MCP server, not asked yet": ("connect/consent.html", "consent", lambda: mcp_page(found=False)),
    "consent with a field": ("connect/consent.html", "consent", shop_page),
    "consent with a field, refused": ("connect/consent.html", "consent", wrong_shop),
    "code to type": ("connect/device.html", "device", code_to_type),
    "other device": ("connect/other_device.html", "other_device", other_device),
    "other device, with a code": ("connect/other_device.html", "other_device", lambda: other_device(made=True)),
    "confirm": ("connect/form.html", "form", confirm_page),
    "confirm, a step": ("connect/form.html", "form", lambda: confirm_page(steps=steps())),
    "confirm, refused": (
        "connect/form.html",
        "form",
        lambda: confirm_page(faults={"typed": gettext("Type %(word)s to confirm.") % {"word": "CONFIRM"}}),
    ),
    "credentials": ("connect/form.html", "form", credentials_page),
    "credentials of a provider": ("connect/form.html", "form", provider_page),
    "a client of one's own": ("connect/form.html", "form", tokens_page),
    "credentials of a provider that is off": ("connect/form.html", "form", provider_off),
    "credentials, refused": ("connect/form.html", "form", refused_credentials),
    "x402": ("connect/form.html", "form", x402_page),
    "form": ("connect/form.html", "form", form_page),
    "form, own answers": ("connect/form.html", "form", lambda: form_page({"questions": OWN_ANSWERS})),
    "form, refused": ("connect/form.html", "form", wrong_form_page),
    "form, shared": ("connect/form.html", "form", lambda: form_page({"schema": QUESTIONS, "shared": True})),
    "unavailable": ("connect/unavailable.html", "refused", unavailable_page),
    "unavailable, asked here": ("connect/unavailable.html", "refused", lambda: unavailable_page(continue_url="")),
    "connected": ("connect/done.html", "done", connected_page),
    "answered before": ("connect/done.html", "done", lambda: late_page("completed")),
    "declined before": ("connect/done.html", "done", lambda: late_page("declined")),
    "declined days before": ("connect/done.html", "done", lambda: late_page("declined", days=2)),
    "link": ("connect/consent.html", "consent", link_page),
    "payment": ("connect/consent.html", "consent", payment_page),
    "payment, nothing paid": ("connect/consent.html", "consent", lambda: payment_page(came_back=True)),
    "payment, an order": ("connect/consent.html", "consent", lambda: payment_page(order=ORDER)),
    "payment, tax by the provider": ("connect/consent.html", "consent", lambda: payment_page(order=TAX_LATER)),
    "save": ("connect/consent.html", "consent", lambda: payment_page("save")),
    "mandate": ("connect/consent.html", "consent", lambda: payment_page("mandate")),
    "mandate, announced": ("connect/consent.html", "consent", lambda: payment_page("mandate", notice="before")),
    **{
        f"subscribe, {interval}": ("connect/consent.html", "consent", partial(payment_page, "subscribe", interval))
        for interval in ("day", "week", "month", "year")
    },
    **{
        f"another price, {interval}": (
            "connect/consent.html",
            "consent",
            partial(payment_page, "subscribe", interval, change=True),
        )
        for interval in ("day", "week", "month", "year")
    },
    "subscribe, a trial": ("connect/consent.html", "consent", lambda: payment_page("subscribe", "month", trial=True)),
    "another account": ("connect/changed.html", "account_changed", changed_page),
    "another account, a step": ("connect/changed.html", "account_changed", lambda: changed_page(steps=steps())),
    "own account": ("connect/yours.html", "account_yours", yours_page),
    "own account, unnamed": ("connect/yours.html", "account_yours", unnamed_page),
    "which account": ("connect/which.html", "account_unknown", lambda: which_page(1)),
    "which account, named by now, a step": (
        "connect/which.html",
        "account_unknown",
        lambda: which_page(1, "bob", steps=steps()),
    ),
    "which account of several": ("connect/which.html", "account_unknown", lambda: which_page(3)),
    "which account, the other one gone": ("connect/which.html", "account_unknown", lambda: which_page(0)),
    "mismatch": ("connect/mismatch.html", "mismatch", request_page),
    **{f"done, {status}": ("connect/done.html", "done", partial(outcome_page, status)) for status in map(str, Status)},
    "done, said no": ("connect/done.html", "done", lambda: outcome_page("declined", "confirm")),
    "done, a form declined": ("connect/done.html", "done", lambda: outcome_page("declined", "form")),
    "done, to start again": ("connect/done.html", "done", to_start_again),
    **{
        f"payment, {status}": ("connect/done.html", "done", partial(payment_outcome_page, status))
        for status in map(str, Status)
    },
    **{
        f"another price, {status}": (
            "connect/done.html",
            "done",
            partial(payment_outcome_page, status, "subscribe", changes="su_1"),
        )
        for status in ("completed", "declined", "settling", "failed")
    },
    "payment, an order paid": ("connect/done.html", "done", lambda: payment_outcome_page(order=ORDER)),
    "refused": ("refused.html", "refused", refused_page),
    **{name: (name, "refused", dict) for name in BARE},
    "unsubscribe": ("unsubscribe.html", "unsubscribe", unsubscribe_page),
    "unsubscribe, an agent that is gone": (
        "unsubscribe.html",
        "unsubscribe",
        lambda: unsubscribe_page(agent_name=""),
    ),
    "unsubscribe, one agent, done": ("unsubscribe.html", "unsubscribe", lambda: unsubscribe_page(done="agent")),
    "unsubscribe, all, done": ("unsubscribe.html", "unsubscribe", lambda: unsubscribe_page(done="all")),
    "invitation": ("connect/invitation.html", "invitation", everywhere),
    "passkey, to sign in": ("connect/passkey.html", "passkey", passkey_page),
    "passkey, to create": ("connect/passkey.html", "passkey", lambda: passkey_page("create")),
    "passkeys": ("account/passkeys.html", "passkeys", passkeys_page),
    "home": ("home.html", "home", everywhere),
    "code": ("code.html", "code", code_page),
    "catalogue": ("catalogue.html", "catalogue", catalogue_page),
    "account": ("account/connections.html", "account", account_page),
    "account, empty": (
        "account/connections.html",
        "account",
        lambda: account_page() | {"providers": [], "held": {"agents": 0, "accounts": 0}, "waiting": 0},
    ),
    "account, found": ("account/connections.html", "account", found_page),
    "account, nothing found": ("account/connections.html", "account", lambda: found_page(providers=[], more_url="")),
    "account, disconnected": ("account/connections.html", "account", just_ended),
    "account, disconnected untold": ("account/connections.html", "account", lambda: just_ended(**untold())),
    "account, all of an agent": ("account/connections.html", "account", lambda: just_ended(all_of="agent")),
    "account, all at a provider": ("account/connections.html", "account", lambda: just_ended(all_of="provider")),
    "account, being deleted": (
        "account/connections.html",
        "account",
        lambda: account_page() | {"providers": [], "erasing": {"asked_at": clock.now()}},
    ),
    "past": ("account/ended.html", "account", past_page),
    "requests": ("account/requests.html", "account", requests_page),
    "requests, answered": ("account/requests.html", "account", answered_page),
    "requests, none": ("account/requests.html", "account", lambda: requests_page() | {"requests": [], "waiting": 0}),
    "payments": ("account/payments.html", "account", payments_page),
    "payments, none": ("account/payments.html", "account", lambda: payments_page(payments=[])),
    "payments, one cancelled": ("account/payments.html", "account", lambda: payments_page(just_ended=payments()[8])),
    "payments, one replaced": (
        "account/payments.html",
        "account",
        lambda: payments_page(just_replaced=payments()[4]),
    ),
    "payments, one removed": ("account/payments.html", "account", lambda: payments_page(just_ended=payments()[9])),
    "one subscription": ("account/subscription.html", "account", subscription_page),
    "one subscription, refused": ("account/subscription.html", "account", lambda: subscription_page(10)),
    "one subscription, kept": (
        "account/subscription.html",
        "account",
        lambda: subscription_page(kept=True, renewals=[]),
    ),
    "mandates": (
        "account/payments.html",
        "account",
        lambda: payments_page(part="mandates", payments=[], mandates=mandates()),
    ),
    "mandates, none": (
        "account/payments.html",
        "account",
        lambda: payments_page(part="mandates", payments=[], mandates=[]),
    ),
    "paid by the operator": (
        "account/payments.html",
        "account",
        lambda: payments_page(part="x402", payments=[], authorizations=authorizations()),
    ),
    "paid by the operator, none": (
        "account/payments.html",
        "account",
        lambda: payments_page(part="x402", payments=[], authorizations=[]),
    ),
    "one mandate": ("account/mandate.html", "account", mandate_page),
    "one mandate, lowered": ("account/mandate.html", "account", lambda: mandate_page(just="lowered")),
    "one mandate, a charge refused": ("account/mandate.html", "account", lambda: mandate_page(just="refused")),
    "one mandate, a wrong limit": (
        "account/mandate.html",
        "account",
        lambda: mandate_page(wrong={"per_day": "Give less than before: only a new request can raise a limit."}),
    ),
    "one mandate, ended": ("account/mandate.html", "account", lambda: mandate_page(1, charges=[], just="ended")),
    "activity": ("account/activity.html", "account", activity_page),
    "security, messages": ("account/security.html", "account", told_page),
    "security, messages without an address": (
        "account/security.html",
        "account",
        lambda: told_page(email="", told=False, agents=[]),
    ),
    "security": ("account/security.html", "account", security_page),
    "security, signed out elsewhere": (
        "account/security.html",
        "account",
        lambda: security_page(just_ended="others", sessions=sessions()[:1]),
    ),
    "connection": ("account/connection.html", "connection", connection_page),
    "connection, one's own client": (
        "account/connection.html",
        "connection",
        lambda: connection_page(account_label="", own_client=True),
    ),
    "connection, calls through the service": ("account/connection.html", "connection", calls_page),
    "connection, ended": ("account/connection.html", "connection", ended_page),
    "connection, ended untold": ("account/connection.html", "connection", lambda: ended_page("none", **untold())),
    "delete": ("account/delete.html", "delete", delete_page),
    "deleted": ("account/deleted.html", "deleted", everywhere),
    "docs": ("api/docs.html", "docs", docs_page),
}
