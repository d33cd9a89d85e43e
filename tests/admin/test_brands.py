"""The admin page of a brand: its preview, the rules of the configuration file, and the audit log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from elicit_flows.brands import page_brand
from elicit_flows.lib import clock
from elicit_flows.models import Brand, Picture
from tests.admin.rows import Rows
from tests.brands.files import SVG, png, svg

ADD = "/admin/elicit_flows/brand/add/"
PREVIEW = "/admin/elicit_flows/brand/preview/"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    page_brand.forget()
    yield
    page_brand.forget()


def upload(content: str | bytes, name: str = "logo.svg") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def send(admin: Client, address: str = ADD, **fields: Any) -> Any:
    return admin.post(address, {"radius": "", **fields})


def frames(page: str) -> list[str]:
    return [address.replace("&amp;", "&") for address in re.findall(r'<iframe src="([^"]+)"', page)]


def test_a_brand_is_saved_by_the_rules_of_the_file_and_logged(admin: Client) -> None:
    said = "en: Thanks.\nde: Danke."
    assert send(admin, name="Acme", brand="#0B5CAD", logo=upload(SVG), done=said).status_code == 302
    row = Brand.objects.get()
    assert (row.name, row.brand, row.texts) == ("Acme", "#0b5cad", {"done": {"en": "Thanks.", "de": "Danke."}})
    assert row.logo is not None
    assert page_brand.of().name == "Acme"
    change = f"/admin/elicit_flows/brand/{row.pk}/change/"
    kept = {"logo-kept": row.logo_id, "name": "Acme", "brand": "#0b5cad", "done": said}
    assert send(admin, change, **kept | {"name": "Acme Inc."}).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.logo_id, row.texts["done"]["de"]) == ("Acme Inc.", kept["logo-kept"], "Danke.")
    assert 'Name from "Acme" to "Acme Inc."' in LogEntry.objects.latest("pk").change_message
    assert send(admin, change, **kept, **{"logo-forget": "on"}).status_code == 302
    assert Brand.objects.get().logo is None
    assert Picture.objects.exists(), "an open page may still load it"
    assert "Logo from" in LogEntry.objects.latest("pk").change_message


def test_a_form_that_was_opened_before_takes_no_new_picture_away(admin: Client) -> None:
    """Another operator has replaced one that was there for long, so the former one is gone."""
    send(admin, name="Acme", logo=upload(SVG))
    Picture.objects.update(created_at=clock.now() - timedelta(days=30))
    row = Brand.objects.get()
    change = f"/admin/elicit_flows/brand/{row.pk}/change/"
    opened: dict[str, Any] = {"logo-kept": row.logo_id, "name": "Acme Inc."}
    send(admin, change, name="Acme", logo=upload(png(2, 2), "logo.png"))
    row.refresh_from_db()
    newer = row.logo_id
    assert not Picture.objects.filter(pk=opened["logo-kept"]).exists()
    answer = send(admin, change, **opened)
    assert "This picture was replaced meanwhile. Save again to keep the present one." in answer.text
    assert f'name="logo-kept" value="{newer}"' in answer.text
    assert send(admin, change, **opened | {"logo-kept": newer}).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.logo_id) == ("Acme Inc.", newer)


WRONG = {
    "too little contrast": ({"brand": "#ffdd00"}, "Has a contrast of 1.24:1 as text on the page (#f5f6f4)"),
    "too little in the dark": ({"brand_dark": "#0b5cad"}, "in the dark colours, and needs 4.5:1; take a lighter one"),
    "no colour": ({"brand": "red"}, "Must be a colour such as"),
    "an address that runs": ({"terms_url": "javascript:alert(1)"}, "Must begin with https://"),
    "an unknown language": ({"done": "xx: Hello."}, "Done must be like"),
    "no language": ({"done": "Hello."}, "Done must be like"),
    "a file that is no picture": ({"logo": ("hello", "a.svg")}, "Is neither a PNG nor an SVG"),
    "a large file": ({"icon": (b"\x89PNG" + b"0" * 70_000, "a.png")}, "make it at most 65536"),
    "an entity bomb": ({"logo": ('<!DOCTYPE svg [<!ENTITY a "b">]>' + SVG, "a.svg")}, "has a document type"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_t52_what_the_file_would_refuse_is_refused_here(admin: Client, name: str) -> None:
    fields, said = WRONG[name]
    files = {key: upload(*value) if isinstance(value, tuple) else value for key, value in fields.items()}
    answer = send(admin, name="Acme", **files)
    assert answer.status_code == 200
    shown = answer.content.decode().replace("&quot;", '"')
    assert said.lower() in shown.lower()
    assert not Brand.objects.exists()


def test_there_is_one_of_the_installation_and_one_of_each_agent(admin: Client, rows: Rows) -> None:
    assert send(admin, name="Acme").status_code == 302
    assert "There is one already" in send(admin, name="Other").content.decode()
    assert send(admin, name="Bot Works", agent=rows.agent.pk).status_code == 302
    assert "There is one already" in send(admin, agent=rows.agent.pk).content.decode()
    assert page_brand.of(rows.agent.pk).name == "Bot Works"
    assert "The whole service" in admin.get("/admin/elicit_flows/brand/").content.decode()


def test_a_preview_shows_what_was_sent_and_saves_nothing(admin: Client) -> None:
    active = upload(svg("<script>alert(1)</script>"))
    answer = send(admin, name="Acme & Co", brand="#0b5cad", logo=active, consent_footer="en: Ask us.", _preview="1")
    page = answer.content.decode()
    assert "Nothing is saved yet" in page
    assert "errornote" not in page
    assert not Brand.objects.exists()
    assert not LogEntry.objects.exists()
    logo = Picture.objects.get()
    assert f'name="logo-kept" value="{logo.pk}"' in page, "so that saving it keeps the picture"
    light, dark = frames(page)
    for scheme, address in (("light", light), ("dark", dark)):
        shown = admin.get(address)
        text = shown.content.decode()
        assert 'data-page="consent"' in text
        for part in ("Acme &amp; Co", "Ask us.", logo.address, "Example agent"):
            assert part in text, part
        [style] = re.findall(r'<link rel="stylesheet" href="([^"]+)"', text)
        sheet = admin.get(style).content.decode()
        assert f"color-scheme: {scheme};" in sheet
        assert "prefers-color-scheme" not in sheet
        assert ("@media not all" in sheet) == (scheme == "light")
    assert send(admin, name="Acme", **{"logo-kept": logo.pk}).status_code == 302
    assert Brand.objects.get().logo == logo


def test_a_preview_with_a_fault_says_it_and_shows_the_colours_all_the_same(admin: Client) -> None:
    page = send(admin, name="Acme", brand="#ffdd00", _preview="1").content.decode()
    assert "Has a contrast of 1.24:1" in page
    assert "Nothing is saved yet" not in page
    assert "/brand/style/ffdd00-" in admin.get(frames(page)[0]).content.decode()


def test_t51_only_the_preview_may_stand_in_a_frame_and_only_in_one_of_ours(admin: Client) -> None:
    shown = admin.get(PREVIEW, {"name": "<script>alert(1)</script>", "brand": "red;}", "logo": "x", "radius": "9"})
    assert "frame-ancestors 'self'" in shown["Content-Security-Policy"]
    assert shown["X-Frame-Options"] == "SAMEORIGIN"
    assert "<script>alert" not in shown.content.decode()
    form = admin.get(ADD)
    assert "frame-ancestors 'none'" in form["Content-Security-Policy"]
    assert "frame-src 'self'" in form["Content-Security-Policy"]
    assert form["X-Frame-Options"] == "DENY"
    assert "<iframe" not in admin.get("/admin/elicit_flows/agent/add/").content.decode()


@pytest.mark.parametrize(("role", "adds", "looks_at"), [
    ("administrator", 200, 200), ("operator", 403, 200), ("viewer", 403, 200), ("auditor", 403, 200), (None, 302, 302),
])  # fmt: skip
def test_only_administrators_change_what_people_take_the_service_for(
    db: None, role: str | None, adds: int, looks_at: int
) -> None:
    browser = Client()
    if role:
        person = User.objects.create_user("paul", is_staff=True)
        person.groups.add(Group.objects.get(name=role))
        browser.force_login(person)
    assert browser.get(ADD).status_code == adds
    assert browser.get(PREVIEW).status_code == looks_at
    row = Brand.objects.create(name="Acme")
    send(browser, f"/admin/elicit_flows/brand/{row.pk}/change/", name="Evil")
    row.refresh_from_db()
    assert row.name == ("Evil" if role == "administrator" else "Acme")


def test_a_png_is_taken_as_well(admin: Client) -> None:
    assert send(admin, icon=upload(png(16, 16), "icon.png")).status_code == 302
    assert (Picture.objects.get().media_type, Picture.objects.get().width) == ("image/png", 16)


def test_agents_and_providers_have_pictures_too(admin: Client, rows: Rows) -> None:
    for row, field in ((rows.agent, "logo"), (rows.openid, "icon"), (rows.provider, "logo")):
        name = row._meta.model_name
        page = admin.get(f"/admin/elicit_flows/{name}/{row.pk}/change/").content.decode()
        assert f'<input type="file" name="{field}"' in page
        assert 'enctype="multipart/form-data"' in page
    limits = {f"spend_limits-{part}": "0" for part in ("TOTAL_FORMS", "INITIAL_FORMS")}
    told = {"name": "Bot", "site": "https://bot.example.com", "description": "Sorts your mail.", "logo": upload(SVG)}
    address = f"/admin/elicit_flows/agent/{rows.agent.pk}/change/"
    assert admin.post(address, {**told, **limits, "all_providers": "on", "return_urls": ""}).status_code == 302
    rows.agent.refresh_from_db()
    assert rows.agent.logo == Picture.objects.get()
    assert (rows.agent.site, rows.agent.description) == ("https://bot.example.com", "Sorts your mail.")
    signs_in = {"name": "Acme account", "order": "", "scopes": "openid", "client_id": "elicit"}
    address = f"/admin/elicit_flows/identityprovider/{rows.openid.pk}/change/"
    assert admin.post(address, {**signs_in, "icon": upload(png(), "icon.png")}).status_code == 302
    rows.openid.refresh_from_db()
    assert rows.openid.icon is not None
    assert (rows.openid.name, rows.openid.order) == ("Acme account", 0)
