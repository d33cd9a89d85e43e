"""Vault keys that are wrapped by AWS KMS (moto's server, botocore's client) or by HashiCorp Vault."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
import pytest
from botocore.session import get_session
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from elicit_flows import checks, vault
from elicit_flows.lib import kms
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import seal
from tests.doubles.server import Response, json_response
from tests.doubles.transit import TOKEN, Transit
from tests.support import rows
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, clean_env
from tests.support.rows import Known

PLAIN = os.environ["ELICIT_VAULT_KEYS"]
NAMES = {"aws-kms": "alias/elicit", "vault": "transit/elicit"}


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which AWS's clients talk to a KMS that has the key ``alias/elicit``."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log: Path = tmp_path_factory.mktemp("moto") / "log"
    server = Process([sys.executable, "-m", "moto.server", "-p", str(port)], log)
    server.start()
    server.wait_until(lambda: answers(url), "moto's KMS answers")
    access = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "eu-central-1"}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in access.items():
            patched.setenv(name, value)
        client: Any = get_session().create_client("kms", endpoint_url=url)
        key = client.create_key()["KeyMetadata"]["KeyId"]
        client.create_alias(AliasName="alias/elicit", TargetKeyId=key)
    yield {**access, "AWS_ENDPOINT_URL_KMS": url}
    server.stop()


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/moto-api/data.json", trust_env=False, timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.fixture
def transit(settings: LazySettings) -> Iterator[Transit]:
    with Transit() as double:
        settings.ELICIT_KMS = {"vault": {"address": double.url, "token": TOKEN}}
        yield double


@pytest.fixture(params=["aws-kms", "vault"])
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a service that is there."""
    if request.param == "vault":
        request.getfixturevalue("transit")
    else:
        for name, value in request.getfixturevalue("aws").items():
            monkeypatch.setenv(name, value)
    return str(request.param)


def new_entry(service: str, key: str = "k2") -> str:
    out = StringIO()
    call_command("keys", "new", key, "--kms", service, "--kms-key", NAMES[service], stdout=out, stderr=StringIO())
    return out.getvalue().strip()


def refusal(settings: LazySettings, keys: str) -> str:
    """What the start says to these keys."""
    settings.ELICIT_VAULT_KEYS = keys
    [found] = checks.vault_keys_parse()
    assert (found.id, found.is_serious()) == ("elicit.E001", True)
    return str(found.msg)


def test_t78_a_wrapped_key_takes_over_from_one_in_the_environment(
    service: str, settings: LazySettings, known: Known, drive_row: ProviderRow
) -> None:
    settings.ELICIT_VAULT_KEYS = PLAIN
    given = rows.grant()
    held = rows.connection(known, drive_row, given)
    entry = new_entry(service)
    assert entry.startswith(f"k2:{service}:")
    settings.ELICIT_VAULT_KEYS = f"{entry},{PLAIN}"
    call_command("rotate", stdout=StringIO())
    settings.ELICIT_VAULT_KEYS = entry
    assert Connection.objects.get(pk=held.pk).access_token.startswith("v1.k2.")
    assert vault.token(known.row, held.pk)["access_token"] == given.access_token.reveal()
    vault.verify_keys()


def test_t75_the_entry_does_not_hold_the_key(service: str, settings: LazySettings) -> None:
    entry = new_entry(service)
    raw = kms.unwrap(service, entry.split(":", 2)[2], settings.ELICIT_KMS.get(service, {}))
    assert len(raw) == 32
    decoded = base64.b64decode(entry.rpartition(":")[2])
    assert raw not in decoded
    assert base64.b64encode(raw).decode() not in entry
    assert new_entry(service, "k3").rpartition(":")[2] != entry.rpartition(":")[2]


def test_the_service_is_asked_once_for_a_process(transit: Transit, settings: LazySettings) -> None:
    settings.ELICIT_VAULT_KEYS = new_entry("vault")
    transit.calls.clear()
    seal._parsed.cache_clear()
    for _ in range(5):
        sealed = vault.ring().seal(b"x", "here")
        assert vault.ring().open(sealed, "here") == b"x"
    assert transit.calls["decrypt"] == 1
    [request] = transit.seen("decrypt")[-1:]
    assert (request.method, request.headers["x-vault-token"]) == ("POST", TOKEN)


