"""The system checks: what they say of a set-up, and that a good one is clean."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import CommandError, call_command
from pytest_django import Settings

from elicit_flows import vault
from elicit_flows.models import Provider, VaultKey
from elicit_flows.values import Secret
from tests.house.check import PRODUCTION
from tests.support.box import Box

OTHER = "k2:" + "B" * 43 + "="


def found(**options: object) -> dict[str, CheckMessage]:
    """Ours, by id."""
    return {str(message.id): message for message in run_checks(**options) if str(message.id).startswith("elicit.")}  # type: ignore[arg-type]


@pytest.fixture
def good(settings: Settings) -> Settings:
    """A set-up that nothing can be said against."""
    settings.ELICIT_PUBLIC_URL = "https://flows.example.com"
    settings.ELICIT_ALLOW_LOOPBACK = False
    settings.CELERY_BROKER_URL = settings.REDIS_URL = None
    return settings


@pytest.mark.django_db
def test_a_good_set_up_is_not_spoken_of(good: Settings) -> None:
    assert found(include_deployment_checks=True, databases=["default"]) == {}


def test_every_message_says_what_to_do(good: Settings) -> None:
    good.ELICIT_VAULT_KEYS = "nonsense"
    good.ELICIT_ALLOW_LOOPBACK = True
    good.ELICIT_PUBLIC_URL = "http://flows.example.com"
    good.CELERY_BROKER_URL = "amqp://127.0.0.1"
    said = found(include_deployment_checks=True)
    assert set(said) >= {"elicit.E001", "elicit.W002", "elicit.W003", "elicit.W004"}
    assert all(message.hint for message in said.values())


def test_t79_vault_keys_that_cannot_be_read_are_an_error_that_repeats_none(good: Settings) -> None:
    good.ELICIT_VAULT_KEYS = "k1:c2VjcmV0LWtleQ=="
    error = found()["elicit.E001"]
    assert error.is_serious()
    assert "c2VjcmV0LWtleQ" not in str(error)


@pytest.mark.django_db
def test_t78_a_key_that_stored_secrets_need_may_not_be_taken_out(good: Settings) -> None:
    vault.verify_keys()
    provider = Provider(slug="drive", client_id="ours")
    vault.seal_client_secret(provider, Secret("x"))
    provider.save()
    good.ELICIT_VAULT_KEYS = OTHER
    error = found(databases=["default"])["elicit.E002"]
    assert error.is_serious()
    assert "key 'k1' is missing" in str(error)
    Provider.objects.all().delete()
    assert found(databases=["default"]) == {}


@pytest.mark.django_db
def test_t79_a_key_that_is_not_the_one_of_before_is_an_error_and_nothing_is_written(good: Settings) -> None:
    vault.verify_keys()
    before = list(VaultKey.objects.values())
    good.ELICIT_VAULT_KEYS = OTHER.replace("k2", "k1")
    assert "not the one used before" in str(found(databases=["default"])["elicit.E002"])
    assert list(VaultKey.objects.values()) == before


@pytest.mark.django_db
def test_t19_a_provider_without_pkce_is_warned_of(good: Settings) -> None:
    Provider.objects.create(slug="old", client_id="ours", pkce="off")
    Provider.objects.create(slug="new", client_id="ours")
    warning = found(databases=["default"])["elicit.W005"]
    assert not warning.is_serious()
    assert "Provider old" in str(warning)
    Provider.objects.filter(slug="old").update(enabled=False)
    assert found(databases=["default"]) == {}


@pytest.mark.django_db
def test_t120_a_provider_whose_codes_anybody_can_type_is_warned_of(good: Settings) -> None:
    Provider.objects.create(slug="typed", client_id="ours", grant="device_code")
    warning = found(databases=["default"])["elicit.W006"]
    assert not warning.is_serious()
    assert "Provider typed" in str(warning)
    Provider.objects.filter(slug="typed").update(enabled=False)
    assert found(databases=["default"]) == {}


def test_a_broker_beside_sqlite_is_warned_of(good: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    good.CELERY_BROKER_URL = good.REDIS_URL = "redis://127.0.0.1:1"
    monkeypatch.setitem(good.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    assert set(found()) == {"elicit.W001"}


def test_a_broker_without_redis_is_warned_of(good: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    good.CELERY_BROKER_URL = "amqp://127.0.0.1:1"
    monkeypatch.setitem(good.DATABASES["default"], "ENGINE", "django.db.backends.postgresql")
    assert set(found()) == {"elicit.W002"}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ELICIT_ALLOW_LOOPBACK", True, "elicit.W003"),
        ("ELICIT_PUBLIC_URL", "http://flows.example.com", "elicit.W004"),
    ],
)
def test_what_is_for_development_is_warned_of_before_a_deployment(
    good: Settings, name: str, value: object, expected: str
) -> None:
    setattr(good, name, value)
    assert set(found(include_deployment_checks=True)) == {expected}
    assert found() == {}


@pytest.fixture
def box() -> Iterator[Box]:
    made = Box("embedded")
    yield made
    made.remove()


def test_before_the_first_migrate_checks_that_read_the_database_find_nothing(box: Box) -> None:
    ran = box.manage("check", "--database", "default")
    assert "no issues" in ran.stdout + ran.stderr


def test_t114_the_deploy_check_of_a_production_set_up_is_clean_and_of_a_development_one_is_not(
    box: Box, migrated_sqlite: Path
) -> None:
    shutil.copy(migrated_sqlite, box.home / "elicit.sqlite3")
    command = ("check", "--deploy", "--fail-level", "WARNING", "--database", "default")
    box.env = {**box.env, "ELICIT_ALLOW_LOOPBACK": "off", **PRODUCTION, "DATABASE_URL": box.database_url}
    box.manage(*command)
    box.env["ELICIT_DEBUG"] = "on"
    assert "security.W018" in box.manage(*command, check=False).stderr


@pytest.mark.django_db
def test_serve_says_at_its_start_what_reads_the_database(good: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """It is stopped by the error after the warning, so that it does not go on to serve."""
    vault.verify_keys()
    Provider.objects.create(slug="old", client_id="ours", pkce="off", client_secret="v1.k1.AAAA")
    good.ELICIT_VAULT_KEYS = OTHER
    with pytest.raises(CommandError, match=r"elicit\.E002") as stopped:
        call_command("serve", "--port", "1")
    assert "elicit.W005" in str(stopped.value)
