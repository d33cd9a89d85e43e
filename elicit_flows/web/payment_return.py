"""The way back from a payment provider's page. It is only a hint to look, whoever follows it."""

from __future__ import annotations

from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from elicit_flows import elicitations
from elicit_flows.domain.errors import TooMany
from elicit_flows.domain.status import OPEN, Status
from elicit_flows.lib import rate_limits
from elicit_flows.web import pages, session

_SIGNER = signing.TimestampSigner(salt="elicit_flows.unpaid")
SAID_FOR = 60  # seconds; after that the person may have gone back and paid


@require_safe
@pages.errors_as_pages
def returned(request: HttpRequest, slug: str) -> HttpResponse:
    """The right user goes on; anybody else learns nothing."""
    if not rate_limits.PAYMENT_RETURNS.hit_from(request.META["REMOTE_ADDR"]):
        raise TooMany("There were too many attempts from your network.", retry_after=60)
    checkout, unpaid = elicitations.back_from_checkout(slug, request.GET.get("checkout", ""))
    me, row = session.person(request, on_the_way_back=True), checkout.payment.elicitation
    if me is None or me.claim != checkout.payment.claim:
        return pages.refused(request, 200, "Thank you", "You may close this page.")
    if row is None or checkout.replaces is not None:
        return pages.SeeOther(f"/account/payments?replaced={checkout.pk}")
    row.refresh_from_db(fields=["status"])
    payable = row.status in OPEN and row.status != Status.SETTLING
    if payable and unpaid:
        return pages.SeeOther(f"/c/{row.head.pk}?unpaid={_SIGNER.sign(row.pk)}")
    return pages.SeeOther(f"/c/{row.pk}" if payable else f"/c/{row.pk}/done")


def came_back(request: HttpRequest, elicitation_id: str) -> bool:
    """Whether the provider said a moment ago that nothing was paid. It is signed, so that nobody can forge
    such a link.
    """
    try:
        return _SIGNER.unsign(request.GET.get("unpaid", ""), max_age=SAID_FOR) == elicitation_id
    except signing.BadSignature:
        return False
