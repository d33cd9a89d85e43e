"""An entry that says "library" names exactly the libraries that have the same addresses. Checked on every run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version

import pytest

from elicit_flows import catalogue
from elicit_flows.catalogue import Entry
from tests.catalogue.libraries import Pair, agreeing, facts
from tests.support.op import PEERS, node

ENTRIES = [entry for entry in catalogue.entries().values() if entry.kind == "oauth"]


@pytest.fixture(scope="module")
def known() -> Mapping[str, frozenset[Pair]]:
    return facts(node())


def test_the_libraries_are_those_and_of_the_versions_that_the_catalogue_names(
    known: Mapping[str, frozenset[Pair]],
) -> None:
    named = {name: said["version"] for name, said in catalogue.libraries().items()}
    packages = json.loads((PEERS / "package-lock.json").read_text())["packages"]
    assert named == {
        name: packages[f"node_modules/{name}"]["version"] if f"node_modules/{name}" in packages else version(name)
        for name in known
    }
    assert all(len(pairs) > 50 for pairs in known.values()), "all of them were read"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.slug)
def test_an_entry_claims_as_much_agreement_as_there_is(known: Mapping[str, frozenset[Pair]], entry: Entry) -> None:
    found = agreeing(entry, known)
    if entry.checked == "library":
        assert list(entry.libraries) == found
    elif entry.checked == "unverified":
        assert len(found) < 2, "say checked = library and name these"
