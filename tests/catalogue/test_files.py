"""The files of the catalogue: ours are valid, the operator's replace them, and each fault in a file is reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from elicit_flows import catalogue, checks
from elicit_flows.catalogue import BadCatalogue
from elicit_flows.catalogue.parts import filled

GOOD = """\
name = "House"
kind = "oauth"
source_url = "https://house.example.com/docs"
checked = "unverified"

[endpoints]
authorize = "https://{site}.example.com/authorize"
token = "https://{site}.example.com/token"

[[variables]]
name = "site"
label = "Site"
pattern = "^[a-z]+$"
example = "ours"
"""
KEYS = """\
name = "Keys"
kind = "api_key"
source_url = "https://keys.example.com/docs"
checked = "document"
checked_on = 2026-01-02
find_url = "https://keys.example.com/new#here"

[[fields]]
name = "key"
label = "Key"

[verify]
url = "https://keys.example.com/me"
headers = { x-key = "{key}" }
"""
OWN_CLIENT = """\
name = "Clients"
kind = "client_credentials"
source_url = "https://house.example.com/docs"
checked = "unverified"

[endpoints]
token = "https://{site}.example.com/token"

[[variables]]
name = "site"
label = "Site"
pattern = "^[a-z]+$"
example = "ours"

[[fields]]
name = "client_id"
label = "Key"
secret = false

[[fields]]
name = "client_secret"
label = "Secret"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    catalogue.configure(None)


def test_there_are_entries_enough_and_each_says_where_its_facts_come_from() -> None:
    entries = catalogue.entries().values()
    assert len(entries) >= 320
    assert sum(entry.checked != "unverified" for entry in entries) >= 250
    assert all(entry.source_url.startswith("https://") for entry in entries)


def test_own_entries_go_before_ours(folder: Path) -> None:
    (folder / "house.toml").write_text(GOOD)
    (folder / "github.toml").write_text(KEYS)
    catalogue.configure(folder)
    assert catalogue.entries()["house"].name == "House"
    assert catalogue.entries()["github"].name == "Keys"
    assert catalogue.entries()["gitlab"].name == "GitLab"


CALL = "[revoke_call]\nurl = 'https://x.org/end'\nsource_url = 'https://x.org/docs'\n"

NOWHERE = "[[undocumented]]\nfact = 'revocation'\nlooked_at = ['https://x.org/docs']\nlooked_on = 2026-01-02\n"

