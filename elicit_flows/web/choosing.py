"""Another account came back than was meant, or one that anybody may have connected: what the person chooses."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from elicit_flows import flow
from elicit_flows.states import Status
from elicit_flows.web import pages, session


@require_POST
@pages.says_why
def choose(request: HttpRequest, elicitation_id: str) -> HttpResponse:
    me = session.person(request)
    if me is None:
        return pages.signin(request, f"/c/{elicitation_id}", status=403)
    row = flow.choose(elicitation_id, me.claim, request.POST.get("choice", ""), request.POST.get("held", ""))
    return pages.SeeOther(f"/c/{row.pk}" if row.status == Status.STARTED else f"/c/{row.pk}/done")
