"""Taking everything along, and having everything deleted."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from elicit_flows import flow
from elicit_flows.ledger import reading
from elicit_flows.models import Payment
from elicit_flows.values import Json
from elicit_flows.web import pages, session
from elicit_flows.web.session import Person

GOES_ON = (Payment.Status.PROCESSING, Payment.Status.ACTIVE)


@require_safe
@pages.for_person
def export(request: HttpRequest, me: Person) -> HttpResponse:
    """Everything that is kept about the person, as one JSON file (docs/account.md)."""
    named = {"Content-Disposition": 'attachment; filename="elicit-flows.json"'}
    plain = {"indent": 2, "ensure_ascii": False}
    return JsonResponse(flow.about(me.claim), json_dumps_params=plain, headers=named)


@require_http_methods(["GET", "HEAD", "POST"])
@pages.for_person
def delete(request: HttpRequest, me: Person) -> HttpResponse:
    """What would go and what would stay; pressed, it begins to go."""
    if request.method != "POST":
        return render(request, "account/delete.html", {"me": me, **_at_stake(me)})
    flow.ask_to_erase(me.claim)
    session.sign_out(request)
    return pages.SeeOther("/account/deleted")


@require_safe
def deleted(request: HttpRequest) -> HttpResponse:
    return render(request, "account/deleted.html")


def _at_stake(me: Person) -> Json:
    kept, paid = flow.about(me.claim), reading.made_by(me.claim)
    counts = {name: len(kept[name]) for name in ("connections", "elicitations")}
    return {"counts": counts | {"payments": paid.count()}, "running": paid.filter(status__in=GOES_ON)}
