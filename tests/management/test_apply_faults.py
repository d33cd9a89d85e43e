"""``manage.py apply``: a wrong file changes nothing, and says line, key, what is wrong and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.core.management import CommandError, call_command
from pytest_django import Settings

from elicit_flows.config_file.reader import KeyLines
from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider
from tests.doubles import github
from tests.management.files import API_KEY, HOOK, SMALL, WHOLE, Operator
from tests.management.test_apply import stored
from tests.support.box import Box

EC_KEY = (
    ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
)
# what is written instead of what, and the fault's line, key and words
WRONG = {
    "unknown table": ("[[agent]]", "[[agents]]", "36: agents: there is no such table; use identity_provider, provider"),
    "table written as one": ("[[agent]]", "[agent]", "36: agent: write each one under its own [[agent]]"),
    "unknown key": ("max_age", "max_aeg", "8: max_aeg: there is no such key here; use slug, name"),
    "missing key": ('client_id = "our-client"\n', "", "10: client_id: is missing here; add it"),
    "text for a number": ("max_age = 3600", 'max_age = "3600"', "8: max_age: must be a whole number from 0"),
    "truth for a number": ("max_age = 3600", "max_age = true", "8: max_age: must be a whole number from 0"),
    "negative": ("max_age = 3600", "max_age = -1", "8: max_age: must be a whole number from 0"),
    "number for a text": ('name = "Drive Bot"', "name = 7", "38: name: must be one line of text, 1 to 200"),
    "line end in a name": ('"Drive Bot"', '"Drive\\nBot"', "38: name: must be one line of text"),
    "name too long": ('"Drive Bot"', f'"{"x" * 201}"', "38: name: must be one line of text, 1 to 200"),
    "slug": ('"drive-bot"', '"drive bot"', "37: slug: must be 1 to 64 letters, digits, hyphens or underscores"),
    "slug too long": ('"drive-bot"', f'"{"x" * 65}"', "37: slug: must be 1 to 64 letters"),
    "http": ("https://drive.example.com/token", "http://drive.example.com/token", "22: token_url: is refused: The URL"),
    "private": ("https://drive.example.com/token", "https://10.0.0.1/token", "22: token_url: is refused: The address"),
    "issuer over http": ("https://idp.example.com", "http://idp.example.com", "4: issuer: is refused: The URL must"),
    "issuer with query": ("https://idp.example.com", "https://idp.example.com?a=1", "4: issuer: must be an issuer"),
    "words for two scopes": (
        "userinfo_url", 'scope_words = { "a b" = "x" }\nuserinfo_url', "24: scope_words: a b: must be one scope"
    ),
    "words in no language": (
        "userinfo_url", 'scope_words = { a = { xx = "x" } }\nuserinfo_url', "24: scope_words: a must be like { en = "
    ),
    "scopes in one": ('["openid", "profile"]', '["openid profile"]', "7: scopes: number 1 must be one scope"),
    "scopes as text": ('["openid", "profile"]', '"openid"', "7: scopes: must be a list"),
    "no openid": ('["openid", "profile"]', '["profile"]', '7: scopes: must contain "openid"'),
    "token_auth": ('"none"', '"basic"', '26: token_auth: must be one of: "client_secret_basic", "client_secret_post"'),
    "pkce": ('pkce = "S256"', 'pkce = "plain"', '27: pkce: must be one of: "S256", "off"'),
    "grant": ('pkce = "S256"', 'grant = "code"', '27: grant: must be one of: "authorization_code", "device_code"'),
    "device": (
        'pkce = "S256"',
        'device_authorization_url = "ftp://x"',
        "27: device_authorization_url: ",
    ),
    "par": ('pkce = "S256"', 'par = "yes"', '27: par: must be one of: "auto", "required", "off"'),
    "dead grant": ('pkce = "S256"', 'dead_grant = ["x"]', "27: dead_grant: number 1 must have words and may have path"),
    "dead grant, no words": (
        'pkce = "S256"', "dead_grant = [{ words = [] }]", "27: dead_grant: number 1, words must have one at least",
    ),
    "dead grant, trouble": (
        'pkce = "S256"', 'dead_grant = [{ words = ["x"], status = 503 }]',
        "27: dead_grant: number 1, status must be a whole number from 200 to 499",
    ),
    "dead grant, no way": (
        'pkce = "S256"', 'dead_grant = [{ words = ["x"], path = [] }]', "27: dead_grant: number 1, path must be a list",
    ),
    "dpop": ('pkce = "S256"', 'dpop = "on"', '27: dpop: must be one of: "off", "required"'),
    "resource": ('pkce = "S256"', 'resources = ["files"]', "27: resources: number 1 must be an absolute URI"),
    "resource in part": ('pkce = "S256"', 'resources = ["https://a.example/#b"]', "27: resources: number 1"),
    "known by both": ('pkce = "S256"', 'registration = "dynamic"', "25: client_id: is not set by the operator"),
    "secret in a document": (
        'client_id = "ours"\ntoken_auth = "none"', 'token_auth = "client_secret_post"\nregistration = "document"',
        '25: token_auth: must be "none" or "private_key_jwt"',
    ),
    "preset": ('preset = "github"', 'preset = "gitbub"', '12: preset: is not in the catalogue; `manage'),
    "no such variable": ("env:CORP_SECRET", "env:NOBODY_SET", "6: client_secret: names the environment variable NO"),
    "no such file": ("env:CORP_SECRET", "file:/nowhere/x", "6: client_secret: names the file /nowhere/x, which cannot"),
    "short key": (API_KEY, "x" * 31, "39: api_key: must be 32 to 512 visible ASCII characters"),
    "spaces in key": (API_KEY, "x " * 20, "39: api_key: must be 32 to 512 visible ASCII characters"),
    "hook without prefix": (HOOK, HOOK[6:], "45: webhook_secret: must be whsec_ and base64 of 24 to 64 bytes"),
    "short hook": (HOOK, "whsec_QUJD", "45: webhook_secret: must be whsec_ and base64 of 24 to 64 bytes"),
    "long hook": (HOOK, "whsec_" + "A" * 88, "45: webhook_secret: must be whsec_ and base64 of 24 to 64 bytes"),
    "hook not base64": (HOOK, "whsec_" + "-" * 44, "45: webhook_secret: must be whsec_ and base64 of 24 to 64 bytes"),
    "return url over http": ("https://drive-bot.example.com/done", "http://x.example.com", "43: return_urls: number 1"),
    "return url with user": ("https://drive-bot.example.com/done", "https://a:b@x.org/", "43: return_urls: number 1"),
    "return url to a scheme of all": ("https://drive-bot.example.com/done", "myapp:/done", "43: return_urls: number 1"),
    "return url with a script": ("https://drive-bot.example.com/done", "javascript:x", "43: return_urls: number 1"),
    "webhook to this machine": (
        "https://drive-bot.example.com/hooks", "https://127.0.0.1/hooks", "44: webhook_url: is refused",
    ),
    "no such identity provider": ('["corp"]', '["crop"]', "40: identity_providers: there is no identity_provider crop"),
    "no such provider": ('["github", "drive"]', '["gitlab"]', "41: providers: there is no provider gitlab; add its"),
    "no such payment account": ('["main"]', '["mian"]', "42: payment_accounts: there is no payment_account mian"),
    "no secret": ('token_auth = "none"', "", "18: client_secret: is missing, and token_auth is client_secret_basic"),
    "no addresses": (
        'issuer = "https://drive.example.com"\nauthorize_url = "https://drive.example.com/authorize"', "",
        "18: issuer: is missing, and so is authorize_url or token_url",
    ),
    "no private key": (
        'token_auth = "none"', 'token_auth = "private_key_jwt"\nclient_secret = "a word"',
        "27: client_secret: must be a private RSA or EC key",
    ),
    "private key without issuer": (
        'preset = "github"', 'preset = "github"\ntoken_auth = "private_key_jwt"', "10: issuer: is missing; private_key",
    ),
    "payment provider": ('"stripe"', '"adyen"', '31: provider: must be one of: "stripe"'),
    "key with a blank": ('"env:STRIPE_KEY"', '"sk_test_ 1"', "32: secret_key: must be 1 to 500 visible ASCII"),
    "publishable key": ('"env:STRIPE_KEY"', '"pk_test_1"', "32: secret_key: must be a secret key, sk_"),
    "hook for a key": ('"env:STRIPE_KEY"', '"whsec_1"', "32: secret_key: must be a secret key, sk_"),
    "no such key variable": ("env:STRIPE_KEY", "env:NOBODY_SET", "32: secret_key: names the environment variable NO"),
    "blank hook": ("env:STRIPE_WEBHOOK_SECRET", " ", "33: webhook_secrets: number 1 must not be blank"),
    "empty hook": ("env:STRIPE_WEBHOOK_SECRET", "", "33: webhook_secrets: number 1 must be a secret in quotes"),
    "hook alone": ('["env:STRIPE_WEBHOOK_SECRET"]', '"whsec_1"', "33: webhook_secrets: must be a list of at most 5"),
    "live key for tests": ('"env:STRIPE_KEY"', '"sk_live_1"', "34: livemode: is false, but secret_key is a live key"),
    "restricted live key": ('"env:STRIPE_KEY"', '"rk_live_1"', "34: livemode: is false, but secret_key is a live key"),
    "test key for money": ("livemode = false", "livemode = true", "34: livemode: is true, but secret_key is no live"),
    "sandbox address": ("livemode", 'api_base = "https://x.org"\nlivemode', "34: api_base: is for the sandbox; it is"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_with_its_line_and_changes_nothing(operator: Operator, name: str) -> None:
    old, new, expected = WRONG[name]
    assert WHOLE.count(old) == 1
    faults = operator.faults(WHOLE.replace(old, new))
    assert len(faults) == 1, faults
    assert faults[0].startswith(expected)
    assert not IdentityProvider.objects.exists()
    assert not Provider.objects.exists()
    assert not PaymentAccount.objects.exists()
    assert not Agent.objects.exists()


def test_a_wrong_file_leaves_what_was_there_as_it_was(operator: Operator) -> None:
    operator.apply(WHOLE)
    before = stored()
    operator.faults(WHOLE.replace("Our GitHub", "Changed").replace("drive-bot", "drive bot", 1))
    assert stored() == before


def test_everything_that_is_wrong_is_said_at_once_in_order(operator: Operator) -> None:
    faults = operator.faults(
        WHOLE.replace('["corp"]', '["crop"]').replace("S256", "plain").replace("env:CORP", "env:X_CORP")
    )
    assert [fault.partition(" ")[0] for fault in faults] == ["6:", "27:", "40:"]


def test_the_same_slug_twice_is_refused(operator: Operator) -> None:
    again = '\n[[provider]]\nslug = "drive"\nissuer = "https://x.example.com"\nclient_id = "x"\ntoken_auth = "none"\n'
    assert operator.faults(SMALL + again) == [
        "17: slug: another [[provider]] of this file has the same; each needs its own"
    ]


def test_the_same_issuer_twice_is_refused(operator: Operator) -> None:
    again = '\n[[identity_provider]]\nslug = "again"\nissuer = "https://idp.example.com"\nclient_id = "x"\n'
    assert operator.faults(SMALL + again) == [
        "18: issuer: another [[identity_provider]] of this file has the same; each needs its own"
    ]
    operator.apply(SMALL)
    assert operator.faults(again) == ["4: issuer: is the issuer of identity provider corp already; use that slug"]


def test_the_same_key_for_two_agents_is_refused(operator: Operator) -> None:
    other = f'[[agent]]\nslug = "other"\napi_key = "{API_KEY}"\n'
    assert operator.faults(WHOLE + other) == [
        "49: api_key: another [[agent]] of this file has the same; each needs its own"
    ]
    operator.apply(WHOLE)
    assert operator.faults(other) == ["3: api_key: is the key of agent drive-bot; each needs its own"]


def test_a_key_that_moves_from_one_agent_to_another_is_refused_in_a_sentence(operator: Operator) -> None:
    one, two = "1" * 32, "2" * 32
    file = '[[agent]]\nslug = "a"\napi_key = "{}"\n[[agent]]\nslug = "b"\napi_key = "{}"\n'
    operator.apply(SMALL + file.format(one, two))
    before = stored()
    ran = operator.apply(SMALL.replace('"elicit"', '"changed"') + file.format(two, one))
    assert (ran.failed, stored()) == (1, before)
    assert "moves from one row to another. Apply it in two steps" in ran.said[-1]


@pytest.mark.parametrize(("secret", "key"), [("short-but-secret", "api_key"), ("whsec_secret", "webhook_secret")])
def test_t112_no_fault_repeats_a_secret(operator: Operator, secret: str, key: str) -> None:
    [fault] = operator.faults(SMALL + f'{key} = "{secret}"\n')
    assert secret not in fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (SMALL + "name = \n", "15: toml: this is not TOML: Invalid value"),
        (SMALL + 'name = "x"\nname = "y"\n', "16: toml: this is not TOML: Cannot overwrite a value"),
        (SMALL + 'name = """x', "15: toml: this is not TOML: "),
        (b"# \xff\n", "1: toml: the file must be text in UTF-8"),
        (b"# fine\n# \xff\n", "2: toml: the file must be text in UTF-8"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(operator: Operator, text: str | bytes, fault: str) -> None:
    [said] = operator.faults(text)
    assert said.startswith(fault)


@pytest.mark.parametrize("name", ["nothing.toml", "."])
def test_a_file_that_cannot_be_read_is_said_in_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("apply", str(tmp_path / name))


@pytest.fixture
def box(migrated_sqlite: Path) -> Iterator[Box]:
    """Nothing runs in it."""
    made = Box("embedded")
    shutil.copy(migrated_sqlite, made.home / "elicit.sqlite3")
    yield made
    made.remove()


@pytest.mark.slow
def test_as_a_process_it_exits_with_one_after_a_wrong_file_and_with_nothing_after_a_good_one(
    box: Box, tmp_path: Path
) -> None:
    file = tmp_path / "elicit.toml"
    file.write_text(SMALL.replace('"bot"', '"b o t"'))
    ran = box.manage("apply", str(file), check=False)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert f"{file}:13: slug: must be 1 to 64 letters" in ran.stderr
    assert "Traceback" not in ran.stderr
    file.write_text(SMALL)
    ran = box.manage("apply", str(file), check=False)
    assert ran.returncode == 0
    assert ran.stdout.startswith("identity provider corp: made\n")


@pytest.mark.slow
def test_a_database_that_is_not_there_yet_is_said_in_a_sentence(box: Box, tmp_path: Path) -> None:
    (box.home / "elicit.sqlite3").unlink()
    file = tmp_path / "elicit.toml"
    file.write_text(SMALL)
    ran = box.manage("apply", str(file), check=False)
    assert ran.returncode == 1
    assert "manage.py migrate" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_t79_a_vault_key_that_is_not_the_one_used_before_stops_it_before_anything_is_written(
    operator: Operator, settings: Settings
) -> None:
    operator.apply(SMALL)
    before = stored()
    settings.ELICIT_VAULT_KEYS = "k1:" + "B" * 43 + "="
    ran = operator.apply(WHOLE)
    assert ran.failed == 1
    assert ran.said == ["Nothing was changed: ELICIT_VAULT_KEYS: key 'k1' is not the one used before."]
    assert stored() == before


def test_a_stored_secret_that_does_not_open_is_said_in_a_sentence(operator: Operator) -> None:
    operator.apply(SMALL)
    Provider.objects.update(client_secret="v1.k1.AAAA")
    ran = operator.apply(SMALL)
    assert ran.failed == 1
    assert "a stored secret does not open" in ran.said[-1]


def test_lines_are_found_as_people_write_files() -> None:
    text = "\n".join(
        [
            "top = 1",
            "  [[ 'agent' ]]  # the first",
            '  "slug" = "a"',
            'name = """',
            "[[agent]]",
            'slug = "not this"',
            '"""',
            "[[agent]]",
            "return_urls = [",
            '  "https://x.org",',
            "]",
            "slug='b'",
        ]
    )
    lines = KeyLines(text)
    assert lines.of("agent", 0, "slug") == 3
    assert lines.of("agent", 0, "not there") == 2
    assert lines.of("agent", 1, "return_urls") == 9
    assert lines.of("agent", 1, "slug") == 12
    assert lines.of("top", 0) == 1
    assert lines.of("nowhere", 0) == 1


@pytest.mark.parametrize(
    ("preset", "key", "why"),
    [
        ("github", github.pem(), "is for a preset whose apps people install"),
        ("github-app", EC_KEY, "must be a private RSA key"),
        ("github-app", "no key", "must be a private RSA key"),
    ],
)
def test_the_key_of_an_app_is_an_rsa_key_for_a_preset_with_installations(
    operator: Operator, preset: str, key: str, why: str
) -> None:
    (fault,) = operator.faults(
        f'[[provider]]\nslug = "forge"\npreset = "{preset}"\nclient_id = "ours"\nclient_secret = "s"\n'
        f'app_key = """{key}"""\n'
    )
    assert fault.startswith(f"6: app_key: {why}")
