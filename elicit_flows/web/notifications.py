"""What people choose to hear of: the link in each message, and the choice on the page of their account."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from elicit_flows import vault
from elicit_flows.brands import page_brand
from elicit_flows.domain.values import Claim, Json
from elicit_flows.elicitations import notify
from elicit_flows.models import Agent, Channel, NotificationSettings
from elicit_flows.people import contacts, push
from elicit_flows.web import browsers, pages, session


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@pages.errors_as_pages
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """The link of a message. Opening it changes nothing, since mail scanners open every link; a POST unsubscribes.

    Mail programs send that POST by themselves, without a cookie, and follow no redirect (RFC 8058, section 3.2). So it
    needs no CSRF token: the link alone says whose choice it is, and nobody else has it (threat T162).
    """
    found = vault.contacts.open_unsubscribe(token)
    if found is None:
        return pages.refused(
            request, 404, "This link no longer works",
            "Sign in to your account, and choose there which messages you get.", back_url="/account/security",
        )  # fmt: skip
    person, agent_id = found
    agent = Agent.objects.filter(pk=agent_id).first()
    context: Json = {
        "done": "",
        "here_url": request.path,
        "agent_name": agent.name if agent else "",
        "brand": page_brand.of(agent_id),
    }
    if request.method == "POST":
        every = agent is None or request.POST.get("all") == "yes"
        contacts.unsubscribe(person, None if every else agent)
        context["done"] = "all" if every else "agent"
    return render(request, "unsubscribe.html", context)


@require_POST
@pages.for_person
def choose(request: HttpRequest, me: session.Person) -> HttpResponse:
    shown, ticked = (set(request.POST.getlist(name)) for name in ("shown", "agent"))
    contacts.choose(me.claim, request.POST.get("told") == "yes", shown, ticked)
    return pages.SeeOther("/account/security?saved=notifications")


@require_POST
@pages.for_person
def subscribe(request: HttpRequest, me: session.Person) -> HttpResponse:
    """What this browser gave when the person pressed the button (static/elicit/push.js)."""
    address = {name: request.POST.get(name, "") for name in ("endpoint", "p256dh", "auth")}
    push.subscribe(me.claim, address, *browsers.named(request.headers))
    return pages.SeeOther("/account/security?saved=push")


@require_POST
@pages.for_person
def end_push(request: HttpRequest, me: session.Person, number: int) -> HttpResponse:
    push.end(me.claim, number)
    return pages.SeeOther("/account/security?saved=push-ended")


def shown(claim: Claim) -> Json | None:
    """What the account page shows: ``{email, told, agents: [{slug, name, told}], push_key, browsers: [{id, browser,
    system, created_at}]}``; None where nobody is told. ``push_key`` is "" where web push is not offered.
    """
    channels = notify.channels()
    if not channels:
        return None
    key = ""
    if Channel.PUSH in channels and (offered := NotificationSettings.objects.first()):
        key = vault.contacts.push_public_key(offered)
    left = set(contacts.opt_outs(claim).values_list("agent", flat=True))
    return {
        "email": contacts.addresses(claim).email,
        "told": None not in left,
        "agents": [
            {"slug": agent.slug, "name": agent.name, "told": agent.pk not in left} for agent in contacts.choices(claim)
        ],
        "push_key": key,
        "browsers": list(push.of(claim).order_by("-created_at").values("id", "browser", "system", "created_at"))
        if key
        else [],
    }
