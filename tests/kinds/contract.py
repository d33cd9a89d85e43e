"""What every kind promises. A kind's own test subclasses one of these and says what is particular to it:
``ProviderContract`` where a provider is asked, ``PageContract`` where our own page asks, else ``KindContract``.
"""

from __future__ import annotations

import copy
import json
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows import http, kinds
from elicit_flows.api.kind_shapes import KINDS
from elicit_flows.api.routes import api
from elicit_flows.domain import errors
from elicit_flows.domain.status import TERMINAL
from elicit_flows.domain.values import Again, Answer, Finish, Json, Leave, Visit
from elicit_flows.kinds.base import Kind
from elicit_flows.models import Elicitation
from tests.api.described import Described

NO_ANSWERS: list[dict[str, list[str]]] = [
    {},
    {"": [""]},
    {"code": []},
    {"code": [""], "error": [""]},
    {"code": ["a", "b"]},
    {"error": ["access_denied", "server_error"]},
    {"error": ["a", "b"], "code": ["c"]},
    {"error": ["access_denied"], "code": ["a", "b"]},
    {"error": ["access_denied"], "code": ["a"]},
    {"code": ["x" * 100_000]},
]
NONSENSE = [
    *NO_ANSWERS,
    {"code": ["\x00"], "iss": ["\x00"]},
    {"error": ["<svg onload=alert(1)>"], "error_description": ["<b>x</b>\u202e\x00"]},
]


def has_null(given: Any) -> bool:
    inner = given.values() if isinstance(given, dict) else given if isinstance(given, list) else []
    return given is None or any(has_null(one) for one in inner)


class KindContract:
    """Subclasses set ``name``, ``good`` (parameters that pass, each with what they become), ``bad`` (each with the
    places that must be named) and implement ``visit``, a visit ready for ``begin``; ``secrets`` must show nowhere.
    """

    name: str
    good: list[tuple[Json, Json]]
    bad: list[tuple[Json, list[list[Any]]]]
    secrets: tuple[str, ...] = ()

    @pytest.fixture
    def visit(self) -> Visit:
        raise NotImplementedError

    @pytest.fixture
    def kind(self) -> Kind:
        return kinds.get(self.name)

    def test_it_is_registered(self, kind: Kind) -> None:
        assert kinds.get(self.name) is kind
        assert kind.context is None or isinstance(kind.context, str)

    def test_it_has_a_name_in_the_admin(self) -> None:
        assert self.name in Elicitation.Kind.values

    def test_good_parameters_pass_and_pass_again(self, kind: Kind) -> None:
        for given, cleaned in self.good:
            before = copy.deepcopy(given)
            assert kind.clean(given) == cleaned
            assert kind.clean(cleaned) == cleaned
            assert given == before
            assert json.loads(json.dumps(cleaned)) == cleaned

    def test_the_description_of_the_api_has_these_parameters(self) -> None:
        """What an agent may send, without null for what is left out, and what an answer says of it."""
        shapes = KINDS[self.name]
        described = Described(api.get_openapi_schema())
        models = get_args(shapes.params) or (shapes.params,)
        params = {"anyOf": [{"$ref": f"#/components/schemas/{model.__name__}"} for model in models]}
        for given, cleaned in self.good:
            if not has_null(given):
                described.fits(params, given, self.name)
            described.fits({"$ref": f"#/components/schemas/{shapes.asked.__name__}"}, cleaned, self.name)
        for given, _ in self.good:
            more = given | {"state": "completed"}
            assert described.why(params, more)

    def test_bad_parameters_are_named(self, kind: Kind) -> None:
        for given, places in self.bad:
            with pytest.raises(errors.Invalid) as caught:
                kind.clean(given)
            assert [error["loc"] for error in caught.value.errors] == places, given
            assert all(str(error["message"]).endswith(".") for error in caught.value.errors)

    def test_an_unknown_parameter_is_refused(self, kind: Kind) -> None:
        for given, _ in self.good:
            with pytest.raises(errors.Invalid) as caught:
                kind.clean(given | {"state": "completed"})
            assert caught.value.errors[0]["loc"] == ["params", "state"]

    def test_it_describes_itself_in_plain_text(self, kind: Kind, visit: Visit) -> None:
        for config in (visit.config, None) if kind.context else (None,):
            said = kind.describe(visit.params, config)
            assert said["title"]
            assert isinstance(said["host"], str)
            assert isinstance(said["host_warning"], str)
            self.assert_no_secret(json.dumps(said))

    @staticmethod
    def returning(visit: Visit, leave: Leave, **changes: Any) -> Visit:
        """The visit as the line makes it when the browser is back: no state, the stash as it went through JSON."""
        given = {name: getattr(visit, name) for name in ("elicitation", "claim", "params", "config", "redirect_uri")}
        return Visit(**given | {"stash": json.loads(json.dumps(leave.stash))} | changes)

    def assert_no_secret(self, text: str) -> None:
        for secret in self.secrets:
            assert secret not in text


