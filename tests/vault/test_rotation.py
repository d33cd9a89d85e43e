"""T78, T79: changing the vault keys while the service runs, and starting with wrong ones."""

from __future__ import annotations

import base64
import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.db.models import TextField

from elicit_flows import checks, elicitations, vault
from elicit_flows.domain.values import Secret
from elicit_flows.models import (
    Agent,
    Attempt,
    Checkout,
    Connection,
    Contact,
    Elicitation,
    IdentityAssertion,
    IdentityProvider,
    NotificationSettings,
    Operator,
    Payment,
    PaymentAccount,
    PendingGrant,
    PushSubscription,
    ReceiptKey,
    Recipient,
    Registration,
    VaultKey,
)
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import provider_settings, rotation, two_factor
from elicit_flows.vault.seal import KeyRing, UnknownKey, seal
from tests.cast import ALICE
from tests.doubles.provider import Provider
from tests.support import dump, rows
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.rows import Known, question
from tests.support.serving import Served

SECRETS = (
    "secret",
    "secrets",
    "secret_key",
    "_token",
    "_tokens",
    "minted",
    "dpop_key",
    "app_key",
    "stash",
    "secret_previous",
)


def key(name: str) -> str:
    return f"{name}:{base64.b64encode(name.encode().ljust(32, b'.')).decode()}"


@pytest.fixture
def old(settings: LazySettings) -> LazySettings:
    """The ring before: one key."""
    settings.ELICIT_VAULT_KEYS = key("old")
    return settings


@pytest.fixture
def everything(old: LazySettings, known: Known, drive_row: ProviderRow) -> list[str]:
    """Something sealed in every column that is; what it is in the clear."""
    identity = rows.identity_provider()
    identity.managed_hosts = ["mcp.example.com"]
    vault.seal_client_secret(identity, Secret("the identity provider's secret"))
    identity.save()
    vault.seal_webhook_secret(known.row, Secret("whsec_" + "B" * 43 + "="))
    known.row.save()
    grant = replace(rows.grant(), dpop_key=Secret("the private key"), token_secret=Secret("the token's secret"))
    row = rows.connection(known, drive_row, replace(grant, sets={"user": rows.grant()}))
    row.minted = seal(Secret("{}"), vault.connections.sealed_at(row, "minted"))
    row.save()
    vault.seal_app_key(drive_row, Secret("the key of an app"))
    drive_row.save()
    asked = Elicitation.objects.create(agent=known.row, kind="oauth", expires_at=row.created_at)
    elicitations.change_note(asked, {"result": "what the tool said"})
    stash = vault.seal_stash({"verifier": "the verifier"}, "state-hash")
    Attempt.objects.create(
        elicitation=asked, state_hash="state-hash", browser_hash="x", stash=stash, created_at=row.created_at,
        expires_at=row.created_at,
    )  # fmt: skip
    two_factor.key_uri(two_factor.operator(User.objects.get_or_create(username="olga")[0]), "us")
    checkout = a_checkout(known, asked)
    checkout.url = vault.seal_url(checkout, "https://pay.example/checkout")
    checkout.save()
    vault.sign_receipt({})
    vault.store_pending_grant(asked, row, rows.grant())
    registered = Registration(provider=drive_row, client_id="c", registered_at=row.created_at)
    place = provider_settings.registration_place(registered)
    registered.client_secret, registered.lease_until = seal(Secret("what the provider gave us"), place), row.created_at
    registered.save()
    tell_people()
    vault.keep_assertion(identity, rows.signed_in(identity))
    with transaction.atomic():
        vault.keep_credentials(known.row, row.claim, None, "API key", {"key": Secret("the typed key")})
    vault.verify_keys()
    return in_the_clear()


def tell_people() -> None:
    offered = NotificationSettings()
    vault.contacts.seal_chat(offered, [Secret("slack://everybody/{email}")])
    vault.contacts.seal_signing_secret(offered, Secret("whsec_of-the-operator"))
    vault.contacts.seal_push_key(offered, Secret("the key that signs"))
    browser = PushSubscription(iss="i", sub="a", name="c" * 64)
    vault.contacts.seal_push(browser, {"endpoint": "https://push.example.com/a", "p256dh": "p", "auth": "s"})
    contact, listed = Contact(iss="i", sub="a"), Recipient(slug="b", iss="i", sub="b")
    vault.contacts.seal_email(contact, "a@example.com")
    vault.contacts.seal_email(listed, "b@example.com")
    vault.contacts.seal_chat(listed, [Secret("slack://b")])
    for row in (offered, browser, contact, listed):
        row.save()


def a_checkout(known: Known, asked: Elicitation) -> Checkout:
    account = PaymentAccount(slug="main", provider="stripe")
    vault.seal_account(account, Secret("the account's key"), [Secret("one"), Secret("another")])
    account.save()
    payment = Payment.objects.create(
        agent=known.row, account=account, elicitation=asked, mode="pay", amount=500, currency="eur"
    )
    return Checkout(payment=payment, account=account, expires_at=asked.expires_at)


