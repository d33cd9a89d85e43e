"""Providers whose keys people hand over, in the configuration file."""

from __future__ import annotations

import pytest

from elicit_flows import catalogue, vault
from elicit_flows.kinds.credentials.config import TokenRequest, Verify
from elicit_flows.kinds.credentials.verification import PLACE
from elicit_flows.lib.pattern import Pattern
from elicit_flows.models import Provider
from tests.management.files import Operator

PRESET = '[[provider]]\nslug = "ours"\npreset = "{}"\n'
OWN = """\
[[provider]]
slug = "keys"
name = "Key House"
find_url = "https://keys.example.com/new"
fields = [
  { name = "account", label = "Account", secret = false },
  { name = "key", label = "Key", help = "A long one.", pattern = "^key_", example = "key_…" },
]

[provider.verify]
url = "https://api.example.com/{account}"
refused = [404]

[provider.verify.headers]
x-key = "{key}"
"""
TABLES = """\
[[provider]]
slug = "keys"

[[provider.fields]]
name = "user"
label = "User"

[[provider.fields]]
name = "password"
label = "Password"
"""


ENTRIES = {name: entry for name, entry in catalogue.entries().items() if entry.sort == "credentials"}


def test_a_preset_alone_makes_a_provider(operator: Operator) -> None:
    ran = operator.apply(PRESET.format("openai"))
    assert (ran.failed, ran.said) == (0, [])
    row = Provider.objects.get()
    made = vault.credentials_provider(row)
    assert (row.sort, made.name, row.client_id) == ("credentials", "OpenAI", "")
    assert made.fields
    assert isinstance(made.verify, Verify)
    assert operator.apply(PRESET.format("openai")).lines == ["provider ours: as it was"]


@pytest.mark.parametrize("name", ENTRIES)
def test_a_preset_is_whole(name: str) -> None:
    said = ENTRIES[name].settings(ENTRIES[name].examples)
    names = {field["name"] for field in said["fields"]}
    if ENTRIES[name].kind == "client_credentials":
        assert (said["verify"], names) == (None, ENTRIES[name].needs or {"client_id", "client_secret"})
        return
    texts = [said["verify"]["url"], *said["verify"].get("headers", {}).values()]
    used = {place for text in texts for place in PLACE.findall(text)} | set(said["verify"].get("basic", []))
    assert used == names, "every field takes part in the check"
    for field in said["fields"]:
        example = (field["example"] or "").rstrip("…")
        if field["pattern"] and example and not field["pattern"].endswith("$"):
            assert Pattern(field["pattern"]).search(example)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("openai", ["sk-proj-abc", "sk-abc"], ["pk-abc", "Bearer sk-abc", "org-abc"]),
        ("anthropic", ["sk-ant-api03-abc"], ["sk-proj-abc"]),
        ("stripe", ["sk_test_1", "sk_live_1", "rk_live_1"], ["pk_live_1", "whsec_1"]),
        ("sendgrid", ["SG.abc.def"], ["SGabc", "sk_live_1"]),
        ("twilio", ["AC" + "0a" * 16], ["SK" + "0a" * 16, "AC" + "0a" * 15, "AC" + "0g" * 16]),
    ],
)
def test_a_presets_pattern_tells_its_keys_from_others(name: str, good: list[str], bad: list[str]) -> None:
    pattern = Pattern(ENTRIES[name].fields[0]["pattern"])
    assert [one for one in good if not pattern.search(one)] == []
    assert [one for one in bad if pattern.search(one)] == []


def test_fields_of_ones_own_make_a_provider_too(operator: Operator) -> None:
    assert operator.apply(OWN).lines == ["provider keys: made"]
    made = vault.credentials_provider(Provider.objects.get())
    assert (made.slug, made.name, made.find_url) == ("keys", "Key House", "https://keys.example.com/new")
    assert made.fields == (
        {"name": "account", "label": "Account", "secret": False, "help": None, "pattern": None, "example": None},
        {"name": "key", "label": "Key", "secret": True, "help": "A long one.", "pattern": "^key_", "example": "key_…"},
    )
    headers = {"x-key": "{key}"}
    assert made.verify == Verify("https://api.example.com/{account}", headers, None, frozenset(), frozenset({404}))
    operator.apply(TABLES)
    made = vault.credentials_provider(Provider.objects.get())
    assert [field["name"] for field in made.fields] == ["user", "password"]
    assert (made.name, made.find_url, made.verify) == ("keys", "", None)


