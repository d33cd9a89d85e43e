"""What a scope allows stands under the right heading: read, change, or delete and administer."""

from __future__ import annotations

import re

import pytest
from django.utils.translation import override

from elicit_flows import catalogue
from elicit_flows.catalogue import group_of
from elicit_flows.templatetags.elicit import STANDARD_SCOPES, scope_groups

SAID = {(scope, words) for entry in catalogue.entries().values() for scope, words in entry.scopes.words.items()}
# They say how long or by whom it is used, and nothing that is done with it.
KEPT = "Keep this access"
# A scope's own name is the other witness.
READS = re.compile(r"(^|[._:/-])(read|r)([._:/-]|$)|readonly|_READ$", re.IGNORECASE)
WRITES = re.compile(r"write|edit|modify|manage|publish|upload|create|send|submit", re.IGNORECASE)
STRONG = re.compile(r"delete|admin\b|^full$")


def test_every_scope_that_has_words_has_a_group() -> None:
    assert len(SAID) > 400
    other = {words for _, words in SAID if group_of(words) == "other"}
    assert all(words.startswith(KEPT) for words in other), other
    assert {
        name: group_of(words) for name, words in STANDARD_SCOPES.items() if name != "offline_access"
    } == dict.fromkeys(("openid", "profile", "email", "address", "phone"), "read")


@pytest.mark.parametrize(
    ("words", "group"),
    [
        ("Read your profile", "read"),
        ("See which pages you manage", "read"),
        ("See and download all of your files and folders", "read"),
        ("Sign you in and read your profile", "read"),
        ("Read and change all of your repositories, private ones too", "change"),
        ("Send e-mail in your name", "change"),
        ("Add and remove bookmarks", "change"),
        ("Delete repositories that you administer", "administer"),
        ("Create, change and delete records in your bases", "administer"),
        ("Manage the webhooks of your repositories", "administer"),
        ("See and change everything in your account", "administer"),
        ("See everything in your account", "read"),
        ("Do everything that you can do", "administer"),
        ("Sign in to the web pages in your name", "administer"),
        ("", "other"),
        ("Zapier und so weiter", "other"),
        ("…", "other"),
    ],
)
def test_the_verbs_at_the_beginning_decide(words: str, group: str) -> None:
    assert group_of(words) == group


def test_the_names_of_the_scopes_agree() -> None:
    """A name with "write" in it is no reading, one with "read" alone is, one with "delete" is the strongest."""
    seen = {"read": 0, "write": 0, "delete": 0}
    for scope, words in sorted(SAID):
        name, group = scope.rpartition("/")[2], group_of(words)
        if WRITES.search(name):
            seen["write"] += 1
            assert group in {"change", "administer"}, (scope, words)
        elif READS.search(name):
            seen["read"] += 1
            assert group == "read", (scope, words)
        if STRONG.search(name):
            seen["delete"] += 1
            assert group == "administer", (scope, words)
    assert min(seen.values()) > 5, seen


def test_a_page_lists_what_weighs_most_first_and_each_thing_once() -> None:
    words = {"w": "Change your files", "d": "Delete your files", "r": "See your files", "r2": "See your files"}
    groups = scope_groups(["r", "x.y", "r2", "w", "d", "openid"], words)["groups"]
    names = [[one["name"], *([said["text"] for said in one[key]] for key in ("said", "unsaid"))] for one in groups]
    assert names == [
        ["administer", ["Delete your files"], []],
        ["change", ["Change your files"], []],
        ["read", ["See your files", "See which account it is"], []],
        ["other", [], ["x.y"]],
    ]
    assert scope_groups([], None) == {"groups": [], "described": False}
    assert scope_groups(["x.y"], None)["described"] is False


def test_a_text_in_another_language_says_which_and_an_agents_reasons_stay_with_their_scopes() -> None:
    words = {
        "r": {"en": "See your files", "ar": "الاطّلاع على ملفاتك"},
        "a": {"ar": "الاطّلاع على ملفاتك"},
        "p": {"": "See it"},
        "c": "See your frobs",
        "r2": {"en": "See your files"},
    }
    with override("de"):
        groups = scope_groups(["r", "a", "p", "c", "r2", "openid"], words, {"r": "one", "r2": "two", "gone": "none"})
    said = {one["text"]: one for group in groups["groups"] for one in group["said"]}
    languages = {text: (one["language"], one["direction"]) for text, one in said.items() if one["language"] is not None}
    assert languages == {
        "See your files": ("en", "ltr"),
        "الاطّلاع على ملفاتك": ("ar", "rtl"),
        "See it": ("", "auto"),
        "See your frobs": ("en", "ltr"),
    }
    assert said["See your files"]["why"] == ["one", "two"]
    assert [one["why"] for text, one in said.items() if text != "See your files"] == [[]] * 4
