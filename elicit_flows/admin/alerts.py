"""What needs an operator's attention, most urgent first. No alert names a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from elicit_flows import vault
from elicit_flows.admin.base import admin_url, list_url
from elicit_flows.jobs import incidents, metrics_store, readiness
from elicit_flows.jobs.incidents import format_time
from elicit_flows.lib import clock
from elicit_flows.models import (
    Agent,
    Cancellation,
    Connection,
    Delivery,
    Elicitation,
    Erasure,
    Health,
    IdentityProvider,
    Payment,
    PaymentAccount,
    Provider,
    Refund,
    VaultKey,
)
from elicit_flows.models.elicitation import UNFINISHED

Link = tuple[str, str]  # what to press, and where it leads
Outside = Provider | IdentityProvider | PaymentAccount

MAX_COUNT = 1000  # rows are counted up to here, since counting millions of rows would make the page slow
MAX_ALERTS = 20  # of one type
ERASED_BY = timedelta(days=4)
CANCELLED_BY = timedelta(hours=1)
FAILURES = 3  # since the last success, after which an outside service counts as down
FAILURE_RATE = 0.2  # of the tries in the last hour, from two failures on, above which it counts as unreliable
RECENT = timedelta(hours=1)
SHOWN_FOR = timedelta(days=1)  # how long the failures of a service that nobody has used since are shown
MODELS: dict[str, type[Outside]] = {"provider": Provider, "identity": IdentityProvider, "payment": PaymentAccount}
WHILE_DOWN: dict[type[Outside], Any] = {
    Provider: gettext_lazy(
        "Tokens that have not expired are still handed out, and people are told to try again. Everything continues by "
        "itself when it is back. If it stays down, switch it off: then agents are told at once that they cannot ask "
        "for it, and nobody is sent there."
    ),
    IdentityProvider: gettext_lazy(
        "Its people cannot sign in; whoever is signed in stays so. Links stay valid until they expire."
    ),
    PaymentAccount: gettext_lazy(
        "People are told to try again. Payments that are made meanwhile are checked until the provider answers: no "
        "payment is lost, and none is taken twice."
    ),
}


@dataclass(frozen=True, slots=True)
class Alert:
    """``urgent``: somebody waits in vain, or money is at stake."""

    title: str
    detail: str
    links: tuple[Link, ...] = ()
    urgent: bool = True


def current_alerts() -> list[Alert]:
    alerts = [
        *_incidents(),
        *_providers(),
        *_unreachable(),
        *_webhook_endpoints(),
        *_payments(),
        *_maintenance(),
    ]
    return sorted(alerts, key=lambda alert: not alert.urgent)


def _count(rows: Any) -> str:
    """How many rows there are, at most "over 1000"; "" for none."""
    count = rows.values("pk")[: MAX_COUNT + 1].count()
    if count > MAX_COUNT:
        return _("over %(most)d") % {"most": MAX_COUNT}
    return str(count) if count else ""


def _incidents() -> Iterator[Alert]:
    """What an alert of deploy/alerts.yml says, too, with where to look here."""
    links = {
        "ElicitDeliveriesLate": ((_("Waiting deliveries"), list_url(Delivery, status__exact="pending")),),
        "ElicitRefundsFailed": ((_("These refunds"), list_url(Refund, status__exact="failed")),),
        "ElicitEvidenceDue": ((_("These payments"), list_url(Payment, disputed__exact="open")),),
        "ElicitRefreshesFail": ((_("The connections that wait"), list_url(Connection, refresh="waits")),),
    }
    for one in incidents.current(readiness.state()):
        since = [_("Since %(at)s.") % {"at": format_time(one.since)}] if one.since else []
        detail = " ".join([*since, one.who, one.what_to_do, _("Runbook: %(name)s.") % {"name": one.alert}])
        yield Alert(one.title, detail, links.get(one.alert, ()), urgent=one.urgent)


def _providers() -> Iterator[Alert]:
    """Providers that reject refreshes for a reason that the operator can repair, that ended grants, or that are off."""
    rejected = _refreshes("refused", timedelta(hours=1))
    for row in Provider.objects.filter(slug__in=rejected, enabled=True)[:MAX_ALERTS]:
        yield Alert(
            _("%(name)s refuses us") % {"name": row.name},
            _("It answers refreshes with an error about this service, such as invalid_client: was the client secret "
              "changed? The connections show the error under “Last refresh error”. No connection is lost."),
            (*_links(row), (_("Its connections"), list_url(Connection, provider__id__exact=row.pk))),
        )  # fmt: skip
    ended = _refreshes("dead", timedelta(days=1))
    for row in Provider.objects.filter(slug__in=ended)[:MAX_ALERTS]:
        lost = list_url(Connection, status__exact="reauthorization_required", provider__id__exact=row.pk)
        yield Alert(
            _("%(provider)s ended grants: %(count)d in a day") % {"provider": row.name, "count": ended[row.slug]},
            _("Their agents were told to ask the people again. If there are many, check whether the client or its "
              "secret was changed."),
            ((_("These connections"), lost),),
            urgent=False,
        )  # fmt: skip
    # Whoever switched it off at night may not be there in the morning.
    for row in Provider.objects.filter(enabled=False).order_by("name")[:MAX_ALERTS]:
        yield Alert(
            _("%(name)s is switched off") % {"name": row.name},
            _("No agent can ask for it, and none of its tokens is handed out. The connections stay."),
            ((_("Switch it on…"), admin_url(row, "switch")),),
            urgent=False,
        )


def _refreshes(outcome: str, within: timedelta) -> Counter[str]:
    """How many refreshes had this outcome, by the slug of the provider."""
    counts: Counter[str] = Counter()
    for by_labels in metrics_store.since("refreshes", clock.now() - within).values():
        for (slug, ended), counted in by_labels.items():
            counts[slug] += counted.count if ended == outcome else 0
    return +counts


def _unreachable() -> Iterator[Alert]:
    """Outside services that did not answer."""
    now = clock.now()
    tries: Counter[tuple[str, ...]] = Counter()
    for by_labels in metrics_store.since("outcomes", now - RECENT).values():
        for labels, counted in by_labels.items():
            tries[labels] += counted.count
    seen = Health.objects.filter(sort__in=MODELS, failed_at__gt=now - SHOWN_FOR).order_by("failing_since")
    for state in seen[:MAX_ALERTS]:
        row = MODELS[state.sort]._default_manager.filter(slug=state.name, enabled=True).first()
        old = state.failed_at is None or state.failed_at < now - RECENT
        if row is not None and (state.failing_since or not old):
            failed, ok = (tries[state.sort, state.name, outcome] for outcome in ("failed", "ok"))
            often = failed > 1 and failed >= FAILURE_RATE * (failed + ok)
            yield _unreachable_service(row, state, often=often, old=old)


def _unreachable_service(row: Outside, state: Health, *, often: bool, old: bool) -> Alert:
    """``often``: it fails often, if not always. ``old``: the last failure is more than an hour ago."""
    name = {"name": getattr(row, "name", "") or row.slug}
    down = bool(state.failing_since) and (state.failures >= FAILURES or often)
    last_success = format_time(state.ok_at) if state.ok_at else _("none is known")
    last_failure = format_time(state.failed_at) if state.failed_at else ""
    times = _("Last failure: %(failed)s. Last success: %(ok)s.") % {"failed": last_failure, "ok": last_success}
    if state.failing_since is None:
        title = _("%(name)s fails often") % name if often else _("%(name)s answers again") % name
        details = [times]
    else:
        title = _("%(name)s does not answer") % name if down else _("%(name)s failed") % name
        since = ngettext(
            "It has failed %(count)d time since %(since)s.",
            "It has failed %(count)d times since %(since)s.",
            state.failures,
        )
        since %= {"count": state.failures, "since": format_time(state.failing_since)}
        error = [_("Last error: %(error)s.") % {"error": state.error}] if state.error else []
        details = [since, times, *error, _affected(row), str(WHILE_DOWN[type(row)])]
    links = _links(row)
    if isinstance(row, Provider):
        waiting = list_url(Connection, provider__id__exact=row.pk, refresh="waits")
        links = (*links, (_("The connections that wait for it"), waiting))
    return Alert(title, " ".join(details), links, urgent=(down or often) and not old)


def _affected(row: Outside) -> str:
    """Who waits for it now: the people and agents of open links, and of connections that cannot be refreshed."""
    waiting = Elicitation.objects.filter(UNFINISHED)
    failing = Connection.objects.none()
    if isinstance(row, Provider):
        waiting = waiting.filter(params__provider=row.slug)
        failing = Connection.objects.filter(provider=row, status="active", refresh_failures__gt=0)
    elif isinstance(row, PaymentAccount):
        waiting = waiting.filter(payment__account=row)
    else:
        waiting = waiting.filter(iss=row.issuer)
    links = list(waiting.values_list("iss", "sub", "agent_id")[:MAX_COUNT])
    connections = list(failing.values_list("iss", "sub", "agent_id", "expires_at")[:MAX_COUNT])
    who = {*links, *((iss, sub, agent) for iss, sub, agent, _expires_at in connections)}
    people, agents = len({(iss, sub) for iss, sub, _agent in who}), len({agent for _iss, _sub, agent in who})
    counts = [
        ngettext("%(count)d person", "%(count)d people", people) % {"count": people},
        ngettext("%(count)d agent", "%(count)d agents", agents) % {"count": agents},
        ngettext("%(count)d open link", "%(count)d open links", len(links)) % {"count": len(links)},
    ]
    if isinstance(row, Provider):
        expired = sum(bool(expires_at and expires_at <= clock.now()) for *_who, expires_at in connections)
        tokens = ngettext("%(count)d expired token", "%(count)d expired tokens", expired)
        counts.append(tokens % {"count": expired})
    return _("Affected now: %(what)s.") % {"what": ", ".join(counts)}


def _links(row: Outside) -> tuple[Link, ...]:
    return (_("Its settings"), admin_url(row)), (_("Switch it off…"), admin_url(row, "switch"))


def _webhook_endpoints() -> Iterator[Alert]:
    rows = Agent.objects.filter(enabled=True).exclude(webhook_url="")
    for row in rows.exclude(webhook_disabled_at=None)[:MAX_ALERTS]:
        yield Alert(
            _("%(agent)s gets no webhooks any more") % {"agent": row.name},
            _("Its endpoint answered 410 Gone. When it is repaired, use “Send webhooks again” in the list of agents."),
            ((_("The agent"), admin_url(row)),),
        )
    failing = rows.filter(webhook_disabled_at=None, webhook_failures__gte=3).order_by("-webhook_failures")
    for row in failing[:MAX_ALERTS]:
        yield Alert(
            _("The endpoint of %(agent)s fails") % {"agent": row.name},
            _("%(count)d failures in a row. Each delivery is tried ten times within 75 hours.")
            % {"count": row.webhook_failures},
            ((_("Its deliveries"), list_url(Delivery, agent__id__exact=row.pk)),),
            urgent=row.webhook_failures >= 10,
        )
    # The filter by agent lets the database use the index on agent and status.
    agents = list(Agent.objects.values_list("pk", flat=True)[:MAX_COUNT])
    if failed := _count(Delivery.objects.filter(agent__in=agents, status="failed")):
        yield Alert(
            _("Deliveries were given up: %(count)s") % {"count": failed},
            _("Their agents do not know what happened, unless they read the feed. “Send again” starts the tries anew."),
            ((_("These deliveries"), list_url(Delivery, status__exact="failed")),),
        )


def _payments() -> Iterator[Alert]:
    mismatched = Payment.objects.filter(status=Payment.Status.MISMATCH).exclude(refunds__status=Refund.Status.DONE)
    if count := _count(mismatched):
        yield Alert(
            _("Payments with another amount or currency than requested: %(count)s") % {"count": count},
            _("Each payment's page says what to do. Nothing was granted for them."),
            ((_("These payments"), list_url(Payment, status__exact="mismatch")),),
        )
    late = Cancellation.objects.filter(try_at__isnull=False, asked_at__lt=clock.now() - CANCELLED_BY)
    if count := _count(late):
        yield Alert(
            _("Cancellations that a payment provider has not accepted: %(count)s") % {"count": count},
            _("Until it does, people may be charged for what they have cancelled. Each payment's page says why. Cancel "
              "it at the provider's dashboard before the next period begins."),
            ((_("These payments"), list_url(Payment, cancellation__try_at__isnull=False)),),
        )  # fmt: skip
    if count := _count(Payment.objects.filter(disputed="open")):
        yield Alert(
            _("Payments are disputed: %(count)s") % {"count": count},
            _("Answer at the payment provider before its deadline, which each payment's page shows."),
            ((_("These payments"), list_url(Payment, disputed__exact="open")),),
        )
    for row in PaymentAccount.objects.filter(ignored__gt=0)[:MAX_ALERTS]:
        yield Alert(
            _("%(account)s receives webhooks of the other mode") % {"account": row.slug},
            _("Live and test keys were mixed up, here or in the provider's dashboard."),
            ((_("The account"), admin_url(row)),),
            urgent=False,
        )


def _maintenance() -> Iterator[Alert]:
    # Four days are longer than all tries of a revocation and of a delivery, so something else holds these up.
    count = Erasure.objects.filter(done_at=None, asked_at__lt=clock.now() - ERASED_BY)[:MAX_COUNT].count()
    if count:
        yield Alert(
            _("People wait to be deleted: %(count)d") % {"count": count},
            _("They asked days ago, and some of their data is still here: most likely a checkout page that its "
              "provider has not closed. Their agents lost access at once."),
            urgent=False,
        )  # fmt: skip
    old = VaultKey.objects.exclude(key_id=vault.ring().newest).order_by("key_id").values_list("key_id", flat=True)
    if old:
        yield Alert(
            _("A vault key can be retired: %(keys)s") % {"keys": ", ".join(old)},
            _("Run manage.py rotate. Then remove it from ELICIT_VAULT_KEYS and restart."),
            urgent=False,
        )
    if settings.SECRET_KEY_FALLBACKS:
        yield Alert(
            _("An earlier SECRET_KEY is still accepted"),
            _("Twelve hours after the change nobody needs it: remove it from SECRET_KEY_FALLBACKS."),
            urgent=False,
        )
    development = {"ELICIT_DEBUG": settings.DEBUG, "ELICIT_ALLOW_LOOPBACK": settings.ELICIT_ALLOW_LOOPBACK}
    names = [name for name, on in development.items() if on]
    if names:
        detail = _("They are unsafe where others can reach the service: %(names)s.") % {"names": ", ".join(names)}
        yield Alert(_("Development settings are on"), detail, urgent=False)
    elif not settings.ELICIT_ADMIN_SECOND_FACTOR:
        detail = _("ELICIT_ADMIN_SECOND_FACTOR is off.")
        yield Alert(_("Operators need no second factor"), detail, urgent=False)