def test_a_file_overrides_what_a_preset_says_and_may_leave_the_check_out(operator: Operator) -> None:
    operator.apply(PRESET.format("datadog") + '[provider.verify]\nurl = "https://api.datadoghq.eu/v"\nheaders = '
                   '{ dd-api-key = "{api_key}" }\n')  # fmt: skip
    made = vault.credentials_provider(Provider.objects.get())
    assert made.verify is not None
    assert made.verify.url == "https://api.datadoghq.eu/v"
    operator.apply(PRESET.format("datadog") + "verify = {}\n")
    assert vault.credentials_provider(Provider.objects.get()).verify is None


# what is written instead of what, and the fault's line, key and words
WRONG = {
    "no fields": (OWN[OWN.index("fields") : OWN.index("[provider.verify]")], "", "1: fields: is missing; add the"),
    "fields as text": (OWN[OWN.index("fields") : OWN.index("[provider.verify]")], 'fields = "key"\n', "5: fields: giv"),
    "name of a field": ('name = "account"', 'name = "Account"', "5: fields: number 1, name: give a name of 1 to 40"),
    "unknown key": ('label = "Key"', 'label = "Key", hint = "x"', "5: fields: number 2, hint: there is no such key"),
    "pattern": ("^key_", "(", "5: fields: number 2, pattern: "),
    "example": ('"key_…"', '""', "5: fields: number 2, example: give an example of at most 200"),
    "find_url": ('"https://keys.example.com/new"', '"http://keys.example.com/new"', "4: find_url: must begin wi"),
    "client_id": ('name = "Key', 'client_id = "x"\nname = "Key', "3: client_id: is for OAuth providers, and this one"),
    "pkce": ('name = "Key', 'pkce = "S256"\nname = "Key', "3: pkce: is for OAuth providers, and this one is for cred"),
    "secret": ('name = "Key', 'client_secret = "x"\nname = "Key', "3: client_secret: is for OAuth providers, and this"),
    "private check": ("https://api.example.com/", "https://10.0.0.1/", "10: verify: url is refused: The address is"),
    "check over http": ("https://api.example.com/", "http://api.example.com/", "10: verify: url is refused: The URL m"),
    "field in host": ("https://api.example.com/{account}", "https://{account}.example.com/", "10: verify: url is refu"),
    "unknown field": ('"{key}"', '"{kye}"', "10: verify: names the field kye, which is not one of fields"),
    "loose brace": ('"{key}"', '"{key} {Key}"', "10: verify: has a brace that does not enclose a field"),
    "status": ("[404]", "[200]", "10: verify: refused must be a list of statuses from 300 to 499"),
    "both": ("refused = [404]", "refused = [404]\naccepted = [404]", "10: verify: has a status in both accepted and"),
    "unknown part": ("refused", "rejected", "10: verify: must be a table with accepted, basic, headers, refused, url"),
    "no url": ('url = "https://api.example.com/{account}"\n', "", "10: verify: must have a url"),
    "header's name": ("x-key =", '"x key" =', "10: verify: headers has x key, which is not a header that may be set"),
    "our header": ("x-key =", "Host =", "10: verify: headers has Host, which is not a header that may be set"),
    "header's value": ('"{key}"', '"{key}\\n"', "10: verify: headers has x-key, whose value is not 1 to 1000 vis"),
    "one field in basic": ("refused = [404]", 'basic = ["key"]', "10: verify: basic must be the names of two fields"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named_with_its_line_and_changes_nothing(operator: Operator, name: str) -> None:
    old, new, expected = WRONG[name]
    assert OWN.count(old) == 1
    (fault,) = operator.faults(OWN.replace(old, new))
    assert fault.startswith(expected)
    assert not Provider.objects.exists()


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ('{ url = "https://api.example.com/" }', "does not use any field, so it would accept anything"),
        (
            '{ url = "https://a.example.com/", basic = ["key", "key"], headers = { Authorization = "x" } }',
            "has basic and",
        ),
        ('{ url = "https://a.example.com/{key}", headers = { a = "1", A = "2" } }', "headers has the same name twice"),
        ('"https://api.example.com/"', "must be a table with"),
    ],
)
def test_a_check_that_checks_nothing_or_says_two_things_is_refused(operator: Operator, check: str, said: str) -> None:
    table = '[[provider]]\nslug = "keys"\nfields = [{ name = "key", label = "Key" }]\n'
    (fault,) = operator.faults(f"{table}verify = {check}\n")
    assert fault.startswith(f"4: verify: {said}")


def test_what_is_for_credentials_is_refused_at_an_oauth_provider(operator: Operator) -> None:
    table = '[[provider]]\nslug = "git"\npreset = "github"\nclient_id = "x"\nclient_secret = "y"\n'
    (fault,) = operator.faults(table + 'find_url = "https://example.com/"\n')
    assert fault.startswith("6: find_url: is for credentials, and this one is an OAuth provider")


