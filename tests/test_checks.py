"""The system checks: what each reports about a set-up, and that a good set-up passes."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import CommandError, call_command
from pytest_django import Settings

from elicit_flows import vault
from elicit_flows.domain.values import Secret
from elicit_flows.lib import networks
from elicit_flows.models import Provider, VaultKey
from tests.doubles.certificate import by_an_authority
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
    settings.ELICIT_ADMIN_SECOND_FACTOR = True
    with suppress(FileNotFoundError):
        Path(str(settings.DATABASES["default"]["NAME"])).chmod(0o600)
    settings.CELERY_BROKER_URL = settings.REDIS_URL = None
    return settings


@pytest.mark.django_db
def test_a_good_set_up_is_not_spoken_of(good: Settings) -> None:
    assert found(include_deployment_checks=True, databases=["default"]) == {}


def test_every_message_says_what_to_do(good: Settings, db: None) -> None:
    good.ELICIT_VAULT_KEYS = "nonsense"
    good.ELICIT_ALLOW_LOOPBACK = True
    good.ELICIT_ADMIN_SECOND_FACTOR = False
    good.ELICIT_PUBLIC_URL = "http://flows.example.com"
    good.CELERY_BROKER_URL = "amqp://127.0.0.1"
    said = found(include_deployment_checks=True)
    assert set(said) >= {"elicit.E001", "elicit.W002", "elicit.W003", "elicit.W004", "elicit.W007", "elicit.E004"}
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
        ("ELICIT_PUBLIC_URL", "http://flows.example.com", "elicit.W004"),
        ("ELICIT_ADMIN_SECOND_FACTOR", False, "elicit.W007"),
        ("ELICIT_TRUSTED_PROXIES", "10.0.0.1, 0.0.0.0/0", "elicit.W008"),
        ("ELICIT_TRUSTED_PROXIES", ["10.0.0.1", "::/0"], "elicit.W008"),
        ("ELICIT_ALLOWED_NETWORKS", networks.read("10.20.0.0/16:443"), "elicit.W010"),
    ],
)
def test_t143_what_is_dangerous_is_warned_of_before_a_deployment(
    good: Settings, db: None, name: str, value: object, expected: str
) -> None:
    setattr(good, name, value)
    assert set(found(include_deployment_checks=True)) == {expected}
    assert found() == {}


@pytest.mark.parametrize("name", ["FORWARDED_ALLOW_IPS", "ELICIT_TRUSTED_PROXIES"])
def test_t143_a_variable_that_believes_everybody_is_named(
    good: Settings, db: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "*")
    assert name in str(found(include_deployment_checks=True)["elicit.W008"])
    monkeypatch.setenv(name, "10.0.0.1")
    assert found(include_deployment_checks=True) == {}


def test_t143_this_machine_may_be_called_only_where_nobody_else_comes(good: Settings, db: None) -> None:
    good.ELICIT_ALLOW_LOOPBACK = True
    assert found()["elicit.E004"].is_serious()
    for here in ("http://127.0.0.1:8000", "https://localhost:8443", "http://[::1]:8000"):
        good.ELICIT_PUBLIC_URL = here
        assert found() == {}
        assert "elicit.W003" in found(include_deployment_checks=True)


def test_t143_a_provider_without_pkce_is_named_before_a_deployment(good: Settings, db: None) -> None:
    Provider.objects.create(slug="old", client_id="ours", pkce="off")
    for databases in (None, ["default"]):
        said = [str(one.id) for one in run_checks(include_deployment_checks=True, databases=databases)]
        assert [one for one in said if one.startswith("elicit.")] == ["elicit.W005"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_t143_a_database_that_others_can_read_is_named(
    good: Settings, db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int
) -> None:
    file = tmp_path / "elicit.sqlite3"
    file.touch()
    monkeypatch.setitem(good.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    monkeypatch.setitem(good.DATABASES["default"], "NAME", str(file))
    file.chmod(mode)
    assert "elicit.W009" in found(include_deployment_checks=True)
    file.chmod(0o600)
    assert "elicit.W009" not in found(include_deployment_checks=True)


@pytest.mark.slow
def test_t143_what_requests_to_others_may_do_besides_is_named_at_every_start(
    tmp_path: Path, migrated_sqlite: Path
) -> None:
    """The server prints them. A worker of Celery prints the same sentences."""
    authorities = by_an_authority(tmp_path, "idp.corp.internal")
    settings = {
        "ELICIT_ALLOWED_NETWORKS": "10.20.0.0/16:8443,443,[fd12::/48]",
        "ELICIT_EGRESS_PROXY": "http://svc:canary@127.0.0.1:3128",
        "ELICIT_CA_FILE": str(authorities),
    }
    box = Box("embedded", settings=settings)
    try:
        shutil.copy(migrated_sqlite, box.home / "elicit.sqlite3")
        said = box.start().logs()
    finally:
        box.remove()
    assert "private networks: 10.20.0.0/16:443,8443; [fd12::/48]:443,8443,9443." in said
    assert "leave through http://127.0.0.1:3128." in said
    assert f"the authorities in {authorities} are accepted" in said
    assert "canary" not in said


@pytest.fixture
def box() -> Iterator[Box]:
    made = Box("embedded")
    yield made
    made.remove()


@pytest.mark.slow
def test_before_the_first_migrate_checks_that_read_the_database_find_nothing(box: Box) -> None:
    ran = box.manage("check", "--database", "default")
    assert "no issues" in ran.stdout + ran.stderr


@pytest.mark.slow
def test_t114_the_deploy_check_of_a_production_set_up_is_clean_and_of_a_development_one_is_not(
    box: Box, migrated_sqlite: Path
) -> None:
    shutil.copy(migrated_sqlite, box.home / "elicit.sqlite3")
    command = ("check", "--deploy", "--fail-level", "WARNING", "--database", "default")
    box.env = {**box.env, "ELICIT_ALLOW_LOOPBACK": "off", **PRODUCTION, "DATABASE_URL": box.database_url}
    box.manage(*command)
    box.env["ELICIT_DEBUG"] = "on"
    assert "security.W018" in box.manage(*command, check=False).stderr


@pytest.mark.slow
def test_t143_nobody_else_reads_the_database_that_a_command_makes_or_finds(box: Box) -> None:
    box.manage("migrate", "--verbosity", "0")
    files = sorted(box.home.glob("elicit.sqlite3*"))
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    files[0].chmod(0o644)
    box.manage("check", loaded=False)
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600


@pytest.mark.django_db
def test_serve_says_at_its_start_what_reads_the_database(good: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    """It is stopped by the error after the warning, so that it does not go on to serve."""
    vault.verify_keys()
    Provider.objects.create(slug="old", client_id="ours", pkce="off", client_secret="v1.k1.AAAA")
    good.ELICIT_VAULT_KEYS = OTHER
    with pytest.raises(CommandError, match=r"elicit\.E002") as stopped:
        call_command("serve", "--port", "1")
    assert "elicit.W005" in str(stopped.value)
