"""Download and deletion of a person's own data."""

from __future__ import annotations

import io
import zipfile

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from elicit_flows import people
from elicit_flows.models import Payment
from elicit_flows.payments import queries
from elicit_flows.web import pages, session
from elicit_flows.web.session import Person

EXPORT_NAME = "elicit-flows.json"
GOES_ON = {"subscriptions": Payment.Status.ACTIVE, "running": Payment.Status.PROCESSING}


@require_safe
@pages.for_fresh_person("/account")
def export(request: HttpRequest, me: Person) -> HttpResponse:
    """All data about the person, as one JSON file (docs/reference/account-pages.md); if that is wanted, in an archive
    with its signature.
    """
    named = {"Content-Disposition": f'attachment; filename="{EXPORT_NAME}"'}
    plain = {"indent": 2, "ensure_ascii": False}
    response = JsonResponse(people.export_data(me.claim), json_dumps_params=plain, headers=named)
    if request.GET.get("signed") != "yes":
        return response
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr(EXPORT_NAME, response.content)
        files.writestr(f"{EXPORT_NAME}.jws", people.sign_bytes(response.content, EXPORT_NAME) + "\n")
    named = {"Content-Disposition": 'attachment; filename="elicit-flows.zip"'}
    return HttpResponse(archive.getvalue(), content_type="application/zip", headers=named)


@require_http_methods(["GET", "HEAD", "POST"])
@pages.for_fresh_person("/account/delete")
def delete(request: HttpRequest, me: Person) -> HttpResponse:
    """Show what would be deleted and what is kept; a POST starts the deletion."""
    if request.method != "POST":
        paid = queries.made_by(me.claim)
        counts = people.count_data(me.claim) | {"payments": paid.count()}
        going = {name: paid.filter(status=status) for name, status in GOES_ON.items()}
        shown = {"me": me, "counts": counts, **going}
        return render(request, "account/delete.html", shown)
    people.request_erasure(me.claim)
    session.sign_out(request)
    return pages.SeeOther("/account/deleted")


@require_safe
def deleted(request: HttpRequest) -> HttpResponse:
    return render(request, "account/deleted.html")