def test_a_slug_stays_of_its_sort(operator: Operator) -> None:
    operator.apply(OWN)
    oauth = '[[provider]]\nslug = "keys"\npreset = "github"\nclient_id = "x"\nclient_secret = "y"\n'
    assert operator.faults(oauth) == ["2: slug: belongs to a provider for credentials; use another slug for this one"]


OWN_CLIENT = """\
[[provider]]
slug = "meters"
name = "Meters"
sort = "credentials"
token_url = "https://id.example.com/token"
token_auth = "client_secret_post"
scopes = ["meters.read"]
resources = ["https://api.example.com/"]
"""


def test_a_client_that_people_type_has_its_fields_made_for_it(operator: Operator) -> None:
    assert operator.apply(OWN_CLIENT).lines == ["provider meters: made"]
    made = vault.credentials_provider(Provider.objects.get())
    assert made.token == TokenRequest(
        "https://id.example.com/token", "client_secret_post", ("meters.read",), ("https://api.example.com/",)
    )
    assert [(field["name"], field["secret"]) for field in made.fields] == [
        ("client_id", False),
        ("client_secret", True),
    ]
    assert operator.apply(OWN_CLIENT).lines == ["provider meters: as it was"]
    own = (
        'fields = [{ name = "client_secret", label = "Key" }, { name = "client_id", label = "Name", secret = false }]\n'
    )
    operator.apply(OWN_CLIENT.replace('sort = "credentials"\n', own))
    made = vault.credentials_provider(Provider.objects.get())
    assert made.token
    assert [field["label"] for field in made.fields] == ["Key", "Name"]


FIELD = '{ name = "client_id", label = "ID", secret = false }'
OF_A_CLIENT = {
    "another field": (f'fields = [{FIELD}, {{ name = "key", label = "Key" }}]', "9: fields: must be client_id and cl"),
    "one field": (f"fields = [{FIELD}]", "9: fields: must be client_id and client_secret and no others"),
    "one more": (f'fields = [{FIELD}, {{ name = "client_secret", label = "S" }}, {{ name = "site", label = "S" }}]',
                 "9: fields: must be client_id and client_secret and no others"),
    "seen": (f'fields = [{FIELD}, {{ name = "client_secret", label = "S", secret = false }}]', "9: fields: shows the"),
    "check": ('verify = { url = "https://api.example.com/", headers = { x = "{client_secret}" } }',
              "9: verify: cannot be combined with token_url, because fetching a token is the check"),
    "authorization": ('authorize_url = "https://id.example.com/auth"', "9: authorize_url: is for OAuth providers"),
    "our client": ('client_id = "ours"', "9: client_id: is for OAuth providers, and this one is for credentials"),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_A_CLIENT)
def test_what_does_not_go_with_a_client_that_people_type_is_said(operator: Operator, name: str) -> None:
    more, expected = OF_A_CLIENT[name]
    (fault,) = operator.faults(f"{OWN_CLIENT}{more}\n")
    assert fault.startswith(expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("client_secret_post", "private_key_jwt", "6: token_auth: must be client_secret_basic or client_secret_post"),
        ("client_secret_post", "none", "6: token_auth: must be client_secret_basic or client_secret_post"),
        ("https://id", "http://id", "5: token_url: is refused"),
        ('"credentials"', '"keys"', '4: sort: must be one of: "oauth", "credentials"'),
        ('sort = "credentials"', 'preset = "paypal-app"\nsort = "oauth"', "5: sort: is decided by the preset"),
    ],
)
def test_a_wrong_value_of_such_a_provider_is_said(operator: Operator, old: str, new: str, expected: str) -> None:
    faults = operator.faults(OWN_CLIENT.replace(old, new))
    assert [fault for fault in faults if fault.startswith(expected)], faults


def test_tokens_without_a_place_to_ask_for_them_are_refused(operator: Operator) -> None:
    faults = operator.faults(OWN.replace('name = "Key House"', 'scopes = ["a"]\ntoken_auth = "client_secret_post"'))
    assert [fault.partition(";")[0] for fault in faults] == [
        "3: scopes: applies to tokens only", "4: token_auth: applies to tokens only",
    ]  # fmt: skip


def test_a_preset_of_such_a_provider_can_be_bent(operator: Operator) -> None:
    table = PRESET.format("microsoft-app") + 'variables = { tenant = "ours.example" }\nscopes = ["api://x/.default"]\n'
    assert operator.apply(table).lines == ["provider ours: made"]
    token = vault.credentials_provider(Provider.objects.get()).token
    assert token
    assert (token.url, token.scopes) == (
        "https://login.microsoftonline.com/ours.example/oauth2/v2.0/token", ("api://x/.default",),
    )  # fmt: skip
