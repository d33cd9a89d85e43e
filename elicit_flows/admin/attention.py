"""What an operator should look at, the gravest first: each with what it means and where to go. Names no person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from elicit_flows import tallies, vault
from elicit_flows.admin.links import list_of, page_of
from elicit_flows.lib import clock
from elicit_flows.models import (
    Agent,
    Delivery,
    Erasure,
    IdentityProvider,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
    VaultKey,
)

MOST = 1000  # what is counted further is said as "over 1000"
MANY = 5  # failures of a provider in an hour or two: fewer happen
ERASED_BY = timedelta(days=4)
OVERDUE = timedelta(minutes=3)  # more than three ticks, leases and all


@dataclass(frozen=True, slots=True)
class Notice:
    """``grave``: somebody is waiting in vain. ``links``: what to press, and where it leads."""

    title: str
    detail: str
    links: tuple[tuple[str, str], ...] = ()
    grave: bool = True


def notices() -> list[Notice]:
    found = [
        *_worker(),
        *_refusals(),
        *_providers(),
        *_endpoints(),
        *_deliveries(),
        *_money(),
        *_grants(),
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


def _providers() -> Iterator[Notice]:
    since = clock.now() - timedelta(hours=1)
    failed: Counter[str] = Counter()
    for by_labels in tallies.since("provider_errors", since).values():
        for (slug, _step), one in by_labels.items():
            failed[slug] += one.count
    sorts = (PaymentAccount, IdentityProvider, Provider)  # of two with one slug the last is meant most often
    rows = {row.slug: row for sort in sorts for row in sort._default_manager.filter(slug__in=failed)}
    for slug, count in failed.most_common(20):
        row = rows.get(slug)
        if row is not None and row.enabled:
            said = ngettext("It failed %(count)d time since %(at)s UTC.", "It failed %(count)d times since %(at)s UTC.",
                            count) % {"count": count, "at": f"{since:%H}:00"}  # fmt: skip
            title = _("%(name)s does not answer") % {"name": getattr(row, "name", slug)}
            yield Notice(title, f"{said} {_MEANWHILE[type(row)]}", _provider_links(row), grave=count >= MANY)


_MEANWHILE: dict[type[Provider | IdentityProvider | PaymentAccount], Any] = {
    Provider: gettext_lazy(
        "Nobody's grant is lost by it: tokens that still live are given out, people are told to try again, and all "
        "goes on by itself when it is back. If it stays away, switch it off: agents hear at once that they cannot ask "
        "for it, and nobody is sent there."
    ),
    IdentityProvider: gettext_lazy(
        "Its people cannot sign in; whoever is signed in goes on. Links stay good until their time is up."
    ),
    PaymentAccount: gettext_lazy(
        "People are told to try again. What was paid meanwhile is asked for again until the provider answers: no money "
        "is lost, and none taken twice."
    ),
}


def _provider_links(row: Provider | IdentityProvider | PaymentAccount) -> tuple[tuple[str, str], ...]:
    return (
        (_("Its settings"), page_of(row)),
        (_("Switch it off…"), page_of(row, "switch")),
    )


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
    given_up = _up_to(Delivery.objects.filter(agent__in=agents, status="failed"))
    if given_up:
        yield Notice(
            _("Deliveries were given up: %(count)s") % {"count": given_up},
            _("Their agents were not told what happened, unless they read the feed. “Send again” begins anew."),
            ((_("These deliveries"), list_of(Delivery, status__exact="failed")),),
        )


def _money() -> Iterator[Notice]:
    open_ones = Payment.objects.filter(status=Payment.Status.MISMATCH).exclude(refunds__status=Refund.Status.DONE)
    mismatches, failed = _up_to(open_ones), _up_to(Refund.objects.filter(status=Refund.Status.FAILED))
    disputes, ignored = _up_to(Payment.objects.filter(disputed="open")), PaymentAccount.objects.filter(ignored__gt=0)
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


def _refreshes(outcome: str, within: timedelta) -> Counter[str]:
    """How many refreshes ended so, by the provider's slug."""
    found: Counter[str] = Counter()
    for by_labels in tallies.since("refreshes", clock.now() - within).values():
        for (slug, ended), one in by_labels.items():
            found[slug] += one.count if ended == outcome else 0
    return +found


def _refusals() -> Iterator[Notice]:
    refused = _refreshes("refused", timedelta(hours=1))
    for row in Provider.objects.filter(slug__in=refused, enabled=True)[:20]:
        yield Notice(
            _("%(name)s refuses us") % {"name": row.name},
            _("It answers refreshes with an error that is yours to mend, there or here, such as invalid_client: was "
              "its client secret changed? The connections say which error under “Last refresh error”. None is lost."),
            (*_provider_links(row),
             (_("Its connections"), list_of(vault.Connection, provider__id__exact=row.pk))),
        )  # fmt: skip


def _grants() -> Iterator[Notice]:
    dead = _refreshes("dead", timedelta(days=1))
    for row in Provider.objects.filter(slug__in=dead)[:20]:
        yield Notice(
            _("%(provider)s ended grants: %(count)d in a day") % {"provider": row.name, "count": dead[row.slug]},
            _("Their agents were told to ask again. Many at once: look whether the client or its secret was changed."),
            ((_("These connections"),
              list_of(vault.Connection, status__exact="reauthorization_required", provider__id__exact=row.pk)),),
            grave=False,
        )  # fmt: skip


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


def _up_to(rows: Any) -> str:
    """How many there are, without counting for ever; "" for none."""
    count = rows.values("pk")[: MOST + 1].count()
    if count > MOST:
        return _("over %(most)d") % {"most": MOST}
    return str(count) if count else ""
