"""T112: what each role can do on each page and with each action. Only roles that need to see people see them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote, unquote
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from elicit_flows.admin.roles import ROLES
from elicit_flows.lib import clock, ids
from elicit_flows.models import (
    Agent,
    Delivery,
    Elicitation,
    IdentityProvider,
    Invitation,
    Member,
    Passkey,
    Payment,
    Provider,
    Refund,
)
from tests.admin.rows import API_KEY, Rows
from tests.admin.test_secrets import FIELDS, PAGES

TRUSTED = {"provider", "identityprovider", "paymentaccount"}
CONFIGURED = {"operator": {"agent"}, "administrator": {"agent", *TRUSTED}}
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
    browser, mine = as_role(role), CONFIGURED.get(role, set())
    for page in PAGES:
        address = f"/admin/elicit_flows/{page}/"
        assert browser.get(address).status_code == 200, page
        shown = browser.get(f"{address}{pk(rows, page)}/change/")
        assert shown.status_code == 200, page
        assert ('name="_save"' in shown.text) == (page in mine), page
        assert browser.get(f"{address}add/?all=yes").status_code == (200 if page in mine else 403), page
        assert browser.post(f"{address}{pk(rows, page)}/delete/", {"post": "yes"}).status_code == 403, page
        if page not in mine:
            assert browser.post(f"{address}{pk(rows, page)}/change/", {"enabled": ""}).status_code == 403, page
    assert browser.get("/admin/admin/logentry/").status_code == (403 if role == "viewer" else 200)
    assert browser.get("/admin/auth/user/").status_code == 403, "none makes an operator of anybody"


@pytest.mark.parametrize("role", ROLES)
def test_t112_every_action_is_for_operators_alone(as_role: Callable[[str], Client], rows: Rows, role: str) -> None:
    browser, acts = as_role(role), role in CONFIGURED
    Delivery.objects.update(status="failed")
    Agent.objects.update(webhook_disabled_at=clock.now())
    for page, action in (
        ("agent", "enable_webhooks"),
        ("connection", "revoke"),
        ("delivery", "replay"),
        ("payment", "refund"),
    ):
        browser.post(f"/admin/elicit_flows/{page}/", {"action": action, "_selected_action": unquote(pk(rows, page))})
        rows.refresh()
        done = {
            "enable_webhooks": rows.agent.webhook_disabled_at is None, "revoke": rows.connection.status == "revoked",
            "replay": rows.delivery.status == "pending", "refund": rows.payment.refunds.count() == 2,
        }  # fmt: skip
        assert done[action] == acts, action
    answer = browser.post(f"/admin/elicit_flows/agent/{rows.agent.pk}/key/")
    rows.refresh()
    assert answer.status_code == (200 if acts else 403)
    assert (rows.agent.key_hash != ids.digest(API_KEY)) == acts
    assert bool(LogEntry.objects.count()) == acts


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("page", sorted(TRUSTED))
def test_t131_t132_an_operator_switches_off_what_only_an_administrator_changes(
    as_role: Callable[[str], Client], rows: Rows, role: str, page: str
) -> None:
    browser, row = as_role(role), getattr(rows, FIELDS.get(page, page))
    address = f"/admin/elicit_flows/{page}/{row.pk}"
    acts = role in CONFIGURED
    assert (f"{address}/switch/" in browser.get(f"{address}/change/").text) == acts
    assert browser.post(f"{address}/switch/", {"to": "off"}).status_code == (302 if acts else 403)
    row.refresh_from_db()
    assert row.enabled != acts
    moved = {"issuer": "https://evil.example.com", "api_base": "https://evil.example.com", "name": "x"}
    assert (browser.post(f"{address}/change/", moved).status_code == 403) == (role != "administrator")
    row.refresh_from_db()
    assert "evil" not in str(vars(row))


@pytest.mark.parametrize(("role", "links"), [("operator", 0), ("administrator", 1)])
def test_t132_only_an_administrator_makes_an_invitation_for_somebody_who_has_a_passkey(
    as_role: Callable[[str], Client], role: str, links: int
) -> None:
    browser, ines = as_role(role), Member.objects.create(name="Ines")
    address = f"/admin/elicit_flows/member/{ines.pk}/invite/"
    assert "/invitation#" in browser.post(address).text
    Passkey.objects.create(member=ines, credential_id="x", credential_hash="x", public_key="x")
    before = Invitation.objects.count()
    browser.post(address, {"forget": "yes"})
    assert ines.passkeys.count() == 1 - links
    assert Invitation.objects.count() - before in {0, links}
    noted = [one.get_change_message() for one in LogEntry.objects.order_by("pk")]
    assert noted == ["Made an invitation.", "Made an invitation, and deleted the passkeys."][: 1 + links]
    if not links:
        assert "only an administrator" in browser.get(f"/admin/elicit_flows/member/{ines.pk}/change/").text


def test_t132_nor_for_somebody_whose_passkeys_were_deleted(
    as_role: Callable[[str], Client], rows: Rows, settings: Settings
) -> None:
    ines = Member.objects.create(name="Ines")
    address = f"/admin/elicit_flows/member/{ines.pk}/invite/"
    owner = {"iss": settings.ELICIT_PUBLIC_URL, "sub": ines.sub}
    type(rows.connection).objects.filter(pk=rows.connection.pk).update(**owner)
    browser = as_role("operator")
    browser.post(address)
    assert not Invitation.objects.exists()
    assert "only an administrator" in browser.get(f"/admin/elicit_flows/member/{ines.pk}/change/").text
    assert "/invitation#" in as_role("administrator").post(address).text


def test_who_is_switched_off_is_not_invited(as_role: Callable[[str], Client]) -> None:
    """The link would lead nowhere."""
    ines = Member.objects.create(name="Ines", enabled=False)
    answer = as_role("operator").post(f"/admin/elicit_flows/member/{ines.pk}/invite/", follow=True)
    assert "Ines is off." in answer.text
    assert not Invitation.objects.exists()


@pytest.mark.parametrize("role", ["operator", "administrator"])
def test_t132_only_an_administrator_gives_a_site_other_keys_and_the_log_has_both(
    as_role: Callable[[str], Client], role: str
) -> None:
    """Whoever has the site's keys can sign in as any of its users."""
    said = {"sign_in_url": "https://shop.example.com/vouch", "jwks_url": "https://shop.example.com/keys"}
    row = IdentityProvider.objects.create(slug="shop", sort="site", issuer="https://shop.example.com", **said)
    moved = {**said, "jwks_url": "https://evil.example.com/keys", "enabled": "on"}
    answer = as_role(role).post(f"/admin/elicit_flows/identityprovider/{row.pk}/change/", moved)
    row.refresh_from_db()
    if role == "operator":
        assert (answer.status_code, row.jwks_url) == (403, said["jwks_url"])
    else:
        assert row.jwks_url == moved["jwks_url"]
        noted = LogEntry.objects.latest("pk").get_change_message()
        assert f'from "{said["jwks_url"]}" to "{moved["jwks_url"]}"' in noted


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