def in_the_clear() -> list[str]:
    found = []
    for model, field, where in rotation.SEALED:
        for row in model._default_manager.exclude(**{field: ""}):
            found.append(vault.ring().open(getattr(row, field), where(row)).decode())
    return sorted(found)


def rotated() -> dict[str, int]:
    """How many texts of each column were sealed anew."""
    found = Counter[str]()
    for batch in vault.rotate():
        assert batch.broken == []
        found[batch.column] += batch.sealed
    return dict(found)


def rotation_columns() -> list[str]:
    return [rotation.name_of(model, field) for model, field, _ in rotation.SEALED]


def sealed_under(name: str) -> int:
    """How many texts name this key."""
    counts = [
        model._default_manager.filter(**{f"{field}__startswith": f"v1.{name}."}).count()
        for model, field, _ in rotation.SEALED
    ]
    return sum(counts)


def test_every_sealed_column_there_is_takes_part_in_a_rotation() -> None:
    """An encrypted column that the rotation leaves out would be lost with the old key."""
    models = (
        Agent, Attempt, Connection, Contact, IdentityAssertion, IdentityProvider, NotificationSettings, Operator,
        PaymentAccount, ProviderRow, Recipient,
    )  # fmt: skip
    texts = {
        (model, field.name) for model in models for field in model._meta.get_fields()
        if isinstance(field, TextField)
        and field.name.endswith((*SECRETS, "email", "chat"))
    }  # fmt: skip
    texts |= {(Checkout, "url"), (ReceiptKey, "private"), (Elicitation, "note"), (PendingGrant, "grant")}
    texts |= {(Registration, "client_secret"), (NotificationSettings, "push_key"), (PushSubscription, "address")}
    assert texts == {(model, field) for model, field, _ in rotation.SEALED}


def test_t78_everything_is_sealed_anew_and_reads_as_before(old: LazySettings, everything: list[str]) -> None:
    assert len(everything) == len(rotation.SEALED)
    old.ELICIT_VAULT_KEYS = f"{key('new')},{key('old')}"
    assert in_the_clear() == everything, "the old key still opens"
    done = rotated()
    assert done == dict.fromkeys(rotation_columns(), 1)
    assert (sealed_under("old"), sealed_under("new")) == (0, len(everything))
    old.ELICIT_VAULT_KEYS = key("new")
    assert in_the_clear() == everything
    vault.check_keys()
    assert rotated() == {}, "run again it has nothing to do"


def test_t78_what_is_written_after_the_change_is_under_the_newest_key(
    old: LazySettings, known: Known, drive_row: ProviderRow
) -> None:
    old.ELICIT_VAULT_KEYS = f"{key('new')},{key('old')}"
    row = rows.connection(known, drive_row)
    assert row.access_token.startswith("v1.new.")


def test_t78_a_key_that_is_still_needed_may_not_be_taken_out(old: LazySettings, everything: list[str]) -> None:
    old.ELICIT_VAULT_KEYS = key("new")
    with pytest.raises(ImproperlyConfigured, match="key 'old' is missing"):
        vault.check_keys()
    assert [found.id for found in checks.stored_keys_open(databases=["default"])] == ["elicit.E002"]
    before = VaultKey.objects.count()
    with pytest.raises(ImproperlyConfigured):
        vault.verify_keys()
    assert VaultKey.objects.count() == before, "nothing is written"
    old.ELICIT_VAULT_KEYS = f"{key('new')},{key('old')}"
    for _ in vault.rotate():
        pass
    old.ELICIT_VAULT_KEYS = key("new")
    vault.check_keys()
    assert checks.stored_keys_open(databases=["default"]) == []


class Killed(BaseException):
    """What no code of the product catches."""


