"""The provider catalogue: what there is, what it says, and whether it is so."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from elicit_flows import catalogue
from elicit_flows.catalogue import Entry
from elicit_flows.lib import clock, oauth
from elicit_flows.management.catalogue import writing
from elicit_flows.management.catalogue.probing import probe
from elicit_flows.management.progress import Progress

KINDS = ("oauth", "api_key", "basic", "client_credentials")
CHECKED = ("document", "library", "unverified")


class Command(BaseCommand):
    help = "The provider catalogue (docs/catalogue.md). Without a word: lists it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--kind", choices=KINDS)
        parser.add_argument("--checked", choices=CHECKED)
        words = parser.add_subparsers(dest="word", metavar="show | test | from-discovery")
        show = words.add_parser("show", help="what an entry says")
        show.add_argument("slug")
        test = words.add_parser("test", help="ask the provider, without a client and without a secret")
        test.add_argument("slug", nargs="?", help="left out: every entry that needs no variable, one after the other")
        test.add_argument("--after", metavar="SLUG", help="of every entry: those that come after this one")
        test.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the entry")
        made = words.add_parser("from-discovery", help="print an entry from what a server publishes about itself")
        made.add_argument("issuer")
        made.add_argument("--slug", required=True)
        made.add_argument("--name", help="for people; the slug when left out")

    def handle(self, *args: Any, word: str | None, **options: Any) -> None:
        does = {None: self._list, "show": self._show, "test": self._test, "from-discovery": self._made}
        try:
            does[word](options)
        except catalogue.BadCatalogue as bad:
            raise CommandError(str(bad)) from None

    def _list(self, options: Mapping[str, Any]) -> None:
        entries = list(catalogue.entries().values())
        for name in ("kind", "checked"):
            entries = [entry for entry in entries if options[name] in (None, getattr(entry, name))]
        for entry in entries:
            self.stdout.write(f"{entry.slug:24} {entry.kind:18} {_checked(entry):20} {entry.name}")
        counts: Counter[tuple[str, str]] = Counter((entry.kind, entry.checked) for entry in entries)
        for kind in KINDS:
            said = ", ".join(f"{counts[kind, one]} {one}" for one in CHECKED if counts[kind, one])
            if said:
                self.stdout.write(f"{kind}: {sum(counts[kind, one] for one in CHECKED)} ({said})")

    def _show(self, options: Mapping[str, Any]) -> None:
        entry = _entry(options["slug"])
        self.stdout.write(writing.facts(entry))
        if entry.note:
            self.stdout.write(f"note: {entry.note}")
        for name in entry.libraries:  # an operator's own entry may name others than we compare with
            version = catalogue.libraries().get(name, {}).get("version", "")
            self.stdout.write(f"agrees with: {name} {version}".rstrip())
        self.stdout.write(f"\n{writing.table(entry)}")

    def _test(self, options: Mapping[str, Any]) -> None:
        if options["slug"] is None:
            self._test_all(options["after"] or "")
            return
        entry = _entry(options["slug"])
        variables = dict(one.partition("=")[::2] for one in options["set"])
        try:
            found = list(probe(entry, variables))
        except ValueError as error:
            raise CommandError(f"{error}; give it as --set NAME=VALUE") from None
        for fine, what, said in found:
            self.stdout.write(f"{'fine' if fine else 'NOT SO':8} {what:10} {said}")
        if not all(one.fine for one in found):
            raise CommandError(f"{entry.name} is not as its entry says, or cannot be reached from here.")

    def _test_all(self, after: str) -> None:
        entries = [entry for slug, entry in catalogue.entries().items() if slug > after and not entry.variables]
        wrong = 0
        with Progress(self.stderr, "manage.py providers test", total=len(entries)) as progress:
            for entry in entries:
                faults = [f"{what} {said}" for fine, what, said in probe(entry, {}) if not fine]
                self.stdout.write(f"{'NOT SO' if faults else 'fine':8} {entry.slug:24} {'; '.join(faults)}".rstrip())
                wrong += bool(faults)
                progress.again = f"manage.py providers test --after {entry.slug}"
                progress.done("entries")
        if wrong:
            raise CommandError(f"{wrong} are not as their entry says, or cannot be reached from here.")

    def _made(self, options: Mapping[str, Any]) -> None:
        try:
            found = oauth.discover(options["issuer"])
        except oauth.DiscoveryError as error:
            raise CommandError(str(error)) from None
        slug = options["slug"]
        self.stdout.write(writing.from_discovery(slug, options["name"] or slug, found, clock.now().date()))


def _entry(slug: str) -> Entry:
    entry = catalogue.find(slug)
    if entry is None:
        raise CommandError(f"There is no entry {slug}. `manage.py providers` lists them.")
    return entry


def _checked(entry: Entry) -> str:
    return f"{entry.checked} {entry.checked_on}" if entry.checked_on else entry.checked