HOSTILE = "Pay \u202eRUE 1\u202c to \u200bBob\u2066\x1b"


def test_t145_direction_marks_are_spelled_on_every_page_of_the_admin(
    as_role: Callable[[str], Client], rows: Rows
) -> None:
    Elicitation.objects.update(message=HOSTILE, sub=HOSTILE, metadata={"x": HOSTILE}, params={"detail": HOSTILE})
    Payment.objects.update(description=HOSTILE, sub=HOSTILE)
    Refund.objects.update(reason=HOSTILE)
    Agent.objects.update(name=HOSTILE)
    Provider.objects.update(name=HOSTILE)
    type(rows.connection).objects.update(account_label=HOSTILE, sub=HOSTILE)
    browser, spelled = as_role("administrator"), set()
    lists = [f"/admin/elicit_flows/{page}/" for page in PAGES]
    for address in [
        "/admin/",
        "/admin/admin/logentry/",
        f"/admin/request/{rows.elicitation.pk}/",
        f"/admin/person/{rows.elicitation.pk}/",
        "/admin/audit/?what=made",
        "/admin/audit/?what=payments",
        *lists,
        *(f"{one}{pk(rows, one.split('/')[3])}/change/" for one in lists),
    ]:
        text = browser.get(address).text
        assert not [mark for mark in "\u202e\u202c\u200b\u2066\x1b" if mark in text], address
        if "Pay [U+202E]RUE 1[U+202C] to [U+200B]Bob[U+2066][U+001B]" in text:
            spelled.add(address)
    found = browser.post("/admin/search/", {"q": rows.agent.slug}).text
    assert "\u202e" not in found
    assert "[U+202E]" in found
    for page in ("agent", "elicitation", "payment", "refund", "connection", "provider"):
        assert {one for one in spelled if f"/{page}/" in one}, page
    assert len([one for one in spelled if one.startswith(("/admin/request", "/admin/person", "/admin/audit"))]) == 4


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
        row = with_a_person.elicitation.pk if page == "elicitation" else row  # as in the address of its own page
        assert row in auditor.get(address).text
        assert row not in viewer.get(address).text


def test_the_roles_are_made_so_by_every_migrate(rows: Rows) -> None:
    viewer = Group.objects.get(name="viewer")
    before = set(viewer.permissions.all())
    viewer.permissions.set(Group.objects.get(name="operator").permissions.all())
    call_command("migrate", verbosity=0)
    assert set(viewer.permissions.all()) == before
    assert {one.name for one in Group.objects.all()} == set(ROLES)