@pytest.mark.slow
def test_t78_a_rotation_that_was_killed_is_finished_by_the_next(
    old: LazySettings, known: Known, drive_row: ProviderRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [rows.connection(known, drive_row, rows.grant(account=str(number))) for number in range(50)]
    clear = in_the_clear()
    old.ELICIT_VAULT_KEYS = f"{key('new')},{key('old')}"
    countdown = iter(range(30))
    reseal = rotation._reseal

    def until_killed(*given: object) -> int:
        if next(countdown, None) is None:
            raise Killed
        return reseal(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(rotation, "_reseal", until_killed)
        with pytest.raises(Killed):
            list(vault.rotate())
    assert sealed_under("new") == 30
    assert in_the_clear() == clear
    for _ in vault.rotate():
        pass
    assert sealed_under("old") == 0
    assert (len(held), in_the_clear()) == (50, clear)


def test_t78_a_refresh_in_between_wins_over_the_sealing_anew(
    old: LazySettings, known: Known, drive_row: ProviderRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row changes after the rotation has read it: compare-and-set, or the new token would be lost."""
    row = rows.connection(known, drive_row)
    old.ELICIT_VAULT_KEYS = f"{key('new')},{key('old')}"
    fresh = rows.grant()
    seal = KeyRing.seal

    def refreshed_meanwhile(ring: KeyRing, plain: bytes, where: str) -> str:
        monkeypatch.setattr(KeyRing, "seal", seal)
        with transaction.atomic():
            vault.keep(known.row, row.claim, drive_row, fresh)
        return seal(ring, plain, where)

    monkeypatch.setattr(KeyRing, "seal", refreshed_meanwhile)
    for _ in vault.rotate():
        pass
    assert vault.token(known.row, row.pk)["access_token"] == fresh.access_token.reveal()


@pytest.mark.slow
def test_t78_callers_notice_nothing_while_everything_is_sealed_anew(
    old: LazySettings, on_postgres: str, double: Provider
) -> None:
    """300 connections on PostgreSQL, fetched and refreshed by eight threads while the rotation runs twice."""
    known, drive_row = rows.agent(), rows.provider(double)
    grants = [rows.grant(double, account=str(number)) for number in range(20)]
    held = [rows.connection(known, drive_row, given) for given in grants]
    more = [rows.connection(known, drive_row, rows.grant(account=f"more-{number}")) for number in range(280)]
    over = threading.Event()

    def use(number: int) -> int:
        chance, count = random.Random(number), 0
        try:
            while not over.is_set():
                row = chance.choice(held)
                if chance.random() < 0.3:
                    rows.expire(row)
                token = vault.token(known.row, row.pk)["access_token"]
                assert token in double.tokens
                count += 1
        finally:
            connections.close_all()
        return count

    with ThreadPoolExecutor(8) as pool:
        callers = [pool.submit(use, number) for number in range(8)]
        for names in (("new", "old"), ("newest", "new")):
            old.ELICIT_VAULT_KEYS = ",".join(map(key, names))
            for _ in vault.rotate():
                pass
            for _ in vault.rotate():  # whoever sealed under the old ring while the first went by
                pass
            assert sealed_under(names[1]) == 0
        over.set()
        assert sum(caller.result() for caller in callers) > 20
    old.ELICIT_VAULT_KEYS = key("newest")
    for row in (*held, *more):
        vault.token(known.row, row.pk)


@pytest.mark.slow
def test_t79_a_server_with_the_wrong_key_does_not_start_and_writes_nothing(new_box: Callable[..., Box]) -> None:
    box = new_box(start=False)  # where nobody else writes
    before = dump.database(box.database_url)
    for keys in (key("k1"), key("other")):
        ran = box.manage("serve", "--port", "1", check=False, env={"ELICIT_VAULT_KEYS": keys})
        assert ran.returncode == 1
        assert "ELICIT_VAULT_KEYS" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert keys.partition(":")[2] not in ran.stderr + ran.stdout
    assert dump.database(box.database_url) == before


def test_processes_that_restart_one_after_the_other_open_what_each_other_seals() -> None:
    """In both steps of docs/how-to/vault-keys.md. With the second alone, those of before cannot."""
    before, known, used = map(KeyRing.parse, (key("old"), f"{key('old')},{key('new')}", f"{key('new')},{key('old')}"))
    for beside in ((before, known), (known, used)):
        for sealing, opening in itertools.product(beside, beside):
            assert opening.open(sealing.seal(b"text", "place"), "place") == b"text"
    with pytest.raises(UnknownKey):
        before.open(used.seal(b"text", "place"), "place")


def test_t117_cursors_are_good_while_the_former_secret_key_is_a_fallback(
    serve: Callable[..., Served], committed: None, settings: LazySettings
) -> None:
    rows.provider()
    known, before = rows.agent(), settings.SECRET_KEY
    with known.client(serve().url) as client:
        client.post("/v1/elicitations", json=question())
        cursor = client.get("/v1/events").json()["cursor"]
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another " * 8, [before]
        assert client.get("/v1/events", params={"after": cursor}).json()["data"] == []
        assert client.get("/v1/events", params={"after": cursor, "wait": 0}).json()["data"] == []
        settings.SECRET_KEY_FALLBACKS = []
        assert client.get("/v1/events", params={"after": cursor}).status_code == 400


@pytest.mark.slow
def test_t117_t78_a_flow_survives_new_keys_of_both_kinds(
    new_box: Callable[..., Box], corp: Op, drive: Op, http_user: HttpUser
) -> None:
    """Alice is at the provider while the operator changes SECRET_KEY and the vault key and starts the service anew."""
    box = new_box("embedded")
    agent = box.fresh_agent()
    asked = agent.post("/v1/elicitations", json=question(subject=ALICE.subject(corp.issuer))).json()
    with http_user.stopping_at(f"{box.url}/callback/"):
        http_user.connect(asked["url"], "alice")
        assert http_user.stopped, http_user.text
    newer = {
        "SECRET_KEY": "another " * 8,
        "SECRET_KEY_FALLBACKS": box.env["SECRET_KEY"],
        "ELICIT_VAULT_KEYS": f"{key('k2')},{box.env['ELICIT_VAULT_KEYS']}",
    }
    box.env |= newer
    box.processes["web"].env |= newer
    box.restart()
    assert "attempt.stash: 1 re-encrypted" in box.manage("rotate").stdout
    http_user.follow()
    done = agent.get(f"/v1/elicitations/{asked['id']}").json()
    assert done["status"] == "completed", http_user.text
    assert agent.post(f"/v1/connections/{done['result']['connection']}/token").status_code == 200
