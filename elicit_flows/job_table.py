"""The background jobs, one entry each: what it does, how often it looks, its limits and lease, and when it is late.

Read by the settings (queues and beat's schedule), the worker, the modules that do the work, /metrics, /incidents and
the documentation. The name of a job is also the name of its queue and task, and its label in the metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from elicit_flows.lib.text import gettext_noop

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    work: str  # what is not done while the job does not run
    every: float  # seconds between two looks for due rows, if no hint comes earlier
    # How many calls one process makes at a time, in all and to one party; and what a party is.
    limit: int = 0
    per_party: int = 0
    party: str = ""
    # How long a claimed row belongs to the process that claimed it: longer than the longest call.
    lease: timedelta = timedelta()
    # When the job counts as late: longer than three looks and the lease.
    late_after: timedelta = 3 * MINUTE
    lag: tuple[str, ...] = ()  # kinds of rows whose oldest due one is measured, see jobs/lag.py

    @property
    def task(self) -> str:
        return f"elicit_flows.jobs.tasks.{self.name}"


DELIVER = Job(
    "deliver", gettext_noop("sending webhooks"), every=1.0,
    limit=128, per_party=4, party="agent", lease=MINUTE, lag=("delivery",),
)  # fmt: skip
EXPIRE = Job(
    "expire", gettext_noop("expiring elicitations, deleting people's data at their request"), every=5.0,
    lag=("elicitation", "erasure"),
)  # fmt: skip
# Each of these calls also uses a database connection.
PAYMENTS = Job(
    "payments", gettext_noop("checking payments"), every=5.0,
    limit=8, per_party=2, party="payment account", lease=MINUTE, lag=("payment",),
)  # fmt: skip
REVOCATIONS = Job(
    "revocations", gettext_noop("revoking grants at providers"), every=5.0,
    limit=8, per_party=2, party="provider", lease=MINUTE, lag=("revocation",),
)  # fmt: skip
# All claimed rows are refreshed at the same time, because a waiting one could lose its lease.
REFRESH = Job(
    "refresh", gettext_noop("refreshing tokens"), every=5.0,
    limit=64, per_party=16, party="provider", lease=timedelta(seconds=30), lag=("refresh",),
)  # fmt: skip
POLL = Job(
    "poll", gettext_noop("polling for device codes"), every=1.0,
    limit=64, per_party=16, party="provider", lease=MINUTE, lag=("code",),
)  # fmt: skip
NOTIFY = Job(
    "notify", gettext_noop("telling people that a request waits for them"), every=5.0,
    limit=12, per_party=4, party="channel", lease=2 * MINUTE, lag=("notification",),
)  # fmt: skip
AUDIT = Job("audit", gettext_noop("sending the audit log"), every=5.0, lease=MINUTE)
PURGE = Job("purge", gettext_noop("deleting old data"), every=3600.0, late_after=timedelta(hours=3))

JOBS = (DELIVER, EXPIRE, PAYMENTS, REVOCATIONS, REFRESH, POLL, NOTIFY, AUDIT, PURGE)
BY_NAME = {job.name: job for job in JOBS}