# what is written instead of what, and the key and the words that say so
WRONG = {
    "no toml": (GOOD, "name = ", "name ", "this is not TOML"),
    "unknown key": (GOOD, 'kind = "oauth"', 'kind = "oauth"\ncode = "x"', "code: Extra inputs are not permitted"),
    "unknown quirk": (GOOD, "[[variables]]", "[quirks]\nodd = 1\n\n[[variables]]", "quirks.odd: Extra inputs"),
    "slug": (GOOD, 'kind = "oauth"', 'kind = "oauth"\nslug = "x"', "slug: leave it out"),
    "http": (GOOD, '"https://{site}.example.com/token"', '"http://{site}.example.com/token"', "endpoints.token: must"),
    "private": (GOOD, "https://{site}.example.com/token", "https://10.0.0.1/token", "endpoints.token: The address is"),
    "no token": (GOOD, 'token = "https://{site}.example.com/token"', "", "endpoints needs an issuer, or authorize and"),
    "variable in query": (GOOD, "/token", "/token?x={site}", "endpoints.token: has a variable in the query"),
    "loose brace": (GOOD, "/token", "/token/{}", "endpoints.token: has a brace that does not enclose a variable"),
    "unused variable": (GOOD, "{site}", "x", "the variables and the {places} in its addresses are not the same"),
    "example": (GOOD, '"ours"', '"OURS"', "variables.0: the example does not match the pattern"),
    "loose pattern": (GOOD, '"^[a-z]+$"', '"[a-z]+"', "variables.0: the pattern must begin with ^ and end with $"),
    "of the flow": (GOOD, "[[var", '[params]\nauthorize = { state = "x" }\n\n[[var', "params.authorize: state is set"),
    "claims a document": (GOOD, '"unverified"', '"document"', "checked_on is needed with checked = document"),
    "claims libraries": (GOOD, '"unverified"', '"library"', "checked = library needs two libraries"),
    "of another day": (KEYS, "2026-01-02", "2999-01-02", "checked_on is in the future"),
    "of keys": (GOOD, 'kind = "oauth"', 'kind = "api_key"', "endpoints is for the kind oauth"),
    "of oauth": (GOOD, "[endpoints]", '[verify]\nurl = "x"\n\n[endpoints]', "fields, verify and find_url are for"),
    "no fields": (KEYS, '[[fields]]\nname = "key"\nlabel = "Key"\n', "", "fields []: Give a list of 1 to 20 fields"),
    "check of nothing": (KEYS, "{key}", "x", "verify does not use any field"),
    "dead grant, no words": (
        GOOD, "[[var", '[[dead_grant]]\nwords = []\nsource_url = "https://x.org"\n\n[[var', "dead_grant.0.words: Tuple",
    ),
    "dead grant, trouble": (
        GOOD, "[[var", '[[dead_grant]]\nwords = ["x"]\nstatus = 503\nsource_url = "https://x.org"\n\n[[var',
        "dead_grant.0.status: Input should be less than or equal to 499",
    ),
    "dead grant, whose word": (GOOD, "[[var", '[[dead_grant]]\nwords = ["x"]\n\n[[var', "dead_grant.0.source_url: F"),
    "dead grant, nothing to refuse": (
        GOOD, "[endp", 'refresh_tokens = false\n[[dead_grant]]\nwords = ["x"]\nsource_url = "https://x.org"\n\n[endp',
        "dead_grant is for refresh tokens, but refresh_tokens is false",
    ),
    "undocumented, but known": (GOOD, "[[var", f"{CALL}auth = 'bearer'\n\n{NOWHERE}\n[[var", "undocumented names rev"),
    "undocumented, but checked": (
        GOOD.replace('"unverified"', '"document"\nchecked_on = 2026-01-02'),
        "[[var", NOWHERE.replace("revocation", "endpoints") + "\n[[var", "undocumented names endpoints, which",
    ),
    "undocumented, nothing to refuse": (
        GOOD, "[endp", "refresh_tokens = false\n" + NOWHERE.replace("revocation", "dead_grant") + "\n[endp",
        "undocumented names dead_grant, which the entry has",
    ),
    "undocumented twice": (GOOD, "[[var", f"{NOWHERE}\n{NOWHERE}\n[[var", "undocumented names revocation twice"),
    "undocumented, another": (
        GOOD, "[[var", NOWHERE.replace("revocation", "scopes") + "\n[[var", "undocumented.0.fact: Input should be",
    ),
    "undocumented, looked for nowhere": (
        GOOD, "[[var", NOWHERE.replace("'https://x.org/docs'", "") + "\n[[var", "undocumented.0.looked_at: Tuple",
    ),
    "undocumented, looked for tomorrow": (
        GOOD, "[[var", NOWHERE.replace("2026-01-02", "2999-01-02") + "\n[[var", "undocumented.looked_on is in the",
    ),
    "undocumented, of keys": (KEYS, "[verify]", f"{NOWHERE}\n[verify]", "undocumented is for the kind oauth"),
    "a question that is no JSON": (GOOD, "[[var", "[quirks]\nuserinfo_body = '{'\n\n[[var", "quirks.userinfo_body: is"),
    "call, a token elsewhere": (GOOD, "[[var", f"{CALL}params = {{ x = '{{code}}' }}\n\n[[var", "revoke_call has {co"),
    "call, no token": (GOOD, "[[var", f"{CALL}params = {{ x = 'y' }}\n\n[[var", "revoke_call names no token"),
    "call, its host": (GOOD, "[[var", CALL.replace("//x", "//{access_token}") + "\n[[var", "revoke_call has {ac"),
    "call, unsigned": (GOOD, "[[var", f"{CALL}auth = 'oauth1'\n\n[[var", "revoke_call auth oauth1 is for entries with"),
    "call, beside an endpoint": (
        GOOD, "[[var", f"revoke = 'https://x.org/r'\n{CALL}auth = 'bearer'\n\n[[var", "revoke_call is for a provider",
    ),
    "call, private": (GOOD, "[[var", CALL.replace("x.org", "10.0.0.1") + "auth = 'bearer'\n\n[[var", "revoke_call.ur"),
    "call, a form by GET": (
        GOOD, "[[var", f"{CALL}method = 'GET'\nparams = {{ x = '{{access_token}}' }}\n\n[[var", "revoke_call: params",
    ),
    "1.0a with discovery": (
        GOOD, "[endp", "refresh_tokens = false\n[oauth1]\nrequest = 'https://x.org/r'\n\n[endpoints]\nissuer = 'https://x.org'\n#",
        "oauth1 needs refresh_tokens = false, and has no issuer",
    ),
    "a client's other end": (OWN_CLIENT, "token =", 'authorize = "https://{site}.example.com/a"\ntoken =', "the kind"),
    "a client without one": (OWN_CLIENT, 'token = "https://{site}.example.com/token"', "", "the kind client_credentia"),
    "a client's check": (OWN_CLIENT, "[endpoints]", '[verify]\nurl = "x"\n\n[endpoints]', "the kind client_credential"),
    "a client's fields": (OWN_CLIENT, 'name = "client_id"', 'name = "key"', "fields must be client_id and client_secr"),
    "a client's open secret": (OWN_CLIENT, 'label = "Secret"', 'label = "S"\nsecret = false', "fields shows the clien"),
    "a client's key": (OWN_CLIENT, '"unverified"', '"unverified"\ntoken_auth = "none"', "token_auth must be client_se"),
    "a client's variable": (OWN_CLIENT, "{site}", "x", "the variables and the {places} in its addresses are not the"),
    "check over http": (KEYS, 'url = "https://keys.example.com/me"', 'url = "http://x.example.com/"', "verify url is "),
}  # fmt: skip


