"""/c/{id}/other-device: the link as a QR code and, at a press, as a short code, to continue on another device.

Both lead to the link and say nothing else. The person signs in there, and every check is the same as here.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST, require_safe

from elicit_flows import elicitations
from elicit_flows.brands import page_brand
from elicit_flows.domain.errors import Over
from elicit_flows.domain.status import Status
from elicit_flows.lib import text
from elicit_flows.web import pages
from elicit_flows.web.session import Person


@require_safe
@pages.for_person
def show(request: HttpRequest, me: Person, elicitation_id: str) -> HttpResponse:
    """The QR code, and the code that was made if it can still be typed. Makes nothing."""
    view = _open(me, elicitation_id)
    row = view.elicitation.head
    made = elicitations.persons_code(row)
    context = {
        "brand": page_brand.of(row.agent_id),
        "status": str(view.status),
        "link": row.url,
        "link_host": text.ascii_host(row.url),
        "code": made[1] if made else "",
        "until": made[0].expires_at if made else None,
        "code_page": f"{settings.ELICIT_PUBLIC_URL}/code",
        "code_url": f"/c/{row.pk}/other-device/code",
        "connect_url": f"/c/{row.pk}",
        "draft_url": f"/c/{view.elicitation.pk}/draft",
        "me": me,
    }
    return render(request, "connect/other_device.html", context)


@require_POST
@pages.for_person
def make_code(request: HttpRequest, me: Person, elicitation_id: str) -> HttpResponse:
    """Make a code in place of the one before, which cannot be typed any more."""
    row = _open(me, elicitation_id).elicitation.head
    elicitations.replace_persons_code(row)
    return pages.SeeOther(f"/c/{row.pk}/other-device")


def _open(me: Person, elicitation_id: str) -> elicitations.View:
    """What the person can still answer. Raises NotFound, WrongUser, Over."""
    view = elicitations.look(elicitations.find(elicitation_id).head.pk, me.claim)
    if view.status not in (Status.PENDING, Status.STARTED):
        raise Over(elicitation=view.elicitation.pk)
    return view