class ProviderContract(KindContract):
    """``proof`` is what an answer needs besides to count as one of the asked side."""

    @pytest.fixture
    def proof(self) -> dict[str, list[str]]:
        return {}

    def test_it_leaves_with_the_state_and_without_secrets(self, kind: Kind, visit: Visit) -> None:
        leave = kind.begin(visit)
        assert isinstance(leave, Leave)
        http.check_url(leave.url)
        assert parse_qs(urlsplit(leave.url).query)["state"] == [visit.state]
        assert json.loads(json.dumps(leave.stash)) == leave.stash
        self.assert_no_secret(leave.url + json.dumps(leave.stash))

    def test_a_plug_in_that_is_switched_off_is_unavailable(self, kind: Kind, visit: Visit) -> None:
        if kind.context is None:
            return
        away = kind.begin(visit)
        off = self.returning(visit, away, config=None)
        with pytest.raises(errors.ProviderUnavailable):
            kind.begin(off)
        assert isinstance(kind.resume(off, Answer({"code": ["x"]})), Again)

    def test_what_is_no_answer_is_refused_before_the_attempt_is_spent(
        self, kind: Kind, visit: Visit, proof: dict[str, list[str]]
    ) -> None:
        back = self.returning(visit, kind.begin(visit))
        for fields in NO_ANSWERS:
            for given in (fields, fields | proof):
                try:
                    kind.check_answer(back, Answer(given))
                except errors.BadCallback:
                    continue
                raise AssertionError(f"{str(given)[:100]} passed")

    def test_resume_answers_whatever_comes(self, kind: Kind, visit: Visit) -> None:
        back = self.returning(visit, kind.begin(visit))
        for fields in NONSENSE:
            outcome = kind.resume(back, Answer(fields))
            if isinstance(outcome, Finish):
                assert outcome.status in TERMINAL
                assert outcome.status != "completed"
                assert outcome.grant is None
            else:
                assert isinstance(outcome, Again)
            assert repr(outcome).isprintable()
            self.assert_no_secret(repr(outcome))


class PageContract(KindContract):
    """Subclasses set ``right``, fields as the page sends them that are taken, and ``wrong``, fields that are not, each
    with the field that the message stands beside, or None where nobody typed that.
    """

    right: list[dict[str, list[str]]]
    wrong: list[tuple[dict[str, list[str]], str | None]]

    def test_its_page_is_answered_where_it_is(self, kind: Kind, visit: Visit) -> None:
        assert not kind.leaves
        with pytest.raises(errors.BadCallback):
            kind.begin(visit)

    def test_a_right_answer_completes_it(self, kind: Kind, visit: Visit) -> None:
        for fields in self.right:
            kind.check_answer(visit, Answer(fields))
            outcome = kind.resume(visit, Answer(fields))
            assert isinstance(outcome, Finish)
            assert outcome.status == "completed"
            assert json.loads(json.dumps(outcome.result)) == outcome.result

    def test_a_wrong_answer_is_refused_beside_its_field(self, kind: Kind, visit: Visit) -> None:
        for fields, beside in self.wrong:
            if beside is None:
                with pytest.raises(errors.BadCallback):
                    kind.check_answer(visit, Answer(fields))
                continue
            with pytest.raises(errors.Invalid) as refused:
                kind.check_answer(visit, Answer(fields))
            assert beside in refused.value.by_field(), fields

    def test_whatever_is_sent_is_taken_or_refused(self, kind: Kind, visit: Visit) -> None:
        for fields in NONSENSE:
            try:
                kind.check_answer(visit, Answer(fields))
            except (errors.BadCallback, errors.Invalid):
                continue
