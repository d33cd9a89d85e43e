"""Import tokens of accounts that were connected elsewhere."""

from __future__ import annotations

import csv
import shlex
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from pydantic import Field, ValidationError

from elicit_flows import elicitations, vault
from elicit_flows.api.connection_import import ImportConnection
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Json
from elicit_flows.management.progress import Progress
from elicit_flows.management.token_files import FORMATS, CannotTake, Defaults, Format
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


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a file, without blank ones. Iterating reads the file again, so that a long one needs little memory.

    Raises OSError if the file cannot be read.
    """

    path: Path
    format: Format
    defaults: Defaults

    def __iter__(self) -> Iterator[tuple[Agent, Line] | LineFault]:
        agents = {agent.slug: agent for agent in Agent.objects.all()}
        # By agent, person, provider and account: of two lines for one account, one set of tokens would be lost.
        seen: dict[tuple[str, ...], int] = {}
        for number, said in self.format.read(self.path, self.defaults):
            if isinstance(said, CannotTake):
                yield LineFault(number, said.key, said.message)
                continue
            read = self._read(number, said, agents)
            if not isinstance(read, LineFault):
                one = read[1]
                account = (one.account.id, str(sorted(one.variables.items()))) if one.account else ()
                key = (one.agent, one.subject.iss, one.subject.sub, one.provider, *account)
                first = seen.setdefault(key, number)
                if first != number:
                    read = LineFault(number, self.format.place("account"), f"Line {first} has this account already.")
            yield read

    def _read(self, number: int, said: Json, agents: dict[str, Agent]) -> tuple[Agent, Line] | LineFault:
        try:
            line = Line.model_validate(said)
            agent = agents.get(line.agent)
            if agent is None:
                return LineFault(number, self.format.place("agent"), "There is no agent with this slug.")
            elicitations.check_import(agent, line.claim(), line.provider, line.variables)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            return LineFault(number, self.format.place(key), str(first["msg"]))
        except Invalid as error:
            key, message = next(iter(error.by_field().items()))
            return LineFault(number, self.format.place(key), message)
        return agent, line


def _pair(text: str) -> tuple[str, str]:
    theirs, equals, ours = text.partition("=")
    if not (theirs and equals and ours):
        raise ArgumentTypeError(f"{text!r} is not THEIRS=OURS")
    return theirs, ours


class Command(BaseCommand):
    help = (
        "Create connections from the tokens in FILE (docs/how-to/import-tokens.md). All lines are checked before the "
        "first is imported. Accounts that are connected already are not changed, so a run that was stopped can be "
        "repeated."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--format", choices=FORMATS, help="default: csv for a file that ends so, or else jsonl")
        parser.add_argument("--agent", default="", help="the agent, for lines that name none")
        parser.add_argument("--issuer", default="", help="the issuer of the users, for lines that name none")
        parser.add_argument(
            "--provider", action="append", default=[], type=_pair, metavar="THEIRS=OURS",
            help="the slug here of what the file calls otherwise",
        )  # fmt: skip
        parser.add_argument(
            "--variable", action="append", default=[], type=_pair, metavar="THEIRS=OURS",
            help="nango, composio: the setting that holds a variable of the provider's addresses",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="check every line, and import nothing")
        parser.add_argument("--skip-wrong", action="store_true", help="import the other lines if some cannot be taken")
        parser.add_argument("--report", type=Path, metavar="FILE.csv", help="write there which lines and why")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        name = options["format"] or ("csv" if file.suffix.lower() == ".csv" else "jsonl")
        providers, variables = dict(options["provider"]), dict(options["variable"])
        defaults = Defaults(options["agent"], options["issuer"], providers, variables)
        lines = Lines(file, FORMATS[name], defaults)
        report, skip = options["report"], options["skip_wrong"]
        if report and report.exists():
            raise CommandError(f"{report} exists already. Name another file for the report.")
        try:
            good, wrong = self._check(lines, report)
            if options["dry_run"]:
                self.stdout.write(f"{good:,} lines could be imported, {wrong:,} not. Nothing was imported.")
                if wrong and not skip:
                    raise CommandError("Without --skip-wrong, none of the lines would be imported.")
                return
            if wrong and not skip:
                raise CommandError(
                    f"Nothing was imported: {wrong:,} of {good + wrong:,} lines are wrong. "
                    "Correct them, or import the others with --skip-wrong."
                )
            pairs = [("--provider", pair) for pair in options["provider"]]
            pairs += [("--variable", pair) for pair in options["variable"]]
            given = [("--format", name), ("--agent", defaults.agent), ("--issuer", defaults.iss)]
            given += [(option, "=".join(pair)) for option, pair in pairs]
            words = [word for option, value in given if value for word in (option, value)]
            again = shlex.join(["manage.py", "import_tokens", str(file), *words, *(["--skip-wrong"] if skip else [])])
            done = self._import_all(lines, good, skip, again)
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read or written ({error.strerror}).") from error
        left = f"; {wrong:,} lines were left out" if wrong else ""
        self.stdout.write(f"{done}{left}. Delete the file: it contains the tokens in plain text.")

    def _import_all(self, lines: Lines, total: int, skip: bool, again: str) -> Progress:
        with Progress(self.stderr, again, total) as progress:
            remaining, operator = iter(lines), vault.ConnectionUse.Actor.OPERATOR
            while batch := list(islice(remaining, BATCH)):
                taken = [item for item in batch if not isinstance(item, LineFault)]
                fault = next((item for item in batch if isinstance(item, LineFault)), None)
                if fault and not skip:
                    raise CommandError(f"The file was changed meanwhile: line {fault}")
                with transaction.atomic():
                    rows = [
                        elicitations.import_connection(agent, line.claim(), line.provider, line.grant(), operator)
                        for agent, line in taken
                    ]
                imported = sum(row is not None for row in rows)  # the others were connected already
                progress.done("imported", imported)
                progress.done("connected already", len(taken) - imported)
        return progress

    def _check(self, lines: Lines, report: Path | None) -> tuple[int, int]:
        """How many lines can be imported, and how many not. Those are shown, and written to ``report``."""
        good = wrong = 0
        out: TextIO | None
        with report.open("x", encoding="utf-8", newline="") if report else nullcontext() as out:
            rows = csv.writer(out) if out else None
            if rows:
                rows.writerow(("line", "where", "why"))
            for line in lines:
                if not isinstance(line, LineFault):
                    good += 1
                    continue
                wrong += 1
                if wrong <= MAX_SHOWN:
                    self.stderr.write(f"{lines.path}:{line}")
                if rows:
                    rows.writerow((line.line, line.key, line.message))
        if wrong > MAX_SHOWN:
            self.stderr.write(f"The first {MAX_SHOWN} are shown.")
        return good, wrong
