"""Creates elicitations in batches: those that an agent asks for at the same time, by one statement.

What is unusual about a request is left to Django, which has all the rules and says what is wrong (docs/adr/0030).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from weakref import WeakValueDictionary

from pydantic import ValidationError

from elicit_flows import elicitations
from elicit_flows.api import parsing, responses
from elicit_flows.api.elicitations import question_of
from elicit_flows.api.schemas import CreateElicitation
from elicit_flows.domain.errors import FlowError, Unavailable
from elicit_flows.domain.values import Question
from elicit_flows.lib.batch_loader import BatchLoader
from elicit_flows.lib.thread_pools import ThreadPool
from elicit_flows.lib.wsgi_bridge import Headers
from elicit_flows.models import Agent

MOST = 16  # in a batch: another agent's request may wait for it


class Answer(NamedTuple):
    """``headers``: besides those of every answer, or instead of them."""

    status: int
    headers: Headers
    content: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Create:
    """A request; ``headers``: of those, the Idempotency-Key. Two that say the same are two."""

    agent: Agent
    body: bytes
    headers: dict[str, str]


class Creates:
    """``pool``: that of the agents' requests. An agent has one batch under way at a time. Use it from one event loop
    only.
    """

    def __init__(self, pool: ThreadPool) -> None:
        self._pool = pool
        self._by_agent: WeakValueDictionary[int, BatchLoader[Create, Answer]] = WeakValueDictionary()

    async def answer(self, agent: Agent, body: bytes, idempotency_key: bytes | None) -> Answer | None:
        """Create an elicitation. None: nothing was created, and the request is for Django."""
        if agent.managed_access:
            return None
        batches = self._by_agent.get(agent.pk)
        if batches is None:
            batches = self._by_agent[agent.pk] = BatchLoader(partial(self._pool.run, str(agent.pk)), _create, MOST)
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key.decode("latin-1")}
        return await batches.load(Create(agent, body, headers))


def _create(asked: list[Create]) -> dict[Create, Answer]:
    questions: dict[Create, Question] = {}
    for one in asked:
        with suppress(FlowError, ValidationError):
            shape = CreateElicitation.model_validate(parsing.parse_json(one.body))
            questions[one] = question_of(shape, parsing.idempotency_key(one.headers))
    try:
        made = elicitations.create_together(asked[-1].agent, list(questions.values()))
    except Unavailable as error:  # a second attempt could create them twice
        return dict.fromkeys(questions, Answer(*responses.raw(error)))
    return {
        one: Answer(201, [(b"location", f"/v1/elicitations/{row.pk}".encode())], responses.dumps(row.snapshot()))
        for one, row in zip(questions, made, strict=True)
        if row
    }
