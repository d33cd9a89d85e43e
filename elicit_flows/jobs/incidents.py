"""The incidents of this installation: the alerts of deploy/alerts.yml, found without Prometheus.

Each has the name of its alert. None names an agent or a person, because anybody on the internal network may read them
(threat T115).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from elicit_flows import vault
from elicit_flows.job_table import DELIVER, JOBS, PURGE
from elicit_flows.jobs import lag, metrics_store, readiness
from elicit_flows.lib import clock
from elicit_flows.models import Health, VaultKey
from elicit_flows.payments import disputes, refunds

RUNBOOKS = "docs/how-to/runbooks.md"
MOST = 1000  # rows that are counted
KEY_AGE = timedelta(days=400)
EVIDENCE_BEFORE = timedelta(days=3)
ERROR_SHARE, MIN_ERRORS = 0.02, 10  # of the answers
REFRESH_SHARE, MIN_REFRESHES = 0.2, 5  # of the refreshes at one provider
RECENT = timedelta(hours=1)
_START = gettext_lazy(
    "Check that a worker runs for every job: Celery's with beat, or manage.py work; without a broker the web process "
    "itself. Nothing is lost; it is done when a worker runs again."
)
_OLDEST = {
    "refresh": (
        gettext_lazy("Tokens are not refreshed in time"),
        gettext_lazy("Agents, who get an expired token refreshed only when they ask for it."),
    ),
    "elicitation": (
        gettext_lazy("Elicitations do not expire in time"),
        gettext_lazy("Agents that wait for the end of what nobody answered."),
    ),
    "payment": (
        gettext_lazy("Payments are not checked in time"),
        gettext_lazy("People who have paid and agents that wait for it; refunds and cancellations, too."),
    ),
    "revocation": (
        gettext_lazy("Providers are not told of revocations in time"),
        gettext_lazy("People who revoked: this service gives out no token of theirs, but the provider knows nothing."),
    ),
    "code": (
        gettext_lazy("Providers are not asked about codes that people typed there"),
        gettext_lazy("People who typed a code at a provider, and agents that wait for them."),
    ),
    "notification": (
        gettext_lazy("People are not told in time that a request waits for them"),
        gettext_lazy(
            "People who would have been told by e-mail or chat. The requests wait for them as long as before."
        ),
    ),
    "erasure": (
        gettext_lazy("People are not deleted in time"),
        gettext_lazy("People who asked to be deleted. Their agents lost access at once."),
    ),
}


@dataclass(frozen=True, slots=True)
class Incident:
    """``alert`` is its name in deploy/alerts.yml and the heading of its runbook. ``about`` tells incidents of the same
    alert apart.
    """

    alert: str
    title: str
    who: str
    what_to_do: str
    since: datetime | None = None
    urgent: bool = True
    about: str = ""

    def as_json(self) -> dict[str, object]:
        return {
            "alert": self.alert, "about": self.about, "title": self.title, "who": self.who,
            "what_to_do": self.what_to_do, "since": self.since.isoformat() if self.since else None,
            "severity": "page" if self.urgent else "ticket", "runbook": f"{RUNBOOKS}#{self.alert.lower()}",
        }  # fmt: skip


def format_time(moment: datetime) -> str:
    """The time of day, with the date unless it is today."""
    moment = moment.astimezone(UTC)
    return f"{moment:%H:%M} UTC" if moment.date() == clock.now().date() else f"{moment:%Y-%m-%d %H:%M} UTC"


def current(state: readiness.State) -> list[Incident]:
    """All incidents, urgent ones first. While the database cannot be reached, only those that need no query."""
    found = list(_process(state))
    if state.database not in {readiness.AWAY, readiness.FULL_UP}:
        for look in _LOOKS:
            found += look()
    return sorted(found, key=lambda one: not one.urgent)


def _process(state: readiness.State) -> Iterator[Incident]:
    well = state.well()
    if not well["database"] or not well.get("schema", True):
        said = state.database if not well["database"] else _("its schema is %(what)s") % {"what": state.schema}
        yield Incident(
            "ElicitDatabase",
            _("The database is not well: %(what)s") % {"what": said},
            _("Everybody: agents and people are told to try again."),
            _("See that it runs, that its disk has room and that it takes connections. What was acknowledged is kept."),
            readiness.bad_since("database") or readiness.bad_since("schema"),
        )
    if not well.get("redis", True):
        yield Incident(
            "ElicitRedis",
            _("Redis does not answer"),
            _("Agents that wait are told a second later, and each process counts rate limits by itself. With Redis as "
              "the broker the jobs are late."),
            _("Start it. It keeps nothing that cannot be lost."),
            readiness.bad_since("redis"),
            urgent=False,
        )  # fmt: skip


def _jobs() -> Iterator[Incident]:
    """Jobs that have not run. Each job records every few seconds that it ran; a new installation has a few minutes to
    begin.
    """
    ran = readiness.last_runs()
    late = readiness.late_jobs(ran)
    if not late:
        return
    since, whole = min(late.values()), set(ran) - {PURGE.name} <= set(late)
    title = _("No worker has run since %(at)s") if whole else _("A part of the worker has not run since %(at)s")
    work = ", ".join(_(job.work) for job in JOBS if job.name in late)
    yield Incident(
        "ElicitWorkerDead" if whole else "ElicitJobLate",
        title % {"at": format_time(since)},
        _("Not done: %(what)s. Agents and people wait for it.") % {"what": work},
        str(_START),
        since,
        about="" if whole else ",".join(sorted(late)),
    )


def _due() -> Iterator[Incident]:
    """Work that is overdue although its job runs."""
    now, oldest = clock.now(), lag.oldest()
    before = now - DELIVER.late_after
    if (at := oldest.pop("delivery")) and at < before:
        agents = len(set(lag.deliveries().filter(next_at__lt=before).values_list("agent", flat=True)[:MOST]))
        who = ngettext("%(count)d agent waits for webhooks.", "%(count)d agents wait for webhooks.", agents)
        who %= {"count": agents}
        yield Incident("ElicitDeliveriesLate", _("Webhooks are not being sent"), who, str(_START), at)
    late_after = {what: job.late_after for job in JOBS for what in job.lag}
    for what, at in oldest.items():
        if at and at < now - late_after[what]:
            title, waiting = _OLDEST[what]
            yield Incident("ElicitWorkLate", str(title), str(waiting), str(_START), at, about=what)


def _refreshes() -> Iterator[Incident]:
    for provider, share in _shares("refreshes", {"refused", "unavailable"}, MIN_REFRESHES, group=0, outcome=1).items():
        if share > REFRESH_SHARE:
            state = Health.objects.filter(sort="provider", name=provider).first()
            yield Incident(
                "ElicitRefreshesFail",
                _("%(percent)d %% of the refreshes at %(provider)s fail")
                % {"percent": round(100 * share), "provider": provider},
                _("People's connections there: agents get their tokens until these expire."),
                _("If it refuses us, check the client and its secret; if it does not answer, wait for it or switch it "
                  "off. It is tried again by itself, and no connection is lost."),
                state.failing_since if state else None,
                urgent=False,
                about=provider,
            )  # fmt: skip


def _errors() -> Iterator[Incident]:
    for share in _shares("answers", {"5xx"}, MIN_ERRORS, group=None, outcome=0).values():
        if share > ERROR_SHARE:
            yield Incident(
                "ElicitErrors",
                _("%(percent)d %% of the answers of the last hour are errors") % {"percent": round(100 * share)},
                _("The agents and people who asked: each was told to try again."),
                _("Look for the level “error” in the log, by the number of the request."),
                clock.now() - RECENT,
            )


def _shares(
    name: str, bad: Collection[str], least: int, *, group: int | None, outcome: int
) -> dict[str, float]:  # fmt: skip
    """The share of bad outcomes in the last hour, by label, if there were at least ``least`` bad ones."""
    all_of: Counter[str] = Counter()
    bad_of: Counter[str] = Counter()
    for by_labels in metrics_store.since(name, clock.now() - RECENT).values():
        for labels, counted in by_labels.items():
            key = "" if group is None else labels[group]
            all_of[key] += counted.count
            bad_of[key] += counted.count if labels[outcome] in bad else 0
    return {key: count / all_of[key] for key, count in bad_of.items() if count >= least}


def _refunds() -> Iterator[Incident]:
    failed = refunds.given_up().order_by("created_at").values_list("created_at", flat=True)[:MOST]
    if failed:
        yield Incident(
            "ElicitRefundsFailed",
            _("Refunds failed: %(count)s") % {"count": len(failed)},
            _("The people whose money was not returned. Their agents were told."),
            _("Each refund says why. Try again, here or at the provider."),
            failed[0],
        )


def _evidence() -> Iterator[Incident]:
    """Disputes whose deadline is near. After it the bank takes no evidence, so nothing is said any more."""
    due = disputes.waiting_for_evidence().filter(evidence_due__lt=clock.now() + EVIDENCE_BEFORE)
    deadlines = [at for at in due.values_list("evidence_due", flat=True)[:MOST] if at]
    if deadlines:
        yield Incident(
            "ElicitEvidenceDue",
            _("Disputes that need evidence within three days: %(count)s") % {"count": len(deadlines)},
            _("You: without evidence the bank gives the money back to the payer, and what was bought is taken away."),
            _("Send the evidence, or accept the dispute, in the payment provider's dashboard before %(at)s.")
            % {"at": format_time(deadlines[0])},
        )


def _vault_key() -> Iterator[Incident]:
    newest = VaultKey.objects.filter(pk=vault.ring().newest).first()
    if newest and newest.created_at < clock.now() - KEY_AGE:
        yield Incident(
            "ElicitVaultKeyOld",
            _("The vault's key has been in use since %(at)s") % {"at": format_time(newest.created_at)},
            _("Nobody now. The longer a key is used, the more is open to whoever gets it."),
            _("Put a new key in front of ELICIT_VAULT_KEYS, restart, and run manage.py rotate."),
            newest.created_at,
            urgent=False,
        )


_LOOKS: tuple[Callable[[], Iterator[Incident]], ...] = (
    _jobs, _due, _errors, _refunds, _evidence, _refreshes, _vault_key,
)  # fmt: skip
