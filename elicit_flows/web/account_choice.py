"""The page to choose an account, if the provider returned another one than expected or does not name it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from elicit_flows import elicitations
from elicit_flows.domain.status import Status
from elicit_flows.web import pages, session


@require_POST
@pages.for_person
def choose(request: HttpRequest, me: session.Person, elicitation_id: str) -> HttpResponse:
    choice, held, earlier = (request.POST.get(name, "") for name in ("choice", "held", "earlier"))
    row = elicitations.choose(elicitation_id, me.claim, choice, held, earlier)
    return pages.SeeOther(f"/c/{row.pk}" if row.status == Status.STARTED else f"/c/{row.pk}/done")
