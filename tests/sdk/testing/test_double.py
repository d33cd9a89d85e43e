"""The double of the service and the service itself: what an author's test sees of either."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import httpx2
import pytest

from elicit_flows.sdk import (
    Cancelled,
    Completed,
    ConflictError,
    Expired,
    GoneError,
    InvalidRequestError,
    NotFoundError,
    SyncElicit,
)
from elicit_flows.sdk.testing import Double, DoubleUser, ScriptedUser, Service
from tests.docs.page import found

Place = Service | Double
Person = ScriptedUser | DoubleUser
FORM = {
    "type": "object", "required": ["plan"],
    "properties": {
        "plan": {"type": "string", "enum": ["free", "pro"], "enumNames": ["Free", "Professional"]},
        "seats": {"type": "integer", "default": 2}, "sure": {"type": "boolean"},
    },
}  # fmt: skip

NOTE = {"type": "object", "properties": {"note": {"type": "string"}}}


@pytest.fixture(params=[pytest.param("service", marks=pytest.mark.slow), "double"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "service":
        yield request.getfixturevalue("elicit_box")
        return
    with Double() as double:
        yield double


@pytest.fixture
def elicit(place: Place) -> Iterator[SyncElicit]:
    with place.sync_elicit() as elicit:
        yield elicit


@pytest.fixture
def alice(place: Place, elicit: SyncElicit) -> Iterator[Person]:
    """Alice, who has connected nothing yet."""
    alice = place.user("alice")
    for connection in elicit.connections(alice.claim):
        if connection.status == "active":
            elicit.revoke(connection)
    yield alice
    alice.close()


def test_a_question_under_one_key_is_one_until_its_answer_is_claimed(elicit: SyncElicit, alice: Person) -> None:
    def ask(message: str = "May I?") -> Any:
        return elicit.create("confirm", alice.claim, {}, message=message, idempotency_key=f"key-{id(alice)}")

    first = ask()
    assert ask().id == first.id
    with pytest.raises((ConflictError, InvalidRequestError)) as refused:
        ask("Something else?")
    assert refused.value.code == "idempotency_mismatch"
    with pytest.raises(ConflictError) as refused:
        elicit.consume(first)
    assert refused.value.code == "not_over"
    alice.submit(first.url)
    assert elicit.consume(first, key="run-1").consumed_at == elicit.consume(first, key="run-1").consumed_at
    with pytest.raises(ConflictError) as refused:
        elicit.consume(first, key="run-2")
    assert refused.value.code == "already_consumed"
    assert ask().id != first.id


def test_how_a_question_ends(elicit: SyncElicit, alice: Person) -> None:
    asked = elicit.create("confirm", alice.claim, {}, message="May I?")
    assert not elicit.wait(asked, timeout=0.3).over
    assert elicit.cancel(asked).status == elicit.cancel(asked).status == "cancelled"
    with pytest.raises(AssertionError):
        alice.submit(asked.url)
    done = elicit.create("confirm", alice.claim, {}, message="May I?")
    alice.submit(done.url)
    with pytest.raises(ConflictError) as refused:
        elicit.cancel(done)
    assert refused.value.code == "already_over"
    late = elicit.confirm(alice.claim, message="May I?", on_url=lambda _: None, expires_in=1)
    assert isinstance(late, Expired)
    taken = elicit.confirm(alice.claim, message="?", on_url=lambda url: elicit.cancel(url.rpartition("/")[2]))
    assert isinstance(taken, Cancelled)


def test_what_the_events_say(elicit: SyncElicit, alice: Person) -> None:
    cursor = elicit.newest()
    asked = elicit.create("confirm", alice.claim, {}, message="May I?")
    alice.submit(asked.url)
    for stream in (True, False):
        events = elicit.events(cursor, stream=stream)
        seen = [next(events) for _ in range(4)]
        events.close()
        assert [one.type for one in seen] == [
            f"elicitation.{what}" for what in ("created", "started", "settling", "completed")
        ]
        assert [one.elicitation for one in seen] == [asked.id] * 4
        assert seen[-1].seq == elicit.get(asked).seq == 4


def test_the_events_of_what_nobody_was_asked_and_of_a_no_at_the_provider(elicit: SyncElicit, alice: Person) -> None:
    def told() -> list[tuple[str, int | None]]:
        last, seen = elicit.cancel(elicit.create("confirm", alice.claim, {}, message="?")), []
        events = elicit.events(cursor, stream=False)
        for one in events:
            if one.elicitation == last.id:
                break
            seen.append((one.type.removeprefix("elicitation."), one.seq))
        events.close()
        return seen

    def connect(reuse: str) -> Any:
        params = {"provider": "acme", "scopes": ["files.read"]}
        return elicit.create("oauth", alice.claim, params, message="To list.", reuse=reuse)

    alice.allow(connect("never").url)
    cursor = elicit.newest()
    assert (connect("if_valid").seq, told()) == (1, [("completed", 1)])
    cursor, asked = elicit.newest(), connect("never")
    alice.deny(asked.url)
    assert told() == [("created", 1), ("started", 2), ("settling", 3), ("declined", 4)]


def test_what_nobody_looks_at_expires_too(elicit: SyncElicit, alice: Person) -> None:
    asked = elicit.create("confirm", alice.claim, {}, message="?", expires_in=1)
    events = elicit.events(elicit.newest(), stream=False)
    assert next(events).type == "elicitation.expired"
    events.close()
    assert next(elicit.elicitations(alice.claim, status="expired")).id == asked.id
    for stream in (True, False):
        with pytest.raises(InvalidRequestError, match="bad_cursor"):
            next(elicit.events("nothing", stream=stream))


def test_connections_are_listed_by_provider(elicit: SyncElicit, alice: Person) -> None:
    elicit.oauth(alice.claim, "acme", scopes=["files.read"], message="To list.", on_url=alice.allow)
    assert {one.provider for one in elicit.connections(alice.claim, provider="acme")} == {"acme"}
    assert elicit.connections(alice.claim, provider="other") == []


def test_a_form_and_what_is_wrong_with_it(elicit: SyncElicit, alice: Person) -> None:
    asked = elicit.create("form", alice.claim, {"schema": FORM}, message="Which?")
    alice.submit(asked.url)
    assert not elicit.get(asked).over, "a required answer is missing, so the page comes again"
    with pytest.raises(AssertionError):
        alice.submit(asked.url, plan="Gold")
    alice.submit(asked.url, plan="Professional", sure=True)
    assert elicit.get(asked).result == {"content": {"plan": "pro", "seats": 2, "sure": True}}
    note = elicit.create("form", alice.claim, {"schema": NOTE}, message="Anything else?")
    alice.submit(note.url, note="")
    assert elicit.get(note).result == {"content": {}}
    with pytest.raises(InvalidRequestError, match="amount"):
        elicit.create("payment", alice.claim, {"amount": 5.5, "currency": "eur", "description": "d"}, message="Pay.")
    with pytest.raises(NotFoundError):
        elicit.get("el_nothing")


WRONG: list[tuple[str, Any, dict[str, Any], str]] = [
    ("confirm", {}, {"colour": "red"}, "colour"),
    ("confirm", {}, {"expires_in": 0}, "expires_in"),
    ("confirm", {}, {"expires_in": None}, "expires_in"),
    ("confirm", {}, {"reuse": "no"}, "reuse"),
    ("confirm", {}, {"message": "x" * 2001}, "message"),
    ("confirm", {}, {"message": ""}, "message"),
    ("confirm", {}, {"metadata": None}, "metadata"),
    ("nothing", {}, {}, "kind"),
    ("oauth", {}, {}, "params.provider"),
    ("oauth", {"provider": "acme", "scope": "files.read"}, {}, "params.scope"),
    ("oauth", {"provider": "acme", "scopes": "files.read"}, {}, "params.scopes"),
    ("link", {"url": "http://agent.example", "completion": "by_agent"}, {}, "params.url"),
    ("link", {"url": "https://agent.example"}, {}, "params.completion"),
    ("credentials", {}, {}, "params.fields"),
    ("credentials", {"fields": [{"name": "key"}]}, {}, "params.fields.0.label"),
    ("steps", {"steps": [{"kind": "confirm", "params": {}}]}, {}, "params.steps"),
]


def test_a_wrong_question_is_refused(elicit: SyncElicit, alice: Person) -> None:
    for kind, params, more, place in WRONG:
        with pytest.raises(InvalidRequestError) as refused:
            elicit.create(kind, alice.claim, params, **{"message": "Please.", **more})
        assert place in [".".join(map(str, one["loc"])) for one in refused.value.errors], (kind, more, refused.value)
    short = [{"kind": "confirm", "params": {}}, {"kind": "confirm"}]
    assert elicit.create("steps", alice.claim, {"steps": short}, message="Please.").status == "pending"


def test_what_an_agent_may_complete_itself(elicit: SyncElicit, alice: Person) -> None:
    def ask(kind: str, params: Any) -> Any:
        return elicit.create(kind, alice.claim, params, message="Please.")

    def refused(asked: Any, answers: Any = None) -> str:
        with pytest.raises((ConflictError, InvalidRequestError)) as found:
            elicit.complete(asked, answers)
        return found.value.code

    address = "https://agent.example/setup"
    link = ask("link", {"url": address, "completion": "by_agent"})
    assert (elicit.complete(link).status, elicit.get(link).seq) == ("completed", 4)
    assert elicit.complete(link).status == "completed"
    others = [ask("confirm", {}), ask("link", {"url": address, "completion": "on_return"})]
    assert [refused(one) for one in others] == ["conflict"] * 2
    assert [elicit.cancel(one).status for one in others] == ["cancelled"] * 2
    late = elicit.cancel(ask("link", {"url": address, "completion": "by_agent"}))
    assert refused(late) == "already_over"
    form = ask("form", {"schema": FORM})
    given: Any = {"plan": {"state": "submitted", "value": "pro"}}
    assert refused(form) == refused(form, {"plan": {"state": "draft", "value": "pro"}}) == "not_submitted"
    wrong = [
        {"plan": {"state": "submitted", "value": "gold"}},
        {"plan": {"state": "skipped"}},
        {"plan": {"state": "?"}},
        {"plan": "pro"},
    ]
    assert [refused(form, one) for one in (*wrong, given | {"x": given["plan"]})] == ["invalid"] * 5
    assert elicit.complete(form, given).result == {"content": {"plan": "pro"}}
    assert refused(form, given) == "already_over"


def test_a_user_does_what_a_question_offers_and_nothing_else(elicit: SyncElicit, alice: Person) -> None:
    def ask(kind: str, params: Any) -> Any:
        return elicit.create(kind, alice.claim, params, message="Please.", reuse="never")

    asked = ask("confirm", {})
    acts: list[Callable[[str], None]] = [
        alice.deny, alice.allow, alice.pay, lambda url: alice.pay(url, "back"), lambda url: alice.submit(url, name="x"),
    ]  # fmt: skip
    for act in acts:
        with pytest.raises(AssertionError):
            act(asked.url)
    assert elicit.get(asked).status == "pending"
    connect = ask("oauth", {"provider": "acme", "scopes": ["files.read"]})
    for act in (alice.pay, alice.submit):
        with pytest.raises(AssertionError):
            act(connect.url)
    form = ask("form", {"schema": FORM})
    alice.submit(form.url, plan="Free", seats="many")
    assert not elicit.get(form).over, "a text where a number has to be: the page comes again"


def test_what_was_done_of_several_things_is_said_however_they_end(elicit: SyncElicit, alice: Person) -> None:
    steps = {"steps": [{"kind": "confirm", "params": {}}, {"kind": "confirm", "params": {}}]}
    for end in (lambda asked: alice.decline(asked.url), elicit.cancel):
        asked = elicit.create("steps", alice.claim, steps, message="Please.")
        alice.submit(asked.url)
        end(asked)
        assert elicit.get(asked).result == {"steps": [{"kind": "confirm", "result": {"confirmed": True}}]}
    asked = elicit.create("steps", alice.claim, steps, message="Please.")
    assert elicit.cancel(asked).result == {"steps": []}


def test_a_token_is_no_secret_and_a_secret_no_token(elicit: SyncElicit, alice: Person) -> None:
    fields = [{"name": "key", "label": "API key"}]
    keys = elicit.credentials(alice.claim, fields, message="?", on_url=lambda url: alice.submit(url, key="k"))
    account = elicit.oauth(alice.claim, "acme", scopes=["files.read"], message="?", on_url=alice.allow)
    for call in (lambda: elicit.token(keys), lambda: elicit.secret(account)):
        with pytest.raises(ConflictError) as refused:
            call()
        assert refused.value.code == "conflict"
    with pytest.raises(NotFoundError):
        elicit.get("el-nothing")


def test_what_a_payment_leads_to(elicit: SyncElicit, alice: Person) -> None:
    def pay(show: Callable[[str], object] = alice.pay, amount: int = 500, **terms: Any) -> Any:
        return elicit.payment(
            alice.claim,
            amount,
            "usd",
            description="A report",
            on_url=show,
            terms=cast(Any, {"item": item, **terms}),
            reuse=reuse,
        )

    item, reuse = f"report-{id(alice)}", "if_valid"
    bought = pay()
    assert bought.result["entitlement"]
    again = pay(show=pytest.fail)
    assert (again.reused, again.result) == (True, bought.result)
    assert not pay(amount=600).reused, "other terms"
    reuse = "never"
    assert not pay().reused
    assert pay(mode="subscribe", interval="month").subscription
    limits: Any = {"per_charge": 500, "total": 5000, "until": (datetime.now(UTC) + timedelta(days=30)).isoformat()}
    allowed = elicit.mandate(alice.claim, "usd", limits, description="Reports", on_url=alice.pay)
    assert isinstance(allowed, Completed)
    assert allowed.mandate


def test_a_connection_answers_again_until_it_is_revoked(elicit: SyncElicit, alice: Person) -> None:
    def connect(show: Callable[[str], None]) -> Any:
        return elicit.oauth(alice.claim, "acme", scopes=["files.read"], message="To list.", on_url=show)

    def nobody(url: str) -> None:
        raise AssertionError(url)

    first = connect(alice.allow)
    assert isinstance(first, Completed)
    assert (connect(nobody).reused, connect(nobody).connection) == (True, first.connection)
    again = elicit.oauth(
        alice.claim, "acme", scopes=["files.read"], message="To list.", on_url=alice.allow, reuse="never"
    )
    assert isinstance(again, Completed)
    assert again.connection == first.connection
    assert [one.status for one in elicit.connections(alice.claim, provider="acme")].count("active") == 1
    assert elicit.token(first).token_type == "Bearer"
    elicit.revoke(first)
    with pytest.raises(GoneError):
        elicit.token(first)
    assert connect(alice.allow).connection != first.connection


def test_two_mcp_servers_are_two_connections_in_the_double() -> None:
    with Double() as double, double.sync_elicit() as elicit:
        alice = double.user("alice")

        def connect(server: str) -> Any:
            asked = elicit.create("oauth", alice.claim, {"mcp": f"https://{server}.example/mcp"}, message="To search.")
            if not asked.over:
                alice.allow(asked.url)
            return elicit.get(asked)

        first, other, again = connect("one"), connect("two"), connect("one")
        assert (first.reused, other.reused, again.reused) == (False, False, True)
        assert first.result["connection"] == again.result["connection"] != other.result["connection"]
        assert [one.mcp for one in elicit.connections(alice.claim)] == [
            "https://two.example/mcp", "https://one.example/mcp",
        ]  # fmt: skip


def test_a_note(elicit: SyncElicit, alice: Person) -> None:
    asked = elicit.create("confirm", alice.claim, {}, message="May I?")
    assert elicit.note(asked) == {}
    assert elicit.add_to_note(asked, {"at": "1", "of": "2"}) == {"at": "1", "of": "2"}
    assert elicit.add_to_note(asked, {"at": None}) == elicit.note(asked) == {"of": "2"}


def test_what_it_lacks_it_says() -> None:
    with Double() as double, double.sync_elicit() as elicit, pytest.raises(Exception, match="The double has no GET"):
        elicit.agent()


@pytest.mark.slow
def test_their_answers_have_the_same_members(elicit_box: Service) -> None:
    """Of a question of each kind as it is asked, and as it has ended, of a connection, a token and an event."""
    with Double() as double:
        assert _members(double) == _members(elicit_box)


def _members(place: Place) -> list[Any]:
    seen: list[httpx2.Response] = []
    with place.sync_elicit() as plain:
        elicit, user = plain.with_options(on_response=seen.append), place.user("bob")
        for connection in plain.connections(user.claim):
            if connection.status == "active":
                plain.revoke(connection)
        opened = elicit.create("confirm", user.claim, {}, message="?")
        elicit.cancel(opened)
        elicit.form(user.claim, FORM, message="?", on_url=lambda url: user.submit(url, plan="Free"))
        elicit.confirm(user.claim, message="?", on_url=user.submit)
        elicit.payment(user.claim, 500, "usd", description="A report", message="?", on_url=user.pay)
        done = elicit.oauth(user.claim, "acme", scopes=["files.read"], message="?", on_url=user.allow)
        elicit.token(done)
        elicit.connection(done)
        fields = [{"name": "key", "label": "API key"}]
        elicit.secret(elicit.credentials(user.claim, fields, message="?", on_url=lambda url: user.submit(url, key="k")))
        next(elicit.events(stream=False))
        user.close()
    # Whether a wait sees the question on its way to the end is a matter of speed.
    return [_shape(body) for body in map(_body, seen) if body.get("status") not in ("pending", "started", "settling")]


def _body(response: httpx2.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    return body


def _shape(value: Any) -> Any:
    """The names in it, all the way down; of a list its first entry."""
    if isinstance(value, dict):
        return {name: _shape(one) for name, one in value.items() if name not in ("params", "metadata", "variables")}
    return [_shape(value[0])] if isinstance(value, list) and value else None


def test_the_program_of_the_page() -> None:
    [program] = found("how-to/test-your-agent.md", "double")
    exec(program.text, {})