def test_an_entry_for_clients_that_people_make_says_where_tokens_are_asked_for(folder: Path) -> None:
    (folder / "house.toml").write_text(OWN_CLIENT)
    catalogue.configure(folder)
    said = catalogue.entries()["house"].settings({"site": "mine"})
    assert (said["token_url"], said["token_auth"]) == ("https://mine.example.com/token", "client_secret_post")
    assert [field["label"] for field in said["fields"]] == ["Key", "Secret"]


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_with_its_file_and_its_key(folder: Path, name: str) -> None:
    good, old, new, expected = WRONG[name]
    assert old in good
    (folder / "house.toml").write_text(good.replace(old, new))
    catalogue.configure(folder)
    with pytest.raises(BadCatalogue) as bad:
        catalogue.entries()
    assert any(fault.startswith(f"{folder}/house.toml: ") and expected in fault for fault in bad.value.faults), bad
    assert [error.id for error in checks.catalogue_reads()] == ["elicit.E003"] * len(bad.value.faults)


def test_a_folder_that_is_not_there_is_said(folder: Path) -> None:
    catalogue.configure(folder / "nowhere")
    (error,) = checks.catalogue_reads()
    assert error.msg == f"{folder}/nowhere: is not a folder"


@pytest.mark.parametrize("name", ["state", "redirect_uri", "code_challenge", "nonce", "client_id", "request_uri"])
def test_t14_no_entry_says_what_is_the_flows_to_say(folder: Path, name: str) -> None:
    (folder / "house.toml").write_text(GOOD + f'\n[params]\nauthorize = {{ {name} = "x" }}\n')
    catalogue.configure(folder)
    with pytest.raises(BadCatalogue, match=f"params.authorize: {name} is set by the service itself"):
        catalogue.entries()


@pytest.mark.parametrize("value", ["evil.com/", "a.b:8443", "a@b", "a?b", "a#b", "..", "-/..", "a\\b", ""])
def test_t88_a_variable_cannot_lead_out_of_its_place(value: str) -> None:
    for template in ("https://{x}.example.com/a", "https://api.example.com/{x}/a"):
        with pytest.raises(ValueError, match="is not allowed there"):
            filled(template, {"x": value})


def test_workdays_hosts_may_have_one_more_part_and_are_workdays_own() -> None:
    workday = catalogue.entries()["workday"]
    fits = {one.name: one.fits for one in workday.variables}
    for host in ("wd2-impl-services1.workday.com", "services1.wd503.myworkday.com", "services1.myworkday.com"):
        assert fits["token_host"](host), host
        said = workday.settings({"authorization_host": host, "token_host": host, "tenant": "ours"})
        assert said["userinfo_url"] == f"https://{host}/ccx/api/v1/ours/workers/me"
    for host in ("workday.com", "a.b.c.workday.com", "notworkday.com", "x.workday.com.example.com", ".workday.com"):
        assert not fits["token_host"](host), host
        assert not fits["authorization_host"](host), host
