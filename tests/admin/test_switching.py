"""An agent or a provider that is switched off stops at once, and can be switched on again."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.test import Client

from elicit_flows import elicitations, vault
from elicit_flows.api import auth
from elicit_flows.api.auth import authenticate
from elicit_flows.domain.errors import Forbidden, Invalid, ProviderUnavailable, Unauthenticated
from elicit_flows.domain.values import Answer, Question
from elicit_flows.elicitations import agent_access
from elicit_flows.lib import clock
from elicit_flows.models import IdentityProvider, Member, Provider
from tests.admin.rows import ACCESS, ALICE, API_KEY, NO_LIMITS, Rows
from tests.admin.test_secrets import FIELDS

PAGES = ("agent", "provider", "identityprovider", "paymentaccount")


def switch(admin: Client, page: str, pk: int, to: str) -> None:
    assert admin.post(f"/admin/elicit_flows/{page}/{pk}/switch/", {"to": to}).status_code == 302


def a_second_later() -> None:
    auth.remembered.clear()
    agent_access.forget()


@pytest.mark.parametrize("page", PAGES)
def test_t113_each_is_switched_after_a_question_and_noted_once(admin: Client, rows: Rows, page: str) -> None:
    row = getattr(rows, FIELDS.get(page, page))
    address = f"/admin/elicit_flows/{page}/{row.pk}/switch/"
    assert address in admin.get(f"/admin/elicit_flows/{page}/{row.pk}/change/").text
    assert "Switch it off" in admin.get(address).text
    row.refresh_from_db()
    assert row.enabled, "asking does nothing"
    for to in ("off", "off", "on"):
        switch(admin, page, row.pk, to)
        row.refresh_from_db()
        assert row.enabled == (to == "on")
    assert [one.get_change_message() for one in LogEntry.objects.order_by("pk")] == ["Switched off.", "Switched on."]


def test_an_agent_that_is_off_is_refused_and_nobody_grants_it_anything(admin: Client, rows: Rows) -> None:
    switch(admin, "agent", rows.agent.pk, "off")
    with pytest.raises(Forbidden, match="switched off"):
        elicitations.begin(rows.elicitation.pk, ALICE, "browser", None)
    with pytest.raises(Forbidden, match="switched off"):
        elicitations.resume("", Answer({"state": ["canary-state"], "code": ["x"]}), ALICE, "browser")
    a_second_later()
    with pytest.raises(Unauthenticated):
        authenticate(f"Bearer {API_KEY}", "192.0.2.1")
    switch(admin, "agent", rows.agent.pk, "on")
    assert authenticate(f"Bearer {API_KEY}", "192.0.2.1") == rows.agent


def test_a_provider_that_is_off_gives_out_no_token_and_nobody_is_asked_for_it(admin: Client, rows: Rows) -> None:
    assert vault.token(rows.agent, rows.connection.pk)["access_token"] == ACCESS
    switch(admin, "provider", rows.provider.pk, "off")
    with pytest.raises(ProviderUnavailable, match="switched off"):
        vault.token(rows.agent, rows.connection.pk)
    with pytest.raises(ProviderUnavailable, match="switched off"):
        elicitations.begin(rows.elicitation.pk, ALICE, "browser", None)
    a_second_later()
    question = Question("oauth", ALICE, "x", {"provider": "drive"})
    with pytest.raises(Invalid, match=r"provider|drive"):
        elicitations.create(rows.agent, question)
    switch(admin, "provider", rows.provider.pk, "on")
    assert vault.token(rows.agent, rows.connection.pk)["access_token"] == ACCESS


def test_a_form_that_was_opened_before_switches_nothing_on_again(admin: Client, rows: Rows) -> None:
    """Another operator switched it off meanwhile."""
    page = f"/admin/elicit_flows/agent/{rows.agent.pk}/change/"
    opened = admin.get(page).context["adminform"].form
    form = {name: opened[name].value() for name in opened.fields if opened[name].value()}
    switch(admin, "agent", rows.agent.pk, "off")
    assert admin.post(page, form | NO_LIMITS | {"name": "Another name", "enabled": "on"}).status_code == 302
    rows.refresh()
    assert (rows.agent.name, rows.agent.enabled) == ("Another name", False)


def test_nor_does_one_that_was_opened_before_a_person_was_switched_off(admin: Client, rows: Rows) -> None:
    ines = Member.objects.create(name="Ines")
    page = f"/admin/elicit_flows/member/{ines.pk}/"
    assert f"{page}switch/" in admin.get(f"{page}change/").text
    switch(admin, "member", ines.pk, "off")
    assert admin.post(f"{page}change/", {"name": "Ines B.", "enabled": "on"}).status_code == 302
    ines.refresh_from_db()
    assert (ines.name, ines.enabled) == ("Ines B.", False)
    switch(admin, "member", ines.pk, "on")
    ines.refresh_from_db()
    assert ines.enabled


def test_no_session_comes_back_with_a_person_who_was_switched_off(admin: Client, rows: Rows) -> None:
    """A device may have been stolen meanwhile."""
    own = IdentityProvider.objects.create(slug="own", sort="accounts", issuer=settings.ELICIT_PUBLIC_URL)
    ines, browser = Member.objects.create(name="Ines"), Client()
    session = browser.session
    at = int(clock.now().timestamp())
    claim = {"iss": own.issuer, "sub": ines.sub}
    session["person"] = {**claim, "label": "Ines", "auth_time": at, "at": at, "browser": "b"}
    session.save()
    assert 'data-page="account"' in browser.get("/account").text
    for to in ("off", "on"):
        switch(admin, "member", ines.pk, to)
        assert 'data-page="signin"' in browser.get("/account").text


def test_what_was_discovered_of_an_mcp_server_is_switched_and_not_changed(admin: Client, rows: Rows) -> None:
    """The next discovery would write it anew."""
    found = Provider.objects.create(slug="mcp-0123", name="A server", mcp="https://mcp.example.com/mcp")
    page = f"/admin/elicit_flows/provider/{found.pk}/change/"
    shown = admin.get(page)
    assert shown.status_code == 200
    assert 'name="_save"' not in shown.text
    assert admin.post(page, {"name": "Another", "issuer": "https://evil.example.com"}).status_code == 403
    switch(admin, "provider", found.pk, "off")
    found.refresh_from_db()
    assert (found.name, found.issuer, found.enabled) == ("A server", "", False)


@pytest.mark.parametrize("page", PAGES)
def test_a_form_has_no_box_for_what_is_switched_after_a_question(admin: Client, rows: Rows, page: str) -> None:
    shown = admin.get(f"/admin/elicit_flows/{page}/{getattr(rows, FIELDS.get(page, page)).pk}/change/")
    assert "enabled" not in shown.context["adminform"].form.fields
    assert "enabled" in admin.get(f"/admin/elicit_flows/{page}/add/?all=yes").context["adminform"].form.fields
