"""The connect pages: /c/{id}, its buttons, and the callback of all providers."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import elicitations
from elicit_flows.brands import page_brand
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Answer, Json
from elicit_flows.lib import ids, text
from elicit_flows.models import Elicitation
from elicit_flows.web import pages, payment_return, session
from elicit_flows.web.session import Person


@require_safe
@pages.errors_as_pages
def show(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    """The connect page. It changes nothing, whoever opens it, because link scanners open links too."""
    row = elicitations.find(elicitation_id)
    if row.parent_id:
        return pages.SeeOther(f"/c/{row.parent_id}")
    me = session.signed_in(request)
    return _page(request, me, elicitation_id)


def _page(
    request: HttpRequest,
    me: Person,
    elicitation_id: str,
    refused: Invalid | None = None,
    typed: Mapping[str, str] | None = None,
) -> HttpResponse:
    """The page with the question; with ``refused``, the mistakes in an answer are shown beside their fields. ``typed``:
    what was typed of the provider's addresses.
    """
    view = elicitations.look(elicitation_id, me.claim, typed)
    if view.status not in (Status.PENDING, Status.STARTED):
        return pages.outcome(request, view.elicitation)
    row = view.elicitation
    context: Json = {
        "brand": page_brand.of(row.agent_id),
        "status": str(view.status),
        "kind": row.kind,
        "kind_template": f"connect/kinds/{row.kind}.html",
        "next_template": f"connect/kinds/{row.kind}_next.html",
        "agent_name": row.agent.name,
        "agent_host": _host_of(row),
        "card": page_brand.agent_card(row.agent, str(row.params.get("provider", ""))),
        "message": row.message,
        "what": view.what,
        "me": me,
        "expires_at": row.expires_at,
        "press": ids.token(),
        "typed_now": typed is not None,
        "came_back": payment_return.came_back(request, row.pk),
        "switch_url": "/switch",
        "faults": refused.by_field() if refused else {},
        "typed": elicitations.page_controls(row, Answer(dict(request.POST.lists()))) if view.shared else request.POST,
        "shared": view.shared,
        # A refused page keeps its name: what its script was saving meanwhile was not written elsewhere.
        "page_name": request.POST.get("page"),
        "steps": view.steps,
        **{f"{act}_url": f"/c/{row.pk}/{act}" for act in ("continue", "submit", "decline", "draft")},
        "next": f"/c/{row.head.pk}",
        "other_device_url": f"/c/{row.head.pk}/other-device",
    }
    template = "connect/consent.html" if view.leaves else "connect/form.html"
    if view.change:
        context |= {"change": view.change, "choose_url": f"/c/{row.pk}/account"}
        template = "connect/yours.html" if view.change.meant is None else "connect/changed.html"
        if view.change.earlier or (view.change.meant is None and not view.what.get("by_device")):
            template = "connect/which.html"
    return render(request, template, context, status=422 if refused else 200)


def _host_of(row: Elicitation) -> str:
    """The host of the agent's own site, as far as the operator has told us: where it may take people back to."""
    addresses = [row.head.return_url or "", *row.agent.return_urls]
    return next((text.ascii_host(one) for one in addresses if one and not text.is_app_address(one)), "")


@require_POST
@pages.for_person
def proceed(request: HttpRequest, me: Person, elicitation_id: str) -> HttpResponse:
    typed = elicitations.variables_from_form(request.POST.dict())
    given = elicitations.Given(typed, request.POST.get("host", ""), request.POST.get("seen", ""))
    try:
        url = elicitations.begin(elicitation_id, me.claim, me.browser, request.POST.get("press"), given)
    except Invalid as refused:
        return _page(request, me, elicitation_id, refused, typed)
    except elicitations.NotShownYet:
        return _page(request, me, elicitation_id, None, typed)
    except elicitations.SignInAgain:
        session.sign_out(request)
        raise session.SignInNeeded(f"/c/{elicitation_id}") from None
    return pages.SeeOther(url or f"/c/{elicitation_id}/done")


@require_POST
@pages.for_person
def submit(request: HttpRequest, me: Person, elicitation_id: str) -> HttpResponse:
    try:
        elicitations.submit(elicitation_id, me.claim, Answer(dict(request.POST.lists())))
    except Invalid as refused:
        return _page(request, me, elicitation_id, refused)
    return pages.SeeOther(f"/c/{elicitation_id}/done")


@require_POST
@pages.for_person
def decline(request: HttpRequest, me: Person, elicitation_id: str) -> HttpResponse:
    elicitations.decline(elicitation_id, me.claim)
    return pages.SeeOther(f"/c/{elicitation_id}/done")


@require_safe
@pages.errors_as_pages
def callback(request: HttpRequest, context: str) -> HttpResponse:
    """The way back from a provider: check browser and person, then redirect to a clean address."""
    me = session.person(request, on_the_way_back=True)
    answer = Answer(dict(request.GET.lists()))
    row = elicitations.resume(context, answer, me.claim if me else None, me.browser if me else None)
    return pages.SeeOther(f"/c/{row.pk}/done")


@require_safe
@pages.errors_as_pages
def done(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    row = elicitations.find(elicitation_id)
    if row.parent_id:
        return pages.SeeOther(f"/c/{row.parent_id}/done")
    me = session.person(request, on_the_way_back=True)
    if me is None:
        raise session.SignInNeeded
    view = elicitations.look(elicitation_id, me.claim)
    if view.change or (view.steps and view.status == Status.PENDING):
        return pages.SeeOther(f"/c/{elicitation_id}")
    shown = elicitations.device_prompt(view.elicitation, me.browser) if view.status == Status.STARTED else None
    if shown and not shown.over:
        return pages.device(request, view, shown)
    return pages.outcome(request, view.elicitation, why=shown.over if shown else "")