def test_t79_what_cannot_be_unwrapped_stops_the_start_and_names_key_and_reason(
    service: str, settings: LazySettings
) -> None:
    entry = new_entry(service)
    head, _, secret = entry.rpartition(":")
    altered = secret[:20] + ("A" if secret[20] != "A" else "B") + secret[21:]
    said = refusal(settings, f"{PLAIN},{head}:{altered}")
    assert "key 'k2' cannot be unwrapped: " in said
    assert altered not in said
    assert PLAIN.partition(":")[2] not in said
    assert {"aws-kms": "AWS KMS answered ", "vault": "answered 400: invalid ciphertext"}[service] in said


@pytest.mark.slow
def test_t79_a_process_without_its_service_does_not_start(aws: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in aws.items():
        monkeypatch.setenv(name, value)
    entry = new_entry("aws-kms")
    nowhere = {"AWS_ENDPOINT_URL_KMS": f"http://127.0.0.1:{free_port()}"}
    env = clean_env({**aws, **nowhere, "ELICIT_VAULT_KEYS": entry, "SECRET_KEY": "x" * 50})
    command = [sys.executable, "manage.py", "check"]
    ran = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "key 'k2' cannot be unwrapped: the call to AWS KMS failed: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert entry.rpartition(":")[2] not in ran.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "VAULT_ADDR and VAULT_TOKEN must be set"),
        ({"address": "http://vault.example.com:8200", "token": TOKEN}, "must begin with https://"),
        ({"address": "http://127.0.0.1:9", "token": TOKEN}, "does not answer (ConnectError)"),
        ({"address": "https://127.0.0.1:9", "token": TOKEN, "ca": "/nowhere.pem"}, "VAULT_CACERT: /nowhere.pem cannot"),
    ],
)
def test_t79_vault_that_is_not_configured_is_said_to_be(
    settings: LazySettings, options: dict[str, str], why: str
) -> None:
    settings.ELICIT_KMS = {"vault": options}
    said = refusal(settings, "k9:vault:transit/elicit:vault:v1:AAAA")
    assert why in said
    assert TOKEN not in said


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (json_response({"errors": ["Vault is sealed"]}, 503), "answered 503: Vault is sealed"),
        (Response(302, b"", {"Location": "http://127.0.0.1:9/"}), "answered 302"),
        (Response(200, b"<html>"), "Vault's answer cannot be used"),
        (json_response({"data": {"plaintext": "not base64!"}}), "Vault's answer cannot be used"),
        (json_response({"data": {"plaintext": "YWFhYWFhYWFhYWFhYWFhYQ=="}}), "base64 of 32 bytes"),
    ],
)
def test_t79_odd_answers_of_vault_stop_the_start(
    transit: Transit, settings: LazySettings, answer: Response, why: str
) -> None:
    transit.scripted["decrypt"] = answer
    assert why in refusal(settings, f"k9:vault:transit/elicit:vault:v1:{why.encode().hex()}")


def test_t79_entries_that_are_none(settings: LazySettings) -> None:
    assert "no key management service 'gcp'" in refusal(settings, "k9:gcp:AAAA")
    assert "'elicit' is not the path of a transit key" in refusal(settings, "k9:vault:elicit:vault:v1:AAAA")
    assert "not base64" in refusal(settings, "k9:aws-kms:vault:v1")
    assert "begin with a new id" in refusal(settings, f"{PLAIN},{PLAIN}")


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "elicit_flows.lib.kms.aws", None)
    with pytest.raises(kms.KmsError, match="which is not installed"):
        kms.unwrap("aws-kms", "AAAA", {})


def test_new_entries_that_cannot_be_made(transit: Transit, settings: LazySettings) -> None:
    settings.ELICIT_VAULT_KEYS = PLAIN
    for command, why in (
        (("new", "k1"), "is no new id"),
        (("new", "k 2"), "is no new id"),
        (("new", "k2", "--kms", "vault"), "go together"),
        (("new", "k2", "--kms", "vault", "--kms-key", "transit/other"), "answered 404"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("keys", *command)
    out = StringIO()
    call_command("keys", "new", "k2", stdout=out, stderr=StringIO())
    settings.ELICIT_VAULT_KEYS = f"{out.getvalue().strip()},{PLAIN}"
    assert vault.ring().newest == "k2"


def test_a_ring_that_is_broken_raises_what_the_start_catches(settings: LazySettings) -> None:
    settings.ELICIT_VAULT_KEYS = "k9:vault:nowhere"
    with pytest.raises(ImproperlyConfigured, match=r"^ELICIT_VAULT_KEYS: key 'k9' cannot be unwrapped"):
        vault.ring()
