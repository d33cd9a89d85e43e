"""An entry that says "library" names exactly the libraries that have the same addresses. Checked on every run."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import version

import pytest

from elicit_flows import catalogue
from elicit_flows.catalogue.library_copies import COPY, FILES, Copies, agreeing, files
from tests.catalogue.libraries import facts, text_of
from tests.support.op import PEERS, node

ENTRIES = [entry for entry in catalogue.entries().values() if entry.kind == "oauth"]


@pytest.fixture(scope="module")
def known() -> Copies:
    return facts(node())


@pytest.mark.slow
def test_the_libraries_are_those_and_of_the_versions_that_the_catalogue_names(
    known: Copies,
) -> None:
    named = {name: said["version"] for name, said in catalogue.libraries().items() if "version" in said}
    packages = json.loads((PEERS / "package-lock.json").read_text())["packages"]
    assert named == {
        name: packages[f"node_modules/{name}"]["version"] if f"node_modules/{name}" in packages else version(name)
        for name in known
    }
    assert all(len(said) > 50 for said in known.values()), "all of them were read"


def test_the_copy_that_the_command_reads_says_what_the_libraries_say(known: Copies) -> None:
    assert COPY.read_text() == text_of(known), "write it: python -m tests.catalogue.libraries --write"


def test_what_was_read_by_hand_says_in_which_file_of_which_commit() -> None:
    read = tomllib.loads(FILES.read_text())
    known = catalogue.libraries()
    assert read.keys() == {name for name, said in known.items() if "read_on" in said}
    for name, said in read.items():
        assert known[name].keys() == {"read_on", "licence", "url"}
        for authorize, token, file, at in said.values():
            assert authorize.startswith("https://")
            assert token.startswith("https://")
            assert "/" in file
            assert re.fullmatch(r"[0-9a-f]{40}|[0-9]+(\.[0-9]+)+", at)


def test_an_entry_claims_as_much_agreement_as_there_is(known: Copies) -> None:
    every = {**known, **files()}
    found = {entry.slug: agreeing(entry, every) for entry in ENTRIES}
    named = [entry for entry in ENTRIES if entry.checked == "library"]
    assert {entry.slug: list(entry.libraries) for entry in named} == {entry.slug: found[entry.slug] for entry in named}
    unverified = [entry.slug for entry in ENTRIES if entry.checked == "unverified"]
    assert [slug for slug in unverified if len(found[slug]) > 1] == [], "say checked = library and name these"
