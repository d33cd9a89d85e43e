"""T112: each role on each page and at each action; nobody sees people who need not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote, unquote
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from elicit_flows.admin.roles import ROLES
from elicit_flows.lib import clock, ids
from elicit_flows.models import Agent, Delivery, Elicitation, Payment, Refund
from tests.admin.rows import API_KEY, Rows
from tests.admin.test_secrets import FIELDS, PAGES

CONFIGURED = {"agent", "provider", "identityprovider", "paymentaccount"}
EXPORTED = {"elicitation", "delivery", "payment", "refund"}
PERSON = ("alice-the-person", "alice@drive", "idp-of-alice.example.com", "Words for Alice", "A report for Alice")


@pytest.fixture
def as_role(rows: Rows) -> Callable[[str], Client]:
    def enter(role: str) -> Client:
        user = User.objects.create_user(f"one-{role}", is_staff=True)
        user.groups.set([Group.objects.get(name=role)])
        browser = Client()
        browser.force_login(user)
        return browser

    return enter


def pk(rows: Rows, page: str) -> str:
    """As an address of the admin has it."""
    return quote(str(getattr(rows, FIELDS.get(page, page)).pk))


@pytest.mark.parametrize("role", ROLES)
def test_t112_every_role_sees_every_page_and_changes_what_it_may_alone(
    as_role: Callable[[str], Client], rows: Rows, role: str
) -> None:
    browser, acts = as_role(role), role == "operator"
    for page in PAGES:
        address = f"/admin/elicit_flows/{page}/"
        assert browser.get(address).status_code == 200, page
        shown = browser.get(f"{address}{pk(rows, page)}/change/")
        assert shown.status_code == 200, page
        assert ('name="_save"' in shown.text) == (acts and page in CONFIGURED), page
        assert browser.get(f"{address}add/").status_code == (200 if acts and page in CONFIGURED else 403), page
        assert browser.post(f"{address}{pk(rows, page)}/delete/", {"post": "yes"}).status_code == 403, page
        if not (acts and page in CONFIGURED):
            assert browser.post(f"{address}{pk(rows, page)}/change/", {"enabled": ""}).status_code == 403, page
    assert browser.get("/admin/admin/logentry/").status_code == (403 if role == "viewer" else 200)
    assert browser.get("/admin/auth/user/").status_code == 403, "none makes an operator of anybody"


@pytest.mark.parametrize("role", ROLES)
def test_t112_every_action_is_for_operators_alone(as_role: Callable[[str], Client], rows: Rows, role: str) -> None:
    browser, acts = as_role(role), role == "operator"
    Delivery.objects.update(status="failed")
    Agent.objects.update(webhook_disabled_at=clock.now())
    for page, action in (
        ("agent", "take_back"),
        ("connection", "revoke"),
        ("delivery", "replay"),
        ("payment", "refund"),
    ):
        browser.post(f"/admin/elicit_flows/{page}/", {"action": action, "_selected_action": unquote(pk(rows, page))})
        rows.refresh()
        done = {
            "take_back": rows.agent.webhook_disabled_at is None, "revoke": rows.connection.status == "revoked",
            "replay": rows.delivery.status == "pending", "refund": rows.payment.refunds.count() == 2,
        }  # fmt: skip
        assert done[action] == acts, action
    answer = browser.post(f"/admin/elicit_flows/agent/{rows.agent.pk}/key/")
    rows.refresh()
    assert answer.status_code == (200 if acts else 403)
    assert (rows.agent.key_hash != ids.digest(API_KEY)) == acts
    assert bool(LogEntry.objects.count()) == acts


@pytest.mark.parametrize("role", ROLES)
def test_t112_who_may_only_look_takes_nothing_away(as_role: Callable[[str], Client], rows: Rows, role: str) -> None:
    browser = as_role(role)
    for page in EXPORTED:
        answer = browser.post(
            f"/admin/elicit_flows/{page}/", {"action": "export_csv", "_selected_action": unquote(pk(rows, page))}
        )
        assert answer["Content-Type"].startswith("text/csv") == (role != "viewer"), page


@pytest.fixture
def with_a_person(rows: Rows) -> Rows:
    """The rows, with what tells who she is in every place for it."""
    who = {"sub": PERSON[0], "iss": f"https://{PERSON[2]}"}
    Elicitation.objects.update(
        **who, message=PERSON[3], params={"detail": PERSON[3]}, return_url=f"https://x/{PERSON[0]}"
    )
    Payment.objects.update(**who, description=PERSON[4])
    Refund.objects.update(reason=PERSON[3])
    type(rows.connection).objects.update(**who, account_id=PERSON[1], account_label=PERSON[1])
    return rows.refresh()


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_t112_a_viewer_sees_no_person_on_any_page(
    as_role: Callable[[str], Client], with_a_person: Rows, role: str
) -> None:
    browser, pages = as_role(role), {}
    for page in PAGES:
        for address in (
            f"/admin/elicit_flows/{page}/",
            f"/admin/elicit_flows/{page}/{pk(with_a_person, page)}/change/",
        ):
            pages[address] = browser.get(address).text
    for word in PERSON:
        found = [address for address, text in pages.items() if word in text]
        assert bool(found) == (role == "auditor"), (word, found)


def test_t112_a_viewer_cannot_find_out_about_a_person_by_asking(
    as_role: Callable[[str], Client], with_a_person: Rows
) -> None:
    viewer, auditor = as_role("viewer"), as_role("auditor")
    for page in ("elicitation", "connection", "payment"):
        address, row = f"/admin/elicit_flows/{page}/?q={PERSON[0]}", pk(with_a_person, page)
        assert row in auditor.get(address).text
        assert row not in viewer.get(address).text


def test_the_roles_are_made_so_by_every_migrate(rows: Rows) -> None:
    viewer = Group.objects.get(name="viewer")
    before = set(viewer.permissions.all())
    viewer.permissions.set(Group.objects.get(name="operator").permissions.all())
    call_command("migrate", verbosity=0)
    assert set(viewer.permissions.all()) == before
    assert {one.name for one in Group.objects.all()} == set(ROLES)
