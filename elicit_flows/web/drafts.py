"""A form's draft, for the script of its page: what others wrote, and keeping what was written here."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_http_methods

from elicit_flows import flow
from elicit_flows.errors import FlowError, Forbidden
from elicit_flows.states import OPEN
from elicit_flows.values import Answer, Json
from elicit_flows.web import session


@require_http_methods(["GET", "POST"])
def draft(request: HttpRequest, elicitation_id: str) -> JsonResponse:
    """GET: ``{open, seq, asked, controls}`` of what is newer than ``after``. POST: keep what is in the controls of one
    ``question``: ``{seq}``. What is refused answers ``{message}``.
    """
    try:
        body = _save(request, elicitation_id) if request.method == "POST" else _newer(request, elicitation_id)
    except FlowError as error:
        return JsonResponse({"message": error.detail}, status=error.status)
    return JsonResponse(body)


def _newer(request: HttpRequest, elicitation_id: str) -> Json:
    after = request.GET.get("after", "")
    seen = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    view = flow.look(elicitation_id, _person(request).claim)
    shared = flow.shared(view.elicitation, seen) if view.status in OPEN else None
    if shared is None:
        return {"open": False}
    return {"open": True, "seq": shared.seq, "asked": shared.asked, "controls": shared.controls}


def _save(request: HttpRequest, elicitation_id: str) -> Json:
    answer = Answer(dict(request.POST.lists()))
    return {"seq": flow.save(elicitation_id, _person(request).claim, answer.one("question") or "", answer)}


def _person(request: HttpRequest) -> session.Person:
    me = session.person(request)
    if me is None:
        raise Forbidden("You are not signed in any more. Open the link again.")
    return me
