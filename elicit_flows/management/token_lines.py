"""The lines of ``manage.py import_tokens``: each is read and held against the configuration before any is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from elicit_flows import flow
from elicit_flows.api import body
from elicit_flows.api.importing import ImportConnection
from elicit_flows.errors import BadRequest, Invalid, TooLarge
from elicit_flows.models import Agent


class Line(ImportConnection):
    """With the slug of the agent whose connection it is to be."""

    agent: str = Field(max_length=64)


@dataclass(frozen=True, slots=True)
class Fault:
    """``key`` is "" where it is the whole line. No value of the line is repeated: it may be a token."""

    line: int
    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.key}: {self.message}" if self.key else f"{self.line}: {self.message}"


class Lines:
    """Read again for every walk, so that a long file needs no memory. Raises OSError where it cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._agents = {agent.slug: agent for agent in Agent.objects.all()}

    def __iter__(self) -> Iterator[tuple[Agent, Line] | Fault]:
        """Blank lines are left out."""
        with self._path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    yield self._read(number, raw)

    def _read(self, number: int, raw: bytes) -> tuple[Agent, Line] | Fault:
        try:
            line = Line.model_validate(body.parse(raw))
            agent = self._agents.get(line.agent)
            if agent is None:
                return Fault(number, "agent", "There is no agent of this slug.")
            flow.check_brought(agent, line.claim(), line.provider)
        except (BadRequest, TooLarge) as error:
            return Fault(number, "", error.detail)
        except ValidationError as error:
            return _first(number, error.errors(include_input=False, include_url=False))
        except Invalid as error:
            return Fault(number, next(iter(error.by_field())), error.detail)
        return agent, line


def _first(number: int, errors: Any) -> Fault:
    return Fault(number, ".".join(map(str, errors[0]["loc"])), str(errors[0]["msg"]))
