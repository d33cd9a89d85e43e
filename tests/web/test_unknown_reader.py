"""What a link says to whoever is not signed in, and an address that is no link."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from elicit_flows.models import IdentityProvider
from tests.support import rows
from tests.web.samples import Page
from tests.web.test_other_device import ask

pytestmark = pytest.mark.django_db


def test_it_says_where_one_signs_in_if_that_is_the_same_for_every_link(client: Client) -> None:
    """With several identity providers it would tell whoever has found a link where its person signs in."""

    def button() -> str:
        [said] = re.findall('<button class="primary"[^>]*>([^<]+)<', client.get(f"/c/{link}").content.decode())
        return str(said)

    link = ask().pk
    only = rows.identity_provider()
    assert button() == "Sign in", "a slug is no name"
    IdentityProvider.objects.filter(pk=only.pk).update(name="Acme account")
    assert button() == "Continue with Acme account"
    IdentityProvider.objects.create(slug="other", issuer="https://other.example", name="Other")
    assert button() == "Sign in"


def test_a_link_that_is_not_there_says_what_to_do_and_leads_on(client: Client) -> None:
    answer = client.get("/c/el_cut-off")
    assert answer.status_code == 404
    page = Page(answer.content.decode())
    assert "We can't find this request" in page.text()
    assert "Check that you copied all of it, or ask for a new one." in page.text()
    assert [link["href"] for link in page.all("a") if link.get("class") == "button"] == ["/account"]


def test_the_page_of_passkeys_names_the_accounts_as_every_other_page_does(client: Client) -> None:
    rows.identity_provider()
    ours = IdentityProvider.Sort.ACCOUNTS
    IdentityProvider.objects.create(slug="here", sort=ours, issuer="https://flows.test/here", name="Acme account")
    page = Page(client.get("/account/passkeys").content.decode())
    assert "Continue with Acme account" in page.text()
    assert [one["value"] for one in page.all("button") if one.get("name") == "provider"] == ["here"]
