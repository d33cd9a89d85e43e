"""What an operator should look at, the gravest first: each with what it means and where to go. Names no person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext as _

from elicit_flows import vault
from elicit_flows.admin import outside
from elicit_flows.admin.links import list_of, page_of
from elicit_flows.admin.notice import MOST, Notice, up_to
from elicit_flows.lib import clock
from elicit_flows.models import (
    Agent,
    Delivery,
    Erasure,
    Payment,
    PaymentAccount,
    Refund,
    VaultKey,
)

ERASED_BY = timedelta(days=4)
OVERDUE = timedelta(minutes=3)  # more than three ticks, leases and all


def notices() -> list[Notice]:
    found = [
        *_worker(),
        *outside.refusing(),
        *outside.silent(),
        *outside.switched_off(),
        *_endpoints(),
        *_deliveries(),
        *_money(),
        *outside.ended_grants(),
        *_erasures(),
        *_keys(),
        *_development(),
    ]
    return sorted(found, key=lambda one: not one.grave)


def _worker() -> Iterator[Notice]:
    """Deliveries that are long due, to endpoints that are well, are nobody's work."""
    due = Delivery.objects.filter(status="pending", next_at__lt=clock.now() - OVERDUE, lease_until=None)
    due = due.filter(agent__enabled=True, agent__webhook_disabled_at=None, agent__webhook_failures=0)
    if due.exists():
        yield Notice(
            _("Webhooks are not being sent"),
            _("Deliveries have been due for minutes. Look whether a worker runs: with a broker, celery worker and "
              "beat; else the web process itself. Nothing is lost; they are sent when one does."),
            ((_("What is waiting"), list_of(Delivery, status__exact="pending")),),
        )  # fmt: skip


def _endpoints() -> Iterator[Notice]:
    rows = Agent.objects.filter(enabled=True).exclude(webhook_url="")
    for row in rows.exclude(webhook_disabled_at=None)[:20]:
        yield Notice(
            _("%(agent)s gets no webhooks any more") % {"agent": row.name},
            _("Its endpoint answered 410 Gone. When it is right again, “Send webhooks again” takes it back."),
            ((_("The agent"), page_of(row)),),
        )
    for row in rows.filter(webhook_disabled_at=None, webhook_failures__gte=3).order_by("-webhook_failures")[:20]:
        yield Notice(
            _("The endpoint of %(agent)s fails") % {"agent": row.name},
            _("%(count)d tries in a row. Each delivery is tried ten times over 75 hours.")
            % {"count": row.webhook_failures},
            ((_("Its deliveries"), list_of(Delivery, agent__id__exact=row.pk)),),
            grave=row.webhook_failures >= 10,
        )


def _deliveries() -> Iterator[Notice]:
    agents = list(Agent.objects.values_list("pk", flat=True)[:MOST])
    given_up = up_to(Delivery.objects.filter(agent__in=agents, status="failed"))
    if given_up:
        yield Notice(
            _("Deliveries were given up: %(count)s") % {"count": given_up},
            _("Their agents were not told what happened, unless they read the feed. “Send again” begins anew."),
            ((_("These deliveries"), list_of(Delivery, status__exact="failed")),),
        )


def _money() -> Iterator[Notice]:
    open_ones = Payment.objects.filter(status=Payment.Status.MISMATCH).exclude(refunds__status=Refund.Status.DONE)
    mismatches, failed = up_to(open_ones), up_to(Refund.objects.filter(status=Refund.Status.FAILED))
    disputes, ignored = up_to(Payment.objects.filter(disputed="open")), PaymentAccount.objects.filter(ignored__gt=0)
    if mismatches:
        yield Notice(
            _("Money came otherwise than asked: %(count)s") % {"count": mismatches},
            _("Each payment's page says what to do. Nothing was granted for them."),
            ((_("These payments"), list_of(Payment, status__exact="mismatch")),),
        )
    if failed:
        yield Notice(
            _("Refunds failed: %(count)s") % {"count": failed},
            _("That money is still here. Give it back again, here or at the provider."),
            ((_("These refunds"), list_of(Refund, status__exact="failed")),),
        )
    if disputes:
        yield Notice(
            _("Payments are disputed: %(count)s") % {"count": disputes},
            _("Answer at the payment provider before its time is up."),
            ((_("These payments"), list_of(Payment, disputed__exact="open")),),
        )
    for row in ignored[:20]:
        yield Notice(
            _("Webhooks of the other mode come to %(account)s") % {"account": row.slug},
            _("Live and test keys were mixed up, here or in the provider's dashboard."),
            ((_("The account"), page_of(row)),),
            grave=False,
        )


def _erasures() -> Iterator[Notice]:
    """Longer than a provider is told of a revocation, and a delivery tried: something else keeps them."""
    count = Erasure.objects.filter(done_at=None, asked_at__lt=clock.now() - ERASED_BY)[:MOST].count()
    if count:
        yield Notice(
            _("People wait to be deleted: %(count)d") % {"count": count},
            _("They asked days ago, and something of theirs is still here: most likely a payment page that its "
              "provider does not close. Their agents have lost everything long since."),
            grave=False,
        )  # fmt: skip


def _keys() -> Iterator[Notice]:
    newest = vault.ring().newest
    old = [*VaultKey.objects.exclude(key_id=newest).order_by("key_id").values_list("key_id", flat=True)]
    if old:
        yield Notice(
            _("A vault key can be retired: %(keys)s") % {"keys": ", ".join(old)},
            _("Run manage.py rotate; then take it out of ELICIT_VAULT_KEYS and restart."),
            grave=False,
        )
    if settings.SECRET_KEY_FALLBACKS:
        yield Notice(
            _("An earlier SECRET_KEY still counts"),
            _("Twelve hours after the change nobody needs it: take it out of SECRET_KEY_FALLBACKS."),
            grave=False,
        )


def _development() -> Iterator[Notice]:
    on = {"ELICIT_DEBUG": settings.DEBUG, "ELICIT_ALLOW_LOOPBACK": settings.ELICIT_ALLOW_LOOPBACK}
    names = [name for name, value in on.items() if value]
    if names:
        yield Notice(
            _("Development settings are on"),
            _("Never where others can reach it: %(names)s.") % {"names": ", ".join(names)},
            grave=False,
        )
    if not (settings.ELICIT_ADMIN_SECOND_FACTOR or names):
        yield Notice(
            _("Operators need no second factor"), _("ELICIT_ADMIN_SECOND_FACTOR is off."), grave=False
        )  # fmt: skip
