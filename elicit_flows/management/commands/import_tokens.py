"""Import tokens of accounts that were connected elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from pydantic import Field, ValidationError

from elicit_flows import elicitations, vault
from elicit_flows.api import parsing
from elicit_flows.api.connection_import import ImportConnection
from elicit_flows.domain.errors import BadRequest, Invalid, TooLarge
from elicit_flows.management.progress import Progress
from elicit_flows.models import Agent

BATCH = 100
MAX_SHOWN = 100  # wrong lines that are shown one by one


class Line(ImportConnection):
    """As the body of the API's import, and the slug of the agent that gets the connection."""

    agent: str = Field(max_length=64)


@dataclass(frozen=True, slots=True)
class LineFault:
    """``key`` is "" if the whole line is wrong. No value of the line is repeated, since it may be a token."""

    line: int
    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.key}: {self.message}" if self.key else f"{self.line}: {self.message}"


class Lines:
    """The lines of a file, without blank ones. Iterating reads the file again, so that a long one needs no memory.

    Raises OSError if the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._agents = {agent.slug: agent for agent in Agent.objects.all()}

    def __iter__(self) -> Iterator[tuple[Agent, Line] | LineFault]:
        with self._path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield self._read(number, raw)

    def _read(self, number: int, raw: bytes) -> tuple[Agent, Line] | LineFault:
        try:
            line = Line.model_validate(parsing.parse_json(raw))
            agent = self._agents.get(line.agent)
            if agent is None:
                return LineFault(number, "agent", "There is no agent with this slug.")
            elicitations.check_import(agent, line.claim(), line.provider)
        except (BadRequest, TooLarge) as error:
            return LineFault(number, "", error.detail)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            return LineFault(number, ".".join(map(str, first["loc"])), str(first["msg"]))
        except Invalid as error:
            return LineFault(number, next(iter(error.by_field())), error.detail)
        return agent, line


class Command(BaseCommand):
    help = (
        "Create connections from the tokens in FILE, one JSON object per line: agent, subject, provider, access_token, "
        "refresh_token, expires_at, scopes, account. All lines are checked before the first is imported. Accounts that "
        "are connected already are not changed, so a run that was stopped can be repeated."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.jsonl", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            total = self._check(file)
            lines = iter(Lines(file))
            with Progress(self.stderr, f"manage.py import_tokens {file}", total) as progress:
                while batch := list(islice(lines, BATCH)):
                    imported = self._import_batch(batch)
                    progress.done("imported", imported)
                    progress.done("connected already", len(batch) - imported)
        except OSError as error:
            raise CommandError(f"{file} cannot be read ({error.strerror}).") from error
        self.stdout.write(f"{progress}. Delete the file: it contains the tokens in plain text.")

    def _check(self, file: Path) -> int:
        """How many lines there are. Raises CommandError if one of them is wrong."""
        good = wrong = 0
        for line in Lines(file):
            if not isinstance(line, LineFault):
                good += 1
                continue
            wrong += 1
            if wrong <= MAX_SHOWN:
                self.stderr.write(f"{file}:{line}")
        if wrong:
            more = f" The first {MAX_SHOWN} are shown." if wrong > MAX_SHOWN else ""
            raise CommandError(f"Nothing was imported: {wrong:,} of {good + wrong:,} lines are wrong.{more}")
        return good

    def _import_batch(self, batch: list[tuple[Agent, Line] | LineFault]) -> int:
        """How many of the lines became connections."""
        imported = 0
        with transaction.atomic():
            for item in batch:
                if isinstance(item, LineFault):
                    raise CommandError(f"The file was changed meanwhile: line {item}")
                agent, line = item
                operator = vault.ConnectionUse.Actor.OPERATOR
                row = elicitations.import_connection(agent, line.claim(), line.provider, line.grant(), operator)
                imported += row is not None
        return imported
