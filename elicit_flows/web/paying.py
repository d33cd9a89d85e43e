"""Back from a payment provider's page, by paying or by the back button: a hint, whoever brings it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from elicit_flows import flow
from elicit_flows.errors import TooMany
from elicit_flows.lib.limits import hit
from elicit_flows.states import OPEN, Status
from elicit_flows.web import pages, session

RETURNS = 30  # a minute, from one address: each may ask the provider


@require_safe
@pages.says_why
def returned(request: HttpRequest, slug: str) -> HttpResponse:
    """The right user goes on; anybody else learns nothing."""
    if not hit(f"returned:{request.META.get('REMOTE_ADDR')}", RETURNS, 60):
        raise TooMany("Too many returns from your address.", retry_after=60)
    row = flow.returned(slug, request.GET.get("checkout", ""))
    me = session.returning(request)
    if me is None or me.claim != row.claim:
        return pages.refused(request, 200, "Thank you", "You may close this page.")
    row.refresh_from_db(fields=["status"])
    payable = row.status in OPEN and row.status != Status.SETTLING
    return pages.SeeOther(f"/c/{row.pk}" if payable else f"/c/{row.pk}/done")
