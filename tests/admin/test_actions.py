"""The actions of operators in the admin. Each one is recorded in the audit log (T113)."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Permission, User
from django.test import Client

from elicit_flows import vault
from elicit_flows.api.auth import authenticate
from elicit_flows.domain.errors import Unauthenticated
from elicit_flows.domain.values import Secret
from elicit_flows.lib import clock, ids
from elicit_flows.lib.csv_cells import escape_formula
from elicit_flows.models import Agent, ConnectionUse, Delivery, Event, Provider
from tests.admin.rows import API_KEY, HOOK, NO_LIMITS, OLD_HOOK, Rows, elicitation

KEY = re.compile(r"<code>(ek_[\w-]{43})</code>")
NEW_HOOK = re.compile(r"<code>(whsec_[A-Za-z0-9+/]+=*)</code>")
TYPED = "corr3ct-horse-battery"


def act(browser: Client, page: str, action: str, *pks: object) -> None:
    answer = browser.post(
        f"/admin/elicit_flows/{page}/", {"action": action, "_selected_action": [str(pk) for pk in pks]}
    )
    assert answer.status_code == 302, answer.text


def notes(user: User) -> list[tuple[str | None, str]]:
    """Whose row, and what was done, oldest first."""
    found = LogEntry.objects.filter(user=user).order_by("pk")
    return [(entry.object_id, entry.get_change_message()) for entry in found]


def test_t113_revoking_is_done_and_noted_with_who_when_and_what(admin: Client, olga: User, rows: Rows) -> None:
    before = clock.now()
    act(admin, "connection", "revoke", rows.connection.pk)
    rows.refresh()
    assert rows.connection.status == "revoked"
    assert rows.connection.upstream == "pending"
    assert Event.objects.filter(type="connection.revoked").count() == 1
    [entry] = LogEntry.objects.all()
    assert (entry.user, entry.object_id, entry.get_change_message()) == (olga, rows.connection.pk, "Revoked.")
    assert before <= entry.action_time <= clock.now()
    assert "Revoked." in admin.get(f"/admin/elicit_flows/connection/{quote(rows.connection.pk)}/history/").text


def test_t113_revoking_again_changes_and_notes_nothing(admin: Client, olga: User, rows: Rows) -> None:
    act(admin, "connection", "revoke", rows.connection.pk)
    act(admin, "connection", "revoke", rows.connection.pk)
    assert len(notes(olga)) == 1


def test_what_its_person_ended_while_an_operator_revoked_many_is_not_noted_as_the_operators(
    admin: Client, olga: User, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    revoke = vault.revoke

    def later(row: vault.Connection, by: ConnectionUse.Actor) -> bool:
        revoke(vault.Connection.objects.get(pk=row.pk), ConnectionUse.Actor.PERSON)
        return revoke(row, by)

    monkeypatch.setattr(vault, "revoke", later)
    act(admin, "connection", "revoke", rows.connection.pk)
    assert [use.actor for use in ConnectionUse.objects.filter(action="revoked")] == ["person"]
    assert notes(olga) == []
    assert "0 connections were revoked." in admin.get("/admin/elicit_flows/connection/").text


def test_t113_sending_again_is_done_and_noted(admin: Client, olga: User, rows: Rows) -> None:
    Delivery.objects.update(status="failed", tries=10)
    act(admin, "delivery", "replay", rows.delivery.pk)
    rows.refresh()
    assert (rows.delivery.status, rows.delivery.tries) == ("pending", 0)
    assert notes(olga) == [(rows.delivery.pk, "Sent again.")]


def test_an_agent_without_webhook_url_is_sent_nothing_again(admin: Client, olga: User, rows: Rows) -> None:
    Delivery.objects.update(status="failed")
    Agent.objects.update(webhook_url="")
    act(admin, "delivery", "replay", rows.delivery.pk)
    rows.refresh()
    assert rows.delivery.status == "failed"
    assert notes(olga) == []


def test_t113_a_disabled_endpoint_is_taken_back_and_that_is_noted(admin: Client, olga: User, rows: Rows) -> None:
    Agent.objects.update(webhook_disabled_at=clock.now(), webhook_failures=4)
    act(admin, "agent", "enable_webhooks", rows.agent.pk)
    rows.refresh()
    assert (rows.agent.webhook_disabled_at, rows.agent.webhook_failures) == (None, 0)
    assert notes(olga) == [(str(rows.agent.pk), "Enabled the webhook endpoint.")]


def test_t113_a_new_key_is_shown_once_works_and_is_noted_without_it(admin: Client, olga: User, rows: Rows) -> None:
    address = f"/admin/elicit_flows/agent/{rows.agent.pk}/key/"
    asked = admin.get(address)
    assert KEY.search(asked.text) is None
    assert Agent.objects.get().key_hash == ids.digest(API_KEY)
    answer = admin.post(address)
    [key] = KEY.findall(answer.text)
    assert answer["Cache-Control"] == "no-store"
    assert authenticate(f"Bearer {key}", "192.0.2.1") == rows.agent
    with pytest.raises(Unauthenticated):
        authenticate(f"Bearer {API_KEY}", "192.0.2.1")
    assert notes(olga) == [(str(rows.agent.pk), "Made a new API key.")]
    assert all(key not in admin.get(path).text for path in (address, address.replace("key", "change")))


def test_a_new_agent_gets_a_key_and_a_webhook_secret_that_are_shown_once(admin: Client, olga: User, rows: Rows) -> None:
    form = {
        "slug": "photo-bot",
        "name": "Photo Bot",
        "enabled": "on",
        "all_providers": "on",
        "identity_providers": [rows.openid.pk],
        "return_urls": "https://photo-bot.example.com/done\nhttps://photo-bot.example.com/back",
        "webhook_url": "https://photo-bot.example.com/hooks",
    }
    answer = admin.post("/admin/elicit_flows/agent/add/", form | NO_LIMITS)
    assert answer.status_code == 200
    [key], [hook] = KEY.findall(answer.text), NEW_HOOK.findall(answer.text)
    made = Agent.objects.get(slug="photo-bot")
    assert authenticate(f"Bearer {key}", "192.0.2.1") == made
    assert vault.webhook_secrets(made) == [Secret(hook)]
    assert made.return_urls == ["https://photo-bot.example.com/done", "https://photo-bot.example.com/back"]
    [(pk, said)] = notes(olga)
    assert (pk, said[:44]) == (str(made.pk), 'Added. Slug "photo-bot"; Name "Photo Bot"; I')
    assert key not in said
    assert hook not in said
    session_and_cookies = str(dict(admin.session)) + str(admin.cookies)
    assert key not in session_and_cookies
    assert hook not in session_and_cookies


def test_t113_a_changed_secret_is_noted_by_its_name_alone(admin: Client, olga: User, rows: Rows) -> None:
    typed = "whsec_" + "C" * 43 + "="
    answer = admin.post(
        f"/admin/elicit_flows/agent/{rows.agent.pk}/change/",
        {"name": rows.agent.name, "enabled": "on", "all_providers": "on", "webhook_url": rows.agent.webhook_url,
         "identity_providers": [rows.openid.pk], "new_webhook_secret": typed, **NO_LIMITS},
    )  # fmt: skip
    assert answer.status_code == 302
    assert vault.webhook_secrets(Agent.objects.get()) == [Secret(typed), Secret(HOOK)]
    assert notes(olga) == [(str(rows.agent.pk), "Changed Webhook secret.")]
    assert Secret(OLD_HOOK) not in vault.webhook_secrets(Agent.objects.get())


@pytest.mark.parametrize(
    ("form", "noted"),
    [
        ({"password1": TYPED, "password2": TYPED, "usable_password": "true"}, "Changed Password."),
        ({"usable_password": "false", "unset-password": "1"}, "Switched off the password."),
    ],
)
def test_another_operators_password_is_changed_and_noted(
    admin: Client, olga: User, form: dict[str, str], noted: str
) -> None:
    otto = User.objects.create_user("otto", password="x", is_staff=True)
    assert admin.post(f"/admin/auth/user/{otto.pk}/password/", form).status_code == 302
    otto.refresh_from_db()
    assert otto.check_password(TYPED) == otto.has_usable_password() == ("password1" in form)
    assert notes(olga) == [(str(otto.pk), noted)]


def exported(browser: Client, page: str, *pks: object) -> list[dict[str, str]]:
    answer = browser.post(
        f"/admin/elicit_flows/{page}/", {"action": "export_csv", "_selected_action": [str(pk) for pk in pks]}
    )
    assert answer["Content-Disposition"].startswith("attachment; filename=")
    return list(csv.DictReader(io.StringIO(answer.text)))


@pytest.mark.parametrize(
    "sub", ['=HYPERLINK("http://x","y")', "+1+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", 'a",=1+1,"b']
)
def test_t113_a_formula_in_an_export_is_text(admin: Client, rows: Rows, sub: str) -> None:
    row = elicitation(rows.agent, sub)
    [cells] = exported(admin, "elicitation", row.pk)
    assert cells["sub"] == (sub if sub.startswith("a") else f"'{sub}")
    assert cells["id"] == row.pk


def test_t113_an_export_is_noted(admin: Client, olga: User, rows: Rows) -> None:
    [cells] = exported(admin, "delivery", rows.delivery.pk)
    assert (cells["id"], cells["type"], cells["status"]) == (rows.delivery.pk, "elicitation.created", "pending")
    assert notes(olga) == [(None, "Exported 1 rows as CSV.")]
    assert "Exported 1 rows as CSV." in admin.get("/admin/admin/logentry/").text


def test_an_export_without_the_right_to_see_people_has_no_column_of_theirs(rows: Rows) -> None:
    """None of the four roles is like that; an operator can be given single permissions, too."""
    olaf = User.objects.create_user("olaf", is_staff=True)
    names = ("export_rows", *(f"view_{name}" for name in ("elicitation", "payment", "refund")))
    olaf.user_permissions.set(Permission.objects.filter(codename__in=names))
    browser = Client()
    browser.force_login(olaf)
    for page, row in (("elicitation", rows.elicitation), ("payment", rows.payment), ("refund", rows.refund)):
        [cells] = exported(browser, page, row.pk)
        assert cells["id"] == row.pk
        assert not {"iss", "sub", "description", "payment_ref", "reason", "ref"} & cells.keys(), page


def test_an_export_of_too_many_rows_is_not_cut_off(
    admin: Client, olga: User, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elicit_flows.admin.base.MAX_CSV_ROWS", 1)
    pks = [rows.elicitation.pk, elicitation(rows.agent).pk]
    assert len(exported(admin, "elicitation", pks[0])) == 1
    answer = admin.post("/admin/elicit_flows/elicitation/", {"action": "export_csv", "_selected_action": pks})
    assert not answer.headers["Content-Type"].startswith("text/csv")
    assert len(notes(olga)) == 1


def test_an_agent_is_offered_no_mcp_server_that_was_discovered(admin: Client, rows: Rows) -> None:
    """It is allowed by its host, and a file that names it fails at another installation."""
    found = Provider.objects.create(slug="mcp-0123", name="A server", mcp="https://mcp.example.com/mcp")
    page = f"/admin/elicit_flows/agent/{rows.agent.pk}/change/"
    offered = admin.get(page).context["adminform"].form.fields["providers"].queryset
    assert rows.provider in offered
    assert found not in offered


def test_a_cell_without_a_value_is_empty() -> None:
    assert escape_formula(None) == ""
    assert escape_formula(0) == "0"


def test_the_page_of_an_elicitation_says_when_its_agent_acted_on_it(admin: Client, rows: Rows) -> None:
    row = elicitation(rows.agent)
    row.finished_at = row.consumed_at = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    row.save()
    page = admin.get(f"/admin/elicit_flows/elicitation/{quote(row.pk)}/change/").text
    assert "Consumed at:" in page
    assert page.count("March 4, 2026, 5:06 a.m.") == 2


@pytest.mark.parametrize("page", ["connection", "elicitation", "delivery", "event", "payment", "refund"])
def test_what_happened_cannot_be_written_by_hand(admin: Client, rows: Rows, page: str) -> None:
    row = getattr(rows, page)
    for address in (f"/admin/elicit_flows/{page}/add/", f"/admin/elicit_flows/{page}/{quote(row.pk)}/delete/"):
        assert admin.get(address).status_code == 403
        assert admin.post(address, {"post": "yes"}).status_code == 403
    assert admin.post(f"/admin/elicit_flows/{page}/{quote(row.pk)}/change/", {"status": "completed"}).status_code == 403
    row.refresh_from_db()


@pytest.mark.parametrize("page", ["agent", "provider", "identityprovider", "paymentaccount"])
def test_what_was_configured_is_switched_off_and_not_deleted(admin: Client, rows: Rows, page: str) -> None:
    row = getattr(rows, {"identityprovider": "openid", "paymentaccount": "account"}.get(page, page))
    assert admin.post(f"/admin/elicit_flows/{page}/{quote(row.pk)}/delete/", {"post": "yes"}).status_code == 403
    row.refresh_from_db()


def test_t119_the_log_outlives_its_operators_and_cannot_be_changed(admin: Client, olga: User, rows: Rows) -> None:
    act(admin, "connection", "revoke", rows.connection.pk)
    [entry] = LogEntry.objects.all()
    assert admin.post(f"/admin/auth/user/{olga.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(f"/admin/admin/logentry/{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(f"/admin/admin/logentry/{entry.pk}/change/", {"change_message": "x"}).status_code == 403
    admin.post("/admin/auth/user/", {"action": "delete_selected", "_selected_action": str(olga.pk), "post": "yes"})
    assert User.objects.count() == 1
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("page", "action"),
    [("connection", "revoke"), ("delivery", "replay"), ("agent", "enable_webhooks"), ("payment", "refund")],
)
def test_an_operator_who_may_only_look_cannot_act(db: None, rows: Rows, page: str, action: str) -> None:
    ole = User.objects.create_user("ole", password="x", is_staff=True)
    ole.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    Delivery.objects.update(status="failed")
    browser = Client()
    browser.force_login(ole)
    assert browser.get(f"/admin/elicit_flows/{page}/").status_code == 200
    browser.post(f"/admin/elicit_flows/{page}/", {"action": action, "_selected_action": str(getattr(rows, page).pk)})
    rows.refresh()
    assert rows.connection.status == "active"
    assert rows.delivery.status == "failed"
    assert rows.payment.refunds.count() == 1
    assert browser.post(f"/admin/elicit_flows/agent/{rows.agent.pk}/key/").status_code == 403
    assert rows.agent.key_hash == ids.digest(API_KEY)
    assert LogEntry.objects.count() == 0
