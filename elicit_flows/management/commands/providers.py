"""List, show and test the entries of the provider catalogue, and make new ones."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import catalogue, oauth
from elicit_flows.catalogue import Entry, library_copies, most_used
from elicit_flows.catalogue.probe import probe
from elicit_flows.lib import clock
from elicit_flows.management import provider_check, provider_entries
from elicit_flows.management.progress import Progress
from elicit_flows.management.provider_check import Verdict

KINDS = ("oauth", "api_key", "basic", "client_credentials")
CHECKED = ("document", "library", "unverified")


class Command(BaseCommand):
    help = "The provider catalogue (docs/reference/catalogue.md). Without a subcommand: lists it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--kind", choices=KINDS)
        parser.add_argument("--checked", choices=CHECKED)
        words = parser.add_subparsers(dest="word", metavar="show | check | test | from-discovery")
        show = words.add_parser("show", help="print an entry")
        show.add_argument("slug")
        check = words.add_parser(
            "check", help="compare entries with the metadata that the provider publishes and with libraries"
        )
        check.add_argument("slugs", nargs="*", metavar="NAME", help="default: every entry for OAuth")
        check.add_argument("--offline", action="store_true", help="compare with the libraries alone; asks nobody")
        check.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the entries")
        test = words.add_parser("test", help="check an entry against the provider's servers; needs no client")
        test.add_argument("slug", nargs="?", help="the entry to check; default: every entry that needs no variable")
        test.add_argument("--after", metavar="SLUG", help="without a slug: check only the entries after this one")
        test.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the entry")
        discovery = words.add_parser("from-discovery", help="print an entry from the metadata that a server publishes")
        discovery.add_argument("issuer")
        discovery.add_argument("--slug", required=True)
        discovery.add_argument("--name", help="the name that people see; default: the slug")

    def handle(self, *args: Any, word: str | None, **options: Any) -> None:
        subcommands = {
            None: self._list,
            "show": self._show,
            "check": self._check,
            "test": self._test,
            "from-discovery": self._from_discovery,
        }
        try:
            subcommands[word](options)
        except catalogue.BadCatalogue as error:
            raise CommandError(str(error)) from None

    def _list(self, options: Mapping[str, Any]) -> None:
        entries = list(catalogue.entries().values())
        for name in ("kind", "checked"):
            entries = [entry for entry in entries if options[name] in (None, getattr(entry, name))]
        for entry in entries:
            checked = f"{entry.checked} {entry.checked_on}" if entry.checked_on else entry.checked
            self.stdout.write(f"{entry.slug:24} {entry.kind:18} {checked:20} {entry.name}")
        counts: Counter[tuple[str, str]] = Counter((entry.kind, entry.checked) for entry in entries)
        for kind in KINDS:
            by_check = {checked: counts[kind, checked] for checked in CHECKED if counts[kind, checked]}
            if by_check:
                details = ", ".join(f"{count} {checked}" for checked, count in by_check.items())
                self.stdout.write(f"{kind}: {sum(by_check.values())} ({details})")

    def _show(self, options: Mapping[str, Any]) -> None:
        entry = _entry(options["slug"])
        self.stdout.write(provider_entries.entry_facts(entry))
        if entry.note:
            self.stdout.write(f"note: {entry.note}")
        for name in entry.libraries:  # the catalogue's tests compare it with these libraries
            version = catalogue.libraries().get(name, {}).get("version", "")
            self.stdout.write(f"agrees with: {name} {version}".rstrip())
        self.stdout.write(f"\n{provider_entries.provider_table(entry)}")

    def _check(self, options: Mapping[str, Any]) -> None:
        """Fails if an entry differs from the provider's own metadata. What could not be compared is said."""
        slugs = options["slugs"] or [one.slug for one in catalogue.entries().values() if one.kind == "oauth"]
        entries = [_entry(slug) for slug in slugs]
        given = dict(pair.partition("=")[::2] for pair in options["set"])
        for entry in entries:
            if entry.kind != "oauth":
                raise CommandError(f"{entry.slug} is for {entry.kind}, and has no endpoints to compare.")
            if strange := given.keys() - entry.examples.keys():
                raise CommandError(f"{entry.slug} has no variable {min(strange)}.")
        again = ["manage.py", "providers", "check", *(["--offline"] if options["offline"] else [])]
        again += [word for pair in options["set"] for word in ("--set", pair)]
        counts: Counter[tuple[Verdict, bool]] = Counter()
        with Progress(self.stderr, "manage.py providers check", total=len(entries)) as progress:
            for number, entry in enumerate(entries, 1):
                found = list(provider_check.compared(entry, given, library_copies.copies(), options["offline"]))
                for one in found:
                    line = f"{entry.slug:24} {one.verdict:8} {one.source:28} {one.details}"
                    self.stdout.write(line.rstrip())
                    counts[one.verdict, one.source == "metadata"] += 1
                progress.again = shlex.join([*again, *slugs[number:]])
                progress.done("entries")
        differ, unknown = (counts[verdict, True] for verdict in (Verdict.DIFFERS, Verdict.UNKNOWN))
        asked = f"{differ} differ from their metadata, {unknown} could not be compared with any"
        self.stdout.write(
            f"{len(entries)} entries: {'nobody was asked for metadata' if options['offline'] else asked}; "
            f"libraries agree {counts[Verdict.AGREES, False]} times and differ {counts[Verdict.DIFFERS, False]} times."
        )
        if not options["slugs"]:
            self.stdout.write(most_used.answered([_entry(slug) for slug in most_used.MOST_USED]))
        if differ:
            raise CommandError(f"{differ} entries are not as the provider's own metadata say.")

    def _test(self, options: Mapping[str, Any]) -> None:
        if options["slug"] is None:
            after = options["after"] or ""
            entries = [entry for slug, entry in catalogue.entries().items() if slug > after and not entry.variables]
            wrong = 0
            with Progress(self.stderr, "manage.py providers test", total=len(entries)) as progress:
                for entry in entries:
                    faults = [f"{what} {answer}" for fine, what, answer in probe(entry, {}) if not fine]
                    self.stdout.write(
                        f"{'NOT SO' if faults else 'fine':8} {entry.slug:24} {'; '.join(faults)}".rstrip()
                    )
                    wrong += bool(faults)
                    progress.again = f"manage.py providers test --after {entry.slug}"
                    progress.done("entries")
            if wrong:
                raise CommandError(f"{wrong} do not match their entries, or cannot be reached from here.")
            return
        entry = _entry(options["slug"])
        variables = dict(pair.partition("=")[::2] for pair in options["set"])
        try:
            results = list(probe(entry, variables))
        except ValueError as error:
            raise CommandError(f"{error}; give it as --set NAME=VALUE") from None
        for fine, what, answer in results:
            self.stdout.write(f"{'fine' if fine else 'NOT SO':8} {what:10} {answer}")
        if not all(result.fine for result in results):
            raise CommandError(f"{entry.name} does not match its entry, or cannot be reached from here.")

    def _from_discovery(self, options: Mapping[str, Any]) -> None:
        try:
            metadata = oauth.discover(options["issuer"])
        except oauth.DiscoveryError as error:
            raise CommandError(str(error)) from None
        slug = options["slug"]
        self.stdout.write(
            provider_entries.entry_from_discovery(slug, options["name"] or slug, metadata, clock.now().date())
        )


def _entry(slug: str) -> Entry:
    entry = catalogue.find(slug)
    if entry is None:
        raise CommandError(f"There is no entry {slug}. `manage.py providers` lists them.")
    return entry
