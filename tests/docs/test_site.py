"""The built site: no page is missing, no link is broken, and nothing is loaded from another machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from docs.generate import lists, pages
from docs.generate.__main__ import main
from docs.generate.blocks import FENCE
from elicit_flows.api.event_shapes import EVENT_TYPES
from elicit_flows.api.metrics import MetricsCollector
from elicit_flows.api.openapi import all_errors
from elicit_flows.config_file.schema import TABLES
from tests.docs.page import all_pages

KINDS = ("tutorials", "how-to", "reference", "explanation")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Path:
    """Built as ``make docs`` does; a link or an anchor to nowhere fails it."""
    place = tmp_path_factory.mktemp("site")
    with django_db_blocker.unblock():
        assert main(str(place)) == 0
    return place


@pytest.mark.limit(240)
def test_every_page_is_in_the_site_and_in_its_navigation(site: Path) -> None:
    start = (site / "index.html").read_text()
    for page in all_pages():
        html = page.removesuffix(".md") + ".html"
        assert (site / html).is_file()
        assert f'href="{html}"' in start or page == "index.md", f"mkdocs.yml does not name {page}"
    assert not (site / "generate").exists()


def test_no_page_asks_another_machine_for_anything(site: Path) -> None:
    for file in site.rglob("*.html"):
        text = file.read_text()
        wanted = re.findall(r'<(?:script|img|iframe|source)[^>]+src="?([^" >]+)', text)
        wanted += re.findall(r'<link[^>]+rel="?(?:stylesheet|preconnect|icon|preload)"?[^>]*href="?([^" >]+)', text)
        assert [one for one in wanted if one.startswith(("http:", "https:", "//"))] == [], file


def test_every_generated_part_was_put_in_its_place(site: Path) -> None:
    used = {name for page in pages.all_pages() for name in pages.MARK.findall((pages.DOCS / page).read_text())}
    assert used == set(pages.PARTS)
    assert "<!-- generate" not in "".join(file.read_text() for file in site.rglob("*.html"))


def test_programs_find_every_page(site: Path) -> None:
    short, whole = (site / "llms.txt").read_text(), (site / "llms-full.txt").read_text()
    assert short.startswith("# Elicit Flows\n\n> ")
    for page in all_pages():
        assert page == "index.md" or f"]({page.removesuffix('.md')}.html): " in short
        title = (pages.DOCS / page).read_text().partition("\n")[0]
        assert title in whole
    assert all((site / link).is_file() for link in re.findall(r"\]\(([^)]+)\)", short))
    assert not re.search(r"^```\w+ \w", whole, re.MULTILINE), "a runner is nothing for readers"


def test_the_lists_have_every_name_of_the_code_and_no_other() -> None:
    meanings = lists.MEANINGS
    assert set(meanings["settings"]) == set(lists.variables())
    assert set(meanings["errors"]) == {error.code for error in all_errors()}
    assert set(meanings["events"]) == set(EVENT_TYPES)
    assert {name: set(keys) for name, keys in meanings.items() if name.startswith("[")} == {
        lists.head_of(name): set(keys) for name, keys in TABLES.items()
    }


@pytest.mark.slow
@pytest.mark.django_db
def test_the_list_of_metrics_is_what_the_service_shows() -> None:
    found = {family.name for family in MetricsCollector().collect()}
    named = re.findall(r"^\| `(\w+)` \|", lists.metrics(), re.MULTILINE)
    assert {name.removesuffix("_total") for name in named} == {name.removesuffix("_total") for name in found}


def test_a_page_begins_with_its_title_and_one_sentence_about_it() -> None:
    for page in all_pages():
        head, blank, first = (pages.DOCS / page).read_text().split("\n")[:3]
        assert head.startswith("# "), page
        assert (blank, bool(re.match(r"[A-Z]", first))) == ("", True), page


def test_a_page_is_of_one_of_four_kinds() -> None:
    assert {page.partition("/")[0] for page in all_pages() if "/" in page} == set(KINDS)


def test_no_fence_is_left_open() -> None:
    for page in all_pages():
        text = (pages.DOCS / page).read_text()
        assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(FENCE.findall(text)), page


PATH = re.compile(r"`((?:elicit_flows|tests|deploy|examples|sandbox|bench|config|templates)/[\w./-]*)`")


@pytest.mark.parametrize("page", all_pages())
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    named = PATH.findall((pages.DOCS / page).read_text())
    assert [path for path in named if not (lists.ROOT / path).exists()] == []


def test_the_architecture_names_every_package_and_no_other() -> None:
    table = (pages.DOCS / "explanation/architecture.md").read_text().partition("| package | holds |")[2]
    named = re.findall(r"`([a-z_]+)/`", "".join(line.split("|")[1] for line in table.split("\n\n")[0].splitlines()[2:]))
    found = {path.parent.name for path in (lists.ROOT / "elicit_flows").glob("*/__init__.py")}
    assert set(named) == found - {"migrations", "templatetags"}
