"""The connect pages: /c/{id} and what its buttons do, and the one callback for all kinds."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import flow
from elicit_flows.errors import Invalid
from elicit_flows.lib import ids
from elicit_flows.states import Status
from elicit_flows.values import Answer
from elicit_flows.web import pages, session
from elicit_flows.web.session import Person


@require_safe
@pages.says_why
def show(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    """Never changes anything, whoever asks: link scanners open links too."""
    row = flow.find(elicitation_id)
    if row.parent_id:
        return pages.SeeOther(f"/c/{row.parent_id}")
    me = session.person(request)
    if me is None:
        return pages.signin(request, f"/c/{elicitation_id}")
    return _page(request, me, elicitation_id)


def _page(request: HttpRequest, me: Person, elicitation_id: str, refused: Invalid | None = None) -> HttpResponse:
    """What is asked; with ``refused`` what was wrong with an answer, beside its fields."""
    view = flow.look(elicitation_id, me.claim)
    if view.status not in (Status.PENDING, Status.STARTED):
        return pages.outcome(request, view.elicitation)
    row = view.elicitation
    context = {
        "status": str(view.status),
        "kind": row.kind,
        "kind_template": f"connect/kinds/{row.kind}.html",
        "agent_name": row.agent.name,
        "message": row.message,
        "what": view.what,
        "me": me,
        "expires_at": row.expires_at,
        "press": ids.token(),
        "faults": refused.by_field() if refused else {},
        "typed": flow.filled(row, _sent(request)) if view.shared else request.POST,
        "shared": view.shared,
        "draft_url": f"/c/{row.pk}/draft",
        "steps": view.steps,
        "continue_url": f"/c/{row.pk}/continue",
        "submit_url": f"/c/{row.pk}/submit",
        "decline_url": f"/c/{row.pk}/decline",
        "switch_url": "/switch",
        "next": f"/c/{row.head.pk}",
    }
    template = "connect/consent.html" if view.leaves else "connect/form.html"
    if view.change:
        context |= {"change": view.change, "choose_url": f"/c/{row.pk}/account"}
        template = "connect/yours.html" if view.change.meant is None else "connect/changed.html"
    return render(request, template, context, status=422 if refused else 200)


def _sent(request: HttpRequest) -> Answer:
    return Answer(dict(request.POST.lists()))


@require_POST
@pages.says_why
def proceed(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    me = session.person(request)
    if me is None:
        return pages.signin(request, f"/c/{elicitation_id}", status=403)
    url = flow.begin(elicitation_id, me.claim, me.browser, request.POST.get("press"))
    return pages.SeeOther(url or f"/c/{elicitation_id}/done")


@require_POST
@pages.says_why
def submit(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    me = session.person(request)
    if me is None:
        return pages.signin(request, f"/c/{elicitation_id}", status=403)
    try:
        flow.submit(elicitation_id, me.claim, _sent(request))
    except Invalid as refused:
        return _page(request, me, elicitation_id, refused)
    return pages.SeeOther(f"/c/{elicitation_id}/done")


@require_POST
@pages.says_why
def decline(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    me = session.person(request)
    if me is None:
        return pages.signin(request, f"/c/{elicitation_id}", status=403)
    flow.decline(elicitation_id, me.claim)
    return pages.SeeOther(f"/c/{elicitation_id}/done")


@require_safe
@pages.says_why
def callback(request: HttpRequest, context: str) -> HttpResponse:
    """Back from a provider: checked against the browser and the person, then off to a clean address."""
    me = session.returning(request)
    answer = Answer(dict(request.GET.lists()))
    row = flow.resume(context, answer, me.claim if me else None, me.browser if me else None)
    return pages.SeeOther(f"/c/{row.pk}/done")


@require_safe
@pages.says_why
def done(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    row = flow.find(elicitation_id)
    if row.parent_id:
        return pages.SeeOther(f"/c/{row.parent_id}/done")
    me = session.returning(request)
    if me is None:
        return pages.signin(request, f"/c/{elicitation_id}/done")
    view = flow.look(elicitation_id, me.claim)
    if view.change or (view.steps and view.status == Status.PENDING):
        return pages.SeeOther(f"/c/{elicitation_id}")
    shown = flow.shown(view.elicitation, me.browser) if view.status == Status.STARTED else None
    if shown and not shown.over:
        return pages.device(request, view, shown)
    return pages.outcome(request, view.elicitation, why=shown.over if shown else "")
