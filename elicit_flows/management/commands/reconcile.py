"""Compare what is recorded of payments with the balance transactions of the payment provider."""

from __future__ import annotations

import csv
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import astuple, fields
from datetime import date, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import vault
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import PaymentError
from elicit_flows.kinds.payment.values import BalanceLine, Movement
from elicit_flows.lib import amounts, clock
from elicit_flows.lib.csv_cells import csv_cells
from elicit_flows.models import PaymentAccount
from elicit_flows.payments.reconciliation import Difference, Fault, Reconciliation

DAYS = 31  # of the period, unless another one is given
FIRST_YEAR, LAST_YEAR = 2000, 9000  # lines are looked for on days before and after the period, too
MEANINGS = {
    Fault.CHARGE_UNKNOWN: "charged at the provider, not recorded as paid here",
    Fault.CHARGE_MISSING: "recorded as paid here, not charged at the provider",
    Fault.AMOUNT: "charged at the provider with another amount",
    Fault.REFUND_UNKNOWN: "refunded at the provider, not recorded here",
    Fault.REFUND_MISSING: "recorded as refunded here, not refunded at the provider",
    Fault.REFUND_AMOUNT: "refunded with another amount",
    Fault.DISPUTE_UNKNOWN: "disputed at the provider, not recorded here",
    Fault.FOREIGN: "not of this service",
}


class Command(BaseCommand):
    help = (
        "Compare the payments, refunds and disputes of a payment account with the balance transactions of its "
        "provider, and list every difference. Changes nothing. Ends with 1 if there is a difference."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("account", help="the slug of a payment account")
        parser.add_argument("--since", type=date.fromisoformat, metavar="YYYY-MM-DD", help="the first day (UTC)")
        parser.add_argument("--until", type=date.fromisoformat, metavar="YYYY-MM-DD", help="the last day (UTC)")
        parser.add_argument("--foreign", action="store_true", help="list what is not of this service too")
        parser.add_argument("--csv", action="store_true", help="print the differences alone, as CSV")

    def handle(self, *args: Any, account: str, foreign: bool, **options: Any) -> None:
        since, until = _period(options["since"], options["until"])
        row = PaymentAccount.objects.filter(slug=account).first()
        if row is None:
            raise CommandError(f"There is no payment account {account!r}. manage.py export lists them.")
        compared = Reconciliation(row, clock.midnight(since), clock.midnight(until) + timedelta(days=1))
        try:
            for lines in _pages(row, compared):
                compared.add(lines)
        except PaymentError as error:
            raise CommandError(f"{account}: {error} Nothing was compared; run it again.") from error
        found = compared.differences()
        ours = [one for one in found if one.fault is not Fault.FOREIGN]
        shown = found if foreign else ours
        if options["csv"]:
            writer = csv.writer(self.stdout)
            writer.writerow([one.name for one in fields(Difference)])
            writer.writerows(csv_cells(astuple(one)) for one in shown)
        else:
            self.stdout.write(f"{account}, {since} to {until} (UTC), at {row.provider}:")
            self._report(compared, shown)
            if len(found) > len(shown):
                self.stdout.write(f"{len(found) - len(shown)} are not of this service; --foreign lists them.")
            self.stdout.write(f"{len(ours)} differences." if len(ours) != 1 else "1 difference.")
        if ours:
            sys.exit(1)

    def _report(self, compared: Reconciliation, shown: list[Difference]) -> None:
        for (movement, currency), amount in sorted(compared.sums.items()):
            if movement is not Movement.OTHER:
                self.stdout.write(f"  {movement}: {amounts.show(amount, currency, 'en')}")
        for one in shown:
            sides = " / ".join(filter(None, (one.here and f"here {one.here}", one.there and f"there {one.there}")))
            when, payment = f"{one.at:%Y-%m-%d %H:%M}", one.payment or "-"
            self.stdout.write(f"{when} {payment} {one.ref}: {MEANINGS[one.fault]}; {sides}")


def _period(first: date | None, last: date | None) -> tuple[date, date]:
    if not all(FIRST_YEAR <= day.year <= LAST_YEAR for day in (first, last) if day):
        raise CommandError(f"Give days of the years from {FIRST_YEAR} to {LAST_YEAR}.")
    until = last or clock.now().date()
    since = first or until - timedelta(days=DAYS)
    if since > until:
        raise CommandError(f"--since {since} is after --until {until}: the first day comes first.")
    return since, until


def _pages(row: PaymentAccount, compared: Reconciliation) -> Iterator[tuple[BalanceLine, ...]]:
    provider = providers.reporting(row.provider)
    if provider is None:
        raise CommandError(f"{row.slug}: {row.provider} does not list balance transactions here.")
    account, after = vault.account(row), ""
    while True:
        page = provider.balance(account, compared.first, compared.last, after)
        yield page.lines
        after = page.after
        if not after:
            return
