"""The list of messages to people: by which way, and what became of them; who it was, for those who may see people."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.test import Client

from elicit_flows import vault
from elicit_flows.models import Channel, Contact, Notification
from tests.admin.rows import ALICE, Rows

LIST = "/admin/elicit_flows/notification/"


def test_an_operator_sees_what_became_of_a_message_and_no_address(admin: Client, rows: Rows) -> None:
    contact = Contact(iss=ALICE.iss, sub=ALICE.sub)
    vault.contacts.seal_email(contact, "alice@secret.example")
    contact.save()
    made = {"elicitation": rows.elicitation, "agent": rows.agent}
    Notification.objects.create(**made, channel=Channel.PUSH, outcome=Notification.Outcome.REFUSED)
    Notification.objects.create(**made, channel=Channel.EMAIL)
    shown = admin.get(LIST).text
    for said in ("Web push", "Refused", "E-mail", "Waiting", ALICE.sub):
        assert said in shown
    assert "secret.example" not in shown
    assert admin.get(LIST, {"outcome__exact": "refused"}).text.count("Web push") > 0
    row = Notification.objects.get(channel=Channel.PUSH)
    page = admin.get(f"{LIST}{row.pk.replace('_', '_5F')}/change/").text
    assert "Refused" in page
    assert f"/admin/request/{rows.elicitation.pk}/" in page


def test_t112_a_viewer_does_not_learn_who_was_told(rows: Rows) -> None:
    Notification.objects.create(elicitation=rows.elicitation, agent=rows.agent, channel=Channel.PUSH)
    viewer = User.objects.create_user("vera", is_staff=True)
    viewer.groups.set([Group.objects.get(name="viewer")])
    browser = Client()
    browser.force_login(viewer)
    shown = browser.get(LIST)
    assert "Web push" in shown.text
    for text in (shown.text, browser.get(LIST, {"q": rows.elicitation.sub}).text):
        assert f">{rows.elicitation.sub}<" not in text
    assert "Web push" not in browser.get(LIST, {"q": rows.elicitation.sub}).text.partition("result_list")[2]
