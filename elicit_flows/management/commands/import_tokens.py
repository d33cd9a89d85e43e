"""Bring tokens that accounts were connected with elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from elicit_flows import flow, vault
from elicit_flows.management.progress import Progress
from elicit_flows.management.token_lines import Fault, Lines

BATCH = 100
SHOWN = 100  # wrong lines that are told one by one


class Command(BaseCommand):
    help = (
        "Make connections of the tokens in FILE, one JSON object a line: agent, subject, provider, access_token, "
        "refresh_token, expires_at, scopes, account. Every line is checked before any is kept. Accounts that are "
        "connected already are left as they are, so a run that was stopped is run again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.jsonl", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            total = self._check(file)
            self._bring(file, total)
        except OSError as error:
            raise CommandError(f"{file} cannot be read ({error.strerror}).") from error

    def _check(self, file: Path) -> int:
        """How many lines there are. Raises CommandError when one of them is wrong."""
        good = wrong = 0
        for line in Lines(file):
            if not isinstance(line, Fault):
                good += 1
                continue
            wrong += 1
            if wrong <= SHOWN:
                self.stderr.write(f"{file}:{line}")
        if wrong:
            more = f" The first {SHOWN} are shown." if wrong > SHOWN else ""
            raise CommandError(f"Nothing was imported: {wrong:,} of {good + wrong:,} lines are wrong.{more}")
        return good

    def _bring(self, file: Path, total: int) -> None:
        lines = iter(Lines(file))
        with Progress(self.stderr, f"manage.py import_tokens {file}", total) as progress:
            while batch := list(islice(lines, BATCH)):
                kept = self._keep(batch)
                progress.done("imported", kept)
                progress.done("connected already", len(batch) - kept)
        self.stdout.write(f"{progress}. Delete the file: it holds the tokens in the clear.")

    def _keep(self, batch: list[Any]) -> int:
        kept = 0
        with transaction.atomic():
            for line in batch:
                if isinstance(line, Fault):
                    raise CommandError(f"The file was changed meanwhile: line {line}")
                agent, said = line
                row = flow.bring(agent, said.claim(), said.provider, said.grant(), vault.Use.Actor.OPERATOR)
                kept += row is not None
        return kept
