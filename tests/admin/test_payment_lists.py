"""The lists of subscriptions, mandates and authorizations: what goes on after one payment, and whose it is."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.test import Client

from elicit_flows.admin.base import admin_url, list_url
from elicit_flows.models import Authorization, Mandate, PaymentAccount, Renewal, Subscription
from tests.admin.rows import ALICE, Rows
from tests.cast import program
from tests.support import money
from tests.support.rows import Known

SHOWN: dict[type[Model], tuple[str, ...]] = {
    Subscription: ("Past due", "€19.99"),
    Mandate: ("Active", "€50.00"),
    Authorization: ("Reserved", "0.01\xa0USDC", "eip155:84532"),
}


@pytest.fixture
def going(rows: Rows) -> dict[type[Model], Model]:
    """One of each, of Alice's."""
    owner = Known(rows.agent, program(rows.agent.slug))
    PaymentAccount.objects.filter(pk=rows.account.pk).update(allow_mandates=True)
    subscription = money.subscription(owner, rows.account, ALICE, status="past_due")
    money.renewal(subscription)
    allowed = money.mandate(owner, rows.account, ALICE)
    money.charge(allowed)
    return {
        Subscription: subscription,
        Mandate: allowed,
        Authorization: money.authorization(owner, money.wallet(), ALICE),
    }


@pytest.fixture
def viewer(going: dict[type[Model], Model]) -> Client:
    """May see the state of the service, and no people."""
    user = User.objects.create_user("vera", is_staff=True)
    user.groups.set([Group.objects.get(name="viewer")])
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.mark.parametrize("model", SHOWN)
def test_an_operator_finds_it_in_its_list_by_its_id_and_on_a_page_with_the_way_to_the_person(
    admin: Client, going: dict[type[Model], Model], model: type[Model]
) -> None:
    row = going[model]
    shown = admin.get(list_url(model)).text
    for said in (*SHOWN[model], ALICE.sub, str(row.pk)):
        assert said in shown, said
    assert str(row.pk) not in admin.get(list_url(model, q="another")).text
    found = admin.post("/admin/search/", {"q": row.pk})
    assert found["Location"] == admin_url(row)
    page = admin.get(admin_url(row)).text
    assert f'href="/admin/person/{row.pk}/"' in page
    assert admin.get(f"/admin/person/{row.pk}/").status_code == 200
    assert admin.post(admin_url(row), {"status": "ended"}).status_code == 403, "it is looked at here"


@pytest.mark.parametrize("model", SHOWN)
def test_what_an_operator_did_on_the_page_that_it_leads_to_is_found_by_the_person(
    admin: Client, going: dict[type[Model], Model], rows: Rows, model: type[Model]
) -> None:
    """The log names the row that led there, and no person."""
    admin.post(f"/admin/person/{going[model].pk}/", {"action": "end_sessions"})
    for asked in (f"person={rows.elicitation.pk}", f"agent={rows.agent.slug}"):
        assert "Ended all sessions of the person." in admin.get(f"/admin/audit/?what=acts&{asked}").text, asked


def test_a_subscription_shows_its_renewals_and_a_mandate_its_charges(
    admin: Client, going: dict[type[Model], Model]
) -> None:
    renewal = Renewal.objects.get()
    page = admin.get(admin_url(going[Subscription])).text
    for said in (renewal.pk, "Failed", "A report", "month", "usable without payment until"):
        assert said in page.lower() or said in page, said
    page = admin.get(admin_url(going[Mandate])).text
    for said in ("A ticket", "€0.01", "€20.00", "€50.00", "visa 4242"):
        assert said in page, said


@pytest.mark.parametrize("model", SHOWN)
def test_it_is_exported_as_csv(admin: Client, going: dict[type[Model], Model], model: type[Model]) -> None:
    row = going[model]
    answer = admin.post(list_url(model), {"action": "export_csv", "_selected_action": row.pk})
    [line] = csv.DictReader(io.StringIO(answer.text))
    assert (line["id"], line["sub"], line["agent"]) == (row.pk, ALICE.sub, "drive-bot")


@pytest.mark.parametrize("model", SHOWN)
def test_t112_a_viewer_does_not_learn_whose_it_is(
    viewer: Client, going: dict[type[Model], Model], model: type[Model]
) -> None:
    row = going[model]
    for text in (viewer.get(list_url(model)).text, viewer.get(admin_url(row)).text):
        assert str(row.pk) in text
        for hidden in (f">{ALICE.sub}<", "weather.example", "Train tickets", "A ticket", "A report", "visa 4242"):
            assert hidden not in text, hidden
    asked = {"action": "export_csv", "_selected_action": row.pk}
    assert "Content-Disposition" not in viewer.post(list_url(model), asked)
