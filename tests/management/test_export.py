"""`manage.py export`: what it writes is taken back by `apply` without a change, and holds no secret."""

from __future__ import annotations

import base64
import json
import re
import tomllib

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.core import serializers

from elicit_flows.config_file.schema import TABLES
from elicit_flows.config_file.toml import inline
from elicit_flows.models import Agent, IdentityProvider, PaymentAccount, Provider, Recipient
from tests.brands.files import png
from tests.doubles import github
from tests.doubles.policy import loopback_allowed
from tests.management.files import SMALL, WHOLE, Operator
from tests.support.money import WALLET_ADDRESS, WALLET_KEY

CHAT = "jsons://canary-of-the-chat.example.com/{email}"
APP_KEY = github.pem()
SECRETS = {
    "client_secret": "canary-of-the-client", "app_key": APP_KEY, "secret_key": "sk_test_canary", "chat_1": CHAT,
}  # fmt: skip
NUMBERS = ec.generate_private_key(ec.SECP256R1()).public_key().public_numbers()
JWK = {
    "kty": "EC", "crv": "P-256", "kid": "1",
    "x": base64.urlsafe_b64encode(NUMBERS.x.to_bytes(32, "big")).decode().rstrip("="),
    "y": base64.urlsafe_b64encode(NUMBERS.y.to_bytes(32, "big")).decode().rstrip("="),
}  # fmt: skip
HOOK = "whsec_" + "C" * 43 + "="
PICTURE = "data:image/png;base64," + base64.b64encode(png()).decode()
# Every key that there is, once at least.
ALL = f'''
[brand]
name = "Acme"
legal_name = "Acme GmbH"
logo = "{PICTURE}"
logo_dark = "{PICTURE}"
icon = "{PICTURE}"
brand = "#0b5cad"
brand_dark = "#7db8ff"
radius = "0"
font = "serif"
support_url = "https://acme.example/help"
support_email = "help@acme.example"
privacy_url = "https://acme.example/privacy"
terms_url = "https://acme.example/terms"
texts = {{ done = {{ en = "Thanks.", zh-hans = "谢谢。" }} }}
hide_secured_by = true

[notifications]
email = true
chat = ["{CHAT}"]
webhook_url = "https://intranet.example.com/tell"
webhook_secret = "{HOOK}"
push = true
push_hosts = ["push.example.com"]
per_person = 3
per_agent = 30

[[recipient]]
slug = "alice"
iss = "https://idp.example.com"
sub = "u-1"
email = "alice@example.com"
chat = ["{CHAT}"]

[[identity_provider]]
slug = "corp"
name = "Acme account"
icon = "{PICTURE}"
order = 3
issuer = "https://idp.example.com"
client_id = "elicit \\"quoted\\" \\\\ ünï"
client_secret = "canary-of-the-client"
scopes = ["openid", "profile"]
max_age = 0
introspect = true
managed_hosts = ["mcp.example.com"]
managed_refusal = "fail"

[[identity_provider]]
slug = "site"
sort = "site"
issuer = "https://www.example.com"
sign_in_url = "https://www.example.com/sign-in"
keys = [{inline(JWK)}]

[[identity_provider]]
slug = "proxy"
sort = "proxy"
issuer = "https://proxy.example.com"
header = "Cf-Access-Jwt-Assertion"
audiences = ["one", "two"]
jwks_url = "https://proxy.example.com/certs"

[[provider]]
slug = "drive"
name = "Our Drive"
logo = "{PICTURE}"
issuer = "https://drive.example.com"
authorize_url = "https://drive.example.com/authorize"
token_url = "https://drive.example.com/token"
revocation_url = "https://drive.example.com/revoke"
userinfo_url = "https://drive.example.com/me"
device_authorization_url = "https://drive.example.com/device"
client_id = "ours"
client_secret = "canary-of-the-client"
token_auth = "client_secret_post"
scopes = ["files.read"]
scope_words = {{ "files.read" = "See your files", "files.write" = {{ en = "Add files", de = "Dateien ergänzen" }} }}
grant = "device_code"
pkce = "off"
par = "required"
dpop = "required"
resources = ["https://api.example.com/"]
dead_grant = [{{ status = 400, path = ["error", "code"], words = ["gone", "dead"] }}]
metadata = [{{ name = "site", from = "call", path = ["*", "id"], type = "host", hosts = ["*.example.com"] }}]
metadata_url = "https://api.example.com/sites"
api_urls = ["https://api.example.com/v2", "https://uploads.example.com"]

[[provider]]
slug = "mcp"
issuer = "https://mcp.example.com"
managed_by = "corp"
registration = "dynamic"

[[provider]]
slug = "shop"
preset = "shopify"
variables = {{ shop = "our-shop" }}
client_id = "ours"
client_secret = "canary-of-the-client"
scopes = []

[[provider]]
slug = "plain"
preset = "github"
client_id = "ours"
client_secret = "canary-of-the-client"

[[provider]]
slug = "forge"
preset = "github-app"
variables = {{ app = "octo-app" }}
client_id = "ours"
client_secret = "canary-of-the-client"
app_key = """{APP_KEY}"""

[[provider]]
slug = "weather"
sort = "credentials"
fields = [
  {{ name = "user", label = "User", secret = false, help = "Your name.", pattern = "^[a-z]+$", example = "ann" }},
  {{ name = "key", label = "Key" }},
]
find_url = "https://weather.example.com/keys"
[provider.verify]
url = "https://api.example.com/me"
headers = {{ X-Key = "{{key}}", "Accept" = "*/*" }}
basic = ["user", "key"]
accepted = [404]
refused = [401]

[[provider]]
slug = "meters"
sort = "credentials"
token_url = "https://id.example.com/token"

[[payment_account]]
slug = "main"
provider = "stripe"
secret_key = "sk_test_canary"
webhook_secrets = ["whsec_canary-1", "whsec_canary-2"]
api_base = "http://127.0.0.1:8001"
refund_mismatch = true
keep_late = true
allow_save = true
allow_mandates = true
renewal_grace = 7
computes_tax = true
makes_invoices = true

[[payment_account]]
slug = "bakery"
provider = "stripe"
secret_key = "sk_test_canary"
connected_account = "acct_1"
application_fee_basis_points = 250

[[payment_account]]
slug = "pal"
provider = "paypal"
client_id = "client-1"
secret_key = "sk_test_canary"

[[payment_account]]
slug = "wallet"
provider = "x402"
client_id = "{WALLET_ADDRESS}"
secret_key = "{WALLET_KEY}"
network = "eip155:84532"
max_per_payment = 1000
max_per_day = 5000
payees = ["0x209693Bc6afc0C5328bA36FaF03C514EF312287C"]

[[payment_account]]
slug = "live"
provider = "stripe"
secret_key = "sk_live_canary"
livemode = true

[[agent]]
slug = "bot"
name = "Bot"
logo = "{PICTURE}"
site = "https://bot.example.com"
description = "Sorts your mail."
brand = {{ name = "Bot Works", icon = "{PICTURE}" }}
api_key = "the-key-of-a-canary-0123456789abcdef"
identity_providers = ["proxy", "corp"]
providers = ["drive"]
payment_accounts = ["main"]
spend_limits = [{{ currency = "jpy", per_day = 9000 }}, {{ currency = "eur", per_payment = 2000, per_day = 5000 }}]
import_connections = true
notify = true
require_user_token = true
tokens_never_leave = true
managed_access = true
user_token_audiences = ["elicit"]
mcp_servers = ["mcp.example.com", "*.example.org"]
requests_per_minute = 60
return_urls = ["https://bot.example.com/done"]
webhook_url = "https://bot.example.com/hooks"
webhook_secret = "{HOOK}"

[[agent]]
slug = "none"
providers = []

[[agent]]
slug = "all"
'''


