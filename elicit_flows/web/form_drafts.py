"""For the script of a form page: whether the request is still open, and saving drafts."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from elicit_flows import elicitations
from elicit_flows.domain.errors import FlowError
from elicit_flows.domain.status import OPEN
from elicit_flows.domain.values import Answer, Json
from elicit_flows.lib.thread_pools import asks_outside
from elicit_flows.web import pages, session


@require_http_methods(["GET", "POST"])
@asks_outside
def draft(request: HttpRequest, elicitation_id: str) -> JsonResponse:
    """GET: ``{open}``, and for a form ``seq, asked, controls`` of what is newer than ``after`` and
    was not saved by ``page`` itself.

    POST: store the controls of one ``question``, and return ``{seq}``. A refusal returns ``{message}``.
    """
    try:
        if request.method == "GET":
            return JsonResponse(_newer(request, elicitation_id))
        answer = Answer(dict(request.POST.lists()))
        claim = session.signed_in(request).claim
        seq = elicitations.save_page(elicitation_id, claim, answer.one("question") or "", answer)
    except session.SignInNeeded:
        return JsonResponse({"message": gettext("You are no longer signed in. Open the link again.")}, status=403)
    except FlowError as error:
        return JsonResponse({"message": pages.said(error.detail)}, status=error.status)
    return JsonResponse({"seq": seq})


def _newer(request: HttpRequest, elicitation_id: str) -> Json:
    after = request.GET.get("after", "")
    seen = int(after) if after.isascii() and after.isdigit() and len(after) < 10 else 0
    view = elicitations.look(elicitation_id, session.signed_in(request).claim)
    if view.status not in OPEN or view.elicitation.pk != elicitation_id:  # over, or another step comes first
        return {"open": False}
    shared = elicitations.page_draft(view.elicitation, seen, request.GET.get("page", ""))
    if shared is None:
        return {"open": True}
    return {"open": True, "seq": shared.seq, "asked": shared.asked, "controls": shared.controls}
