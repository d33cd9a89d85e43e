"""Runs the worker's jobs in the test process until nothing is due."""

from __future__ import annotations

from elicit_flows import elicitations, vault
from elicit_flows.jobs import worker


def tick() -> None:
    """What time has made due, but for refreshes and polling."""
    for due in (worker.Plain(worker.expire), worker.payments(), worker.revocations()):
        worker.until_idle(due)


def deliver() -> None:
    worker.until_idle(worker.WebhookDeliveries())


def notify() -> None:
    worker.until_idle(worker.notify())


def refresh() -> None:
    worker.until_idle(vault.Refreshes())


def refresh_due() -> int:
    """One round; how many connections were seen to."""
    return _one(vault.Refreshes())


def poll_due() -> int:
    """One round; how many attempts were asked about."""
    return _one(elicitations.Polls())


def _one(doing: worker.JobRun) -> int:
    started = doing.start_due()
    doing.close()
    return started


def sweep_payments(limit: int = 50) -> int:
    """One payment after the other, in this thread; how many were seen to."""
    accounts = elicitations.payment_accounts_due([])
    return sum(elicitations.follow_up(row) for one in accounts for row in elicitations.payments_due(one, limit))


def tell_due_providers() -> int:
    """Of revocations, one after the other, in this thread; how many were told."""
    due = [row for provider in vault.providers_due([]) for row in vault.revocations_due(provider, 20)]
    return sum(map(vault.tell_of_revocation, due))


def revoke_rejected_grants() -> int:
    """In the same way."""
    due = [row for slug in vault.providers_of_rejected_grants([]) for row in vault.rejected_grants_due(slug, 20)]
    return sum(map(vault.revoke_rejected_grant, due))