def stored() -> list[object]:
    rows = [
        row
        for model in (IdentityProvider, Provider, PaymentAccount, Agent, Recipient)
        for row in model.objects.order_by("slug")
    ]
    return [*json.loads(serializers.serialize("json", rows)), *Agent.objects.values_list("spend_limits__currency")]


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Sets the variables that the file names to the secrets."""
    for name in re.findall(r"env:(\w+)", text):
        secret = next((value for key, value in SECRETS.items() if name.endswith(key.upper())), None)
        secret = "sk_live_canary" if "LIVE" in name else secret
        secret = WALLET_KEY if "WALLET" in name else secret
        monkeypatch.setenv(name, secret or f"whsec_canary-{name[-1]}")


def test_everything_that_a_file_can_hold_comes_back_without_a_change(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: dict[str, set[str]] = {}
    for table, entries in tomllib.loads(ALL).items():
        keys[table] = {key for entry in (entries if isinstance(entries, list) else [entries]) for key in entry}
    assert keys == {table: set(known) for table, known in TABLES.items()}, "the file has every key"
    with loopback_allowed():
        assert operator.apply(ALL).said[0].endswith("pkce is off, so a stolen code can be redeemed")
        exported, before = operator.export(), stored()
        assert "canary" not in exported
        assert "PRIVATE KEY" not in exported
        given(monkeypatch, exported)
        assert "providers = []" in exported
        again = operator.apply(exported, "--skip-checks")
        assert again.failed == 0, again
        assert {line.partition(": ")[2] for line in again.lines} == {"as it was"}
        assert stored() == before
        assert operator.export() == exported


def test_on_another_service_the_same_is_made_with_keys_of_its_own(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with loopback_allowed():
        operator.apply(ALL)
        exported = operator.export()
        for model in (Agent, PaymentAccount, Provider, IdentityProvider, Recipient):
            model.objects.all().delete()
        given(monkeypatch, exported)
        ran = operator.apply(exported, "--skip-checks")
        assert ran.failed == 0
        assert [line for line in ran.lines if line.startswith("agent bot: ")][1].startswith("agent bot: api_key, shown")
        hint = re.compile(r"begins with .*")
        assert hint.sub("", operator.export()) == hint.sub("", exported)


def test_without_the_secrets_it_is_not_taken_and_the_variables_are_named(operator: Operator) -> None:
    operator.apply(WHOLE)
    exported = operator.export()
    named = re.findall(r"^#   (\w+)$", exported, re.MULTILINE)
    assert named == re.findall(r"env:(\w+)", exported)
    assert "PROVIDER_GITHUB_CLIENT_SECRET" in named
    faults = operator.faults(exported)
    assert len(faults) == len(named)
    assert all("which is not set" in fault for fault in faults)


def test_what_follows_a_preset_follows_it_still(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    operator.apply(
        '[[provider]]\nslug = "gh"\npreset = "github"\nclient_id = "x"\nclient_secret = "canary-of-the-client"'
    )
    (table,) = tomllib.loads(operator.export())["provider"]
    assert set(table) == {"slug", "preset", "client_id", "client_secret"}


def test_slugs_that_look_alike_have_variables_of_their_own(operator: Operator) -> None:
    one = '[[provider]]\nissuer = "https://a.example.com"\nclient_id = "x"\nclient_secret = "y"\nslug = '
    operator.apply("\n".join(one + slug for slug in ('"a-b"', '"a_b"', '"A-b"')))
    named = re.findall(r"env:(\w+)", operator.export())
    assert len(named) == len(set(named)) == 3


def test_what_a_file_cannot_say_is_said_in_a_comment(operator: Operator) -> None:
    operator.apply(SMALL)
    Agent.objects.update(enabled=False)
    Provider.objects.update(enabled=False)
    exported = operator.export()
    assert exported.count("# It is switched off, which is done in the admin. apply leaves it so.") == 2
    assert operator.apply(exported.replace("env:PROVIDER_DRIVE_CLIENT_SECRET", "of-our-client")).failed == 0
    assert not Agent.objects.get().enabled


@pytest.mark.parametrize("text", ["", 'a "b" \\ c', "\x7f", "ünï 😀", "tab\tline\n", "{key}", "[x]", "#"])
def test_texts_are_written_as_toml_reads_them(text: str) -> None:
    value = {"a": text, "b c": [text, {"d": [1, True]}], text: {}}
    assert tomllib.loads(f"value = {inline(value)}")["value"] == value
