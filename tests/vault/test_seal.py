"""T76, T77: a sealed text can be opened only in the place that it was sealed for."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import pytest

from elicit_flows import vault
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.models import Agent, Connection, Elicitation, Event
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import rotation
from elicit_flows.vault.seal import KeyRing, SealBroken, UnknownKey, place
from tests.support import rows
from tests.support.rows import Known

BOB_CLAIM = Claim(rows.ISSUER, "bob")
FIELDS = ("access_token", "refresh_token")


def opened(row: Connection) -> list[str]:
    """What the vault would take the row's tokens for."""
    where, ring = {field: use for model, field, use in rotation.SEALED if model is Connection}, vault.ring()
    found = []
    for field in FIELDS:
        try:
            found.append(ring.open(getattr(row, field), where[field](row)).decode())
        except SealBroken:
            found.append("broken")
    return found


def test_t76_a_token_moved_to_any_other_field_or_row_opens_nothing(known: Known, drive_row: ProviderRow) -> None:
    other_agent, other_provider = rows.agent(), rows.provider(slug="other")
    held = [
        rows.connection(known, drive_row), rows.connection(known, drive_row, claim=BOB_CLAIM),
        rows.connection(other_agent, drive_row), rows.connection(known, other_provider),
        rows.connection(known, drive_row, rows.grant(account="alice-2")),
    ]  # fmt: skip
    assert all("broken" not in opened(row) for row in held)
    places = [(row, field) for row in held for field in FIELDS]
    for (source, taken), (target, put) in itertools.permutations(places, 2):
        copy = Connection.objects.get(pk=target.pk)
        setattr(copy, put, getattr(source, taken))
        assert opened(copy)[FIELDS.index(put)] == "broken", (taken, put)


@pytest.mark.parametrize(
    "change", [{"sub": "bob"}, {"iss": "https://other.test"}, {"agent_id": 0}, {"provider_id": 0}, {"id": "cn_other"}],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_t76_a_row_made_over_to_somebody_else_opens_nothing(
    known: Known, drive_row: ProviderRow, change: dict[str, Any]
) -> None:
    held = rows.connection(known, drive_row)
    for name, value in change.items():
        setattr(held, name, value)
    assert opened(held) == ["broken", "broken"]


def test_t76_the_agent_is_refused_and_nobody_elses_token_is_given_out(
    known: Known, drive_row: ProviderRow, caplog: pytest.LogCaptureFixture
) -> None:
    alices = rows.connection(known, drive_row)
    bobs = rows.connection(known, drive_row, claim=BOB_CLAIM)
    Connection.objects.filter(pk=alices.pk).update(access_token=bobs.access_token, refresh_token=bobs.refresh_token)
    with pytest.raises(Unavailable):
        vault.token(known.row, alices.pk)
    assert "does not open" in caplog.text, "the operator is told"
    assert Connection.objects.get(pk=alices.pk).status == "active"


def test_t76_an_operators_secret_moved_to_another_row_opens_nothing(known: Known, drive_row: ProviderRow) -> None:
    other_agent, other_provider = rows.agent(), rows.provider(slug="other")
    other_provider.client_secret = drive_row.client_secret
    with pytest.raises(Unavailable):
        vault.oauth(other_provider)
    Agent.objects.filter(pk=other_agent.row.pk).update(webhook_secret=known.row.webhook_secret)
    with pytest.raises(Unavailable):
        vault.webhook_secrets(Agent.objects.get(pk=other_agent.row.pk))
    identity = rows.identity_provider()
    identity.client_secret = drive_row.client_secret
    with pytest.raises(Unavailable):
        vault.openid(identity)


def test_t76_what_an_attempt_put_aside_belongs_to_its_state() -> None:
    sealed = vault.seal_stash({"verifier": "v"}, "state-1")
    assert vault.open_stash(sealed, "state-1") == {"verifier": "v"}
    with pytest.raises(Unavailable):
        vault.open_stash(sealed, "state-2")


def test_t76_no_two_lists_of_names_make_the_same_place() -> None:
    lists = [("a", "b", "c"), ("a", "b,c"), ("a", 'b","c'), ("a,b", "c"), ("ab", "c"), ("a", "bc"), ("a", "b", "c", "")]
    assert len({place(*names) for names in lists}) == len(lists)


@pytest.mark.parametrize("at", [0, 3, 6, 12, 20, -1])
def test_a_sealed_text_of_which_a_byte_was_changed_opens_nothing(at: int) -> None:
    ring = KeyRing.parse("k1:" + base64.b64encode(bytes(32)).decode())
    sealed = ring.seal(b"token", "here")
    changed = list(sealed)
    changed[at] = "B" if changed[at] != "B" else "C"
    with pytest.raises(SealBroken):
        ring.open("".join(changed), "here")


@pytest.mark.parametrize(
    "text", ["", "v1", "v1.k1", "v1.k1.", "v1.k1.AAAA", "v2.k1.AAAAAAAAAAAAAAAAAAAAAAAA", "token", "v1.k1.é"]
)
def test_what_was_never_sealed_opens_nothing(text: str) -> None:
    ring = KeyRing.parse("k1:" + base64.b64encode(bytes(32)).decode())
    with pytest.raises(SealBroken):
        ring.open(text, "here")


def test_another_key_under_the_same_name_opens_nothing() -> None:
    one, other = [KeyRing.parse("k1:" + base64.b64encode(bytes([n]) * 32).decode()) for n in (1, 2)]
    renamed = KeyRing.parse("k2:" + base64.b64encode(bytes([1]) * 32).decode())
    sealed = one.seal(b"token", "here")
    with pytest.raises(SealBroken):
        other.open(sealed, "here")
    with pytest.raises(UnknownKey):
        renamed.open(sealed, "here")
    with pytest.raises(SealBroken):
        renamed.open(sealed.replace("v1.k1.", "v1.k2."), "here")


def test_t77_no_nonce_is_used_twice() -> None:
    """96 random bits: among a hundred thousand nonces two are equal with a chance of 6e-20. With 32 bits some surely
    are.
    """
    ring = KeyRing.parse("k1:" + base64.b64encode(bytes(32)).decode())
    nonces = {base64.urlsafe_b64decode(ring.seal(b"", "").rpartition(".")[2])[:12] for _ in range(100_000)}
    assert len(nonces) == 100_000
    assert len({nonce[:4] for nonce in nonces}) > 99_900
    assert len({nonce[8:] for nonce in nonces}) > 99_900


def test_no_row_holds_a_token_or_a_secret_as_it_is(known: Known, drive_row: ProviderRow) -> None:
    given = rows.grant()
    rows.connection(known, drive_row, given)
    models = (Agent, ProviderRow, Connection, Elicitation, Event)
    held = json.dumps([list(model._default_manager.values()) for model in models], default=str)
    for secret in (
        given.access_token,
        given.refresh_token,
        Secret(known.who.webhook_secret),
        Secret(known.who.api_key),
    ):
        assert secret is not None
        assert secret.reveal() not in held


def test_a_secret_shows_itself_nowhere_by_accident() -> None:
    secret = Secret("do-not-show")
    for said in (repr(secret), str(secret), f"{secret}", f"{[secret]}", repr(rows.grant())):
        assert "do-not-show" not in said
    assert "at-" not in repr(rows.grant())
