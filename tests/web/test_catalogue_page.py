"""The catalogue page: it is public, its search needs no script, and it shows what the entries say."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from elicit_flows import catalogue
from tests.web.samples import Page

pytestmark = pytest.mark.django_db


def looked(client: Client, **asked: str) -> Page:
    answer = client.get("/catalogue", asked)
    assert answer.status_code == 200
    return Page(answer.content.decode())


def slugs(page: Page) -> set[str]:
    return {str(item["id"]) for item in page.all("li") if "data-checked" in item}


def test_everything_is_there_with_its_source_and_how_far_it_was_checked(client: Client) -> None:
    page = looked(client)
    entries = catalogue.entries()
    assert {str(item["id"]): item["data-checked"] for item in page.all("li") if "data-checked" in item} == {
        slug: entry.checked for slug, entry in entries.items()
    }
    assert {entry.source_url for entry in entries.values()} <= {link.get("href") for link in page.all("a")}
    assert f"{len(entries)} of {len(entries)}" in page.text()


def test_it_is_searched_by_name_kind_and_what_was_checked(client: Client) -> None:
    assert slugs(looked(client, q="sHoPiFy")) == {"shopify"}
    assert slugs(looked(client, q=" zendesk ", kind="basic")) == {"zendesk-token"}
    agreed = looked(client, checked="library")
    assert slugs(agreed) == {slug for slug, entry in catalogue.entries().items() if entry.checked == "library"}
    assert re.search(r"Notion notion OAuth · Several libraries have the same addresses · .*grant", agreed.text())
    assert slugs(looked(client, q="nothing of that name")) == slugs(looked(client, kind="odd")) == set()
    assert "An operator can add one" in looked(client, q="nothing of that name").text()
