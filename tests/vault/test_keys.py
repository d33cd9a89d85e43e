"""T78: what the operator is told about the vault keys, and which keys cannot be removed."""

from __future__ import annotations

import base64
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from elicit_flows import vault
from elicit_flows.management.progress import Progress, Stopped
from elicit_flows.models import Connection, VaultKey
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import rotation
from tests.support import rows
from tests.support.rows import Known

pytestmark = pytest.mark.slow


def key(name: str) -> str:
    return f"{name}:{base64.b64encode(name.encode().ljust(32, b'.')).decode()}"


def said(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue()


@pytest.fixture
def ring(settings: LazySettings) -> LazySettings:
    settings.ELICIT_VAULT_KEYS = key("old")
    return settings


@pytest.fixture
def held(ring: LazySettings, known: Known, drive_row: ProviderRow) -> list[Connection]:
    """120 connections under the old key; the newer one is in front."""
    held = [rows.connection(known, drive_row, rows.grant(account=str(number))) for number in range(120)]
    vault.verify_keys()
    ring.ELICIT_VAULT_KEYS = f"{key('new')},{key('old')}"
    vault.verify_keys()
    return held


def test_t78_keys_says_what_each_seals_and_which_may_go(held: list[Connection]) -> None:
    before = said("keys")
    assert "new: encrypts 0 texts\n    the newest" in before
    assert "old: encrypts 242 texts (connection.access_token 120, connection.refresh_token 120, " in before
    assert "needed until `manage.py rotate` has run" in before
    assert key("old").partition(":")[2] not in before
    assert "connection.refresh_token: 120 re-encrypted" in said("rotate")
    after = said("keys")
    assert "new: encrypts 242 texts" in after
    assert "old: encrypts 0 texts\n    can be removed" in after
    assert "Everything is encrypted with the newest key." in said("rotate")


def test_t78_a_key_in_use_is_not_retired(held: list[Connection], ring: LazySettings) -> None:
    for name, why in (("old", "still encrypts 242 texts"), ("new", "the newest"), ("older", "no key 'older'")):
        with pytest.raises(CommandError, match=why):
            said("keys", "retire", name)
    said("rotate")
    assert "no stored text needs it" in said("keys", "retire", "old")
    assert not VaultKey.objects.filter(pk="old").exists()
    ring.ELICIT_VAULT_KEYS = key("new")
    vault.verify_keys()


def test_t78_a_key_that_is_missing_is_said_to_be(held: list[Connection], ring: LazySettings) -> None:
    ring.ELICIT_VAULT_KEYS = key("new")
    assert "old: encrypts 242 texts" in said("keys")
    assert "missing from ELICIT_VAULT_KEYS: put it back" in said("keys")


def test_t78_a_rotation_goes_by_batches_stops_between_them_and_goes_on(
    held: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Progress.done

    def stopped_in_the_second(progress: Progress, what: str, count: int = 1) -> None:
        progress._stopping = sum(progress.counts.values()) >= 100
        done(progress, what, count)

    with monkeypatch.context() as patched:
        patched.setattr(Progress, "done", stopped_in_the_second)
        with pytest.raises(Stopped, match="continues with the rest"):
            said("rotate")
    assert vault.left_to_rotate() == 242 - 120
    sizes = [batch.sealed for batch in vault.rotate()]
    assert (sum(sizes), max(sizes)) == (122, rotation.BATCH)


def test_a_text_that_does_not_open_is_named_and_holds_up_nothing(
    held: list[Connection], caplog: pytest.LogCaptureFixture
) -> None:
    Connection.objects.filter(pk=held[3].pk).update(access_token="v1.old.AAAA", refresh_token="v1.gone.AAAA")
    out: dict[str, Any] = {"stdout": StringIO()}
    with pytest.raises(CommandError, match="2 cannot be decrypted and were not changed") as refused:
        call_command("rotate", **out)
    assert held[3].pk in str(refused.value)
    assert vault.left_to_rotate() == 2
    assert "does not open" in caplog.text


def test_keys_whose_names_differ_in_case_alone_are_two_keys(held: list[Connection], ring: LazySettings) -> None:
    """LIKE, by which SQLite looks for the beginning of a text, knows no case."""
    said("rotate")
    ring.ELICIT_VAULT_KEYS = f"{key('NEW')},{key('new')}"
    vault.verify_keys()
    assert "NEW: encrypts 0 texts" in said("keys")
    assert "connection.refresh_token: 120 re-encrypted" in said("rotate")
    assert "new: no stored text needs it." in said("keys", "retire", "new")
