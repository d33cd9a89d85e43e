"""``[brand]`` and the pictures and names beside it in ``manage.py apply``, and back out of ``export``."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import IntegrityError, transaction

from elicit_flows.brands import page_brand, pictures
from elicit_flows.brands.theme import DARK, nearest
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Brand, IdentityProvider, Picture, Provider
from tests.brands.files import SVG, svg
from tests.management.files import Operator

WHOLE = """\
[brand]
name = "Acme"
legal_name = "Acme GmbH, Berlin"
logo = "file:FOLDER/logo.svg"
icon = "file:FOLDER/icon.png"
brand = "#0B5CAD"
radius = "0.5rem"
support_url = "https://acme.example/help"
support_email = "help@acme.example"
privacy_url = "https://acme.example/privacy"
terms_url = "https://acme.example/terms"

[brand.texts]
signin_intro = { en = "Hello.", de = "Hallo." }
done = { de = "Fertig." }
"""
ROWS = """
[[identity_provider]]
slug = "corp"
name = "Acme account"
icon = "file:FOLDER/icon.png"
order = 2
issuer = "https://idp.example.com"
client_id = "elicit"

[[provider]]
slug = "openai"
preset = "openai"
logo = "file:FOLDER/logo.svg"

[[agent]]
slug = "bot"
logo = "file:FOLDER/logo.svg"
site = "https://bot.example.com"
description = "Sorts your mail."
identity_providers = ["corp"]

[agent.brand]
name = "Bot Works"
brand = "#8a1c5b"
texts = { done = { en = "Thank you." } }
"""


def apply(operator: Operator, text: str, *options: str) -> list[str]:
    ran = operator.apply(text.replace("FOLDER", str(operator.file.parent)), *options)
    assert ran.failed == 0, ran
    return ran.lines


def test_a_brand_is_made_and_shown(operator: Operator) -> None:
    assert apply(operator, WHOLE) == ["brand: made"]
    assert apply(operator, WHOLE) == ["brand: as it was"]
    look, logo = page_brand.of(), Picture.objects.get(media_type="image/svg+xml")
    assert (look.name, look.legal_name, look.support_email) == ("Acme", "Acme GmbH, Berlin", "help@acme.example")
    assert look.logo == page_brand.PageImage(f"/brand/picture/{logo.pk}", 300, 100)
    assert look.style_url.startswith(f"/brand/style/0b5cad-{nearest('#0b5cad', DARK)[1:]}-1/")
    assert look.secured_by
    assert look.texts["signin_intro"] == page_brand.PageText("Hello.", "en", False)
    assert look.texts["done"] == page_brand.PageText("Fertig.", "de", False), "a text in another language says which"
    assert "consent_footer" not in look.texts
    [entry] = LogEntry.objects.all()
    assert 'name "Acme"' in entry.change_message


def test_without_a_brand_the_pages_are_as_ours(db: None) -> None:
    assert page_brand.of() == page_brand.PageBrand("Elicit Flows")


def test_an_agents_own_brand_replaces_what_it_names(operator: Operator) -> None:
    apply(operator, WHOLE + ROWS)
    agent = Agent.objects.get()
    look = page_brand.of(agent.pk)
    assert (look.name, look.legal_name, look.privacy_url) == (
        "Bot Works", "Acme GmbH, Berlin", "https://acme.example/privacy",
    )  # fmt: skip
    assert look.style_url.startswith("/brand/style/8a1c5b-"), "with a dark colour of its own"
    assert look.logo is not None
    assert look.texts["done"].text == "Thank you."
    assert page_brand.of().name == "Acme"
    assert (agent.site, agent.description) == ("https://bot.example.com", "Sorts your mail.")
    assert agent.logo == Provider.objects.get().logo
    corp = IdentityProvider.objects.get()
    assert (corp.name, corp.order, corp.icon_id) == ("Acme account", 2, Brand.objects.get(agent=None).icon_id)
    without = ROWS.partition("[agent.brand]")[0]
    ran = operator.apply((WHOLE + without).replace("FOLDER", str(operator.file.parent)), "--skip-checks")
    assert "agent bot: brand.name would be emptied" in ran.said
    apply(operator, WHOLE + without, "--yes")
    assert page_brand.of(agent.pk).name == "Acme"
    assert Brand.objects.count() == 1


def test_export_writes_it_with_its_pictures_and_apply_takes_it_back(operator: Operator) -> None:
    apply(operator, WHOLE + ROWS)
    exported = operator.export()
    assert 'logo = "data:image/svg+xml;base64,' in exported
    assert {line.partition(": ")[2] for line in apply(operator, exported, "--skip-checks")} == {"as it was"}
    for model in (Brand, Agent, Provider, IdentityProvider, Picture):
        model._default_manager.all().delete()
    apply(operator, exported)
    assert operator.export() == exported.replace(
        "begins with " + exported.partition("begins with ")[2][:6], "begins with " + Agent.objects.get().key_hint
    )


def test_what_is_taken_out_of_a_logo_is_said(operator: Operator) -> None:
    (operator.file.parent / "logo.svg").write_text(svg("<script>1</script>", 'onload="x()"'))
    assert apply(operator, WHOLE) == ["brand: made", "brand: logo: taken out: <script>, onload"]


def test_pictures_that_nothing_shows_go_after_a_day(operator: Operator) -> None:
    apply(operator, WHOLE)
    (operator.file.parent / "logo.svg").write_text(SVG.replace("120", "121"))
    assert apply(operator, WHOLE) == ["brand: changed logo"]
    assert Picture.objects.count() == 3, "a page that is open may still load it"
    Picture.objects.update(created_at=clock.now() - timedelta(days=2))
    pictures.remove_unused()
    assert set(Picture.objects.values_list("pk", flat=True)) == {
        Brand.objects.get().logo_id, Brand.objects.get().icon_id,
    }  # fmt: skip


def test_there_is_one_brand_of_the_installation(db: None) -> None:
    Brand.objects.create()
    with pytest.raises(IntegrityError), transaction.atomic():
        Brand.objects.create()


FAULTS = {
    'brand = "#ffdd00"': "has a contrast of 1.24:1 as text on the page (#f5f6f4) in the light colours, and needs 4.5:1",
    'brand_dark = "#0b5cad"': "in the dark colours, and needs 4.5:1; take a lighter one, such as #",
    'brand = "blue"': 'must be a colour such as "#0b5cad"',
    'logo = "file:nowhere.svg"': "names the file nowhere.svg, which cannot be read (No such file or directory)",
    'logo = "https://acme.example/logo.svg"': "must be file:PATH of a PNG or an SVG",
    'logo = "data:image/png;base64,AAAA"': "is neither a PNG nor an SVG in UTF-8",
    'radius = "2rem"': 'must be one of: "0", "0.5rem", "1rem"',
    'support_url = "javascript:alert(1)"': "must begin with https:// and name a host",
    'support_email = "nobody"': "must be an e-mail address",
    'texts = { done = { xx = "x" } }': "done must be like",
    'texts = { done = { en = "a\\nb" } }': "done in en must be one line of text, 1 to 500 characters",
    'texts = { other = { en = "x" } }': "must have signin_intro, consent_footer, done",
    "hide_secured_by = 1": "must be true or false",
    'color = "#0b5cad"': "there is no such key here",
}  # fmt: skip


@pytest.mark.parametrize("line", FAULTS)
def test_a_wrong_value_is_refused_with_its_line(operator: Operator, line: str) -> None:
    [said] = operator.faults(f'[brand]\nname = "Acme"\n{line}\n')
    key = line.partition(" ")[0]
    assert said.startswith(f"3: {key}: ")
    assert FAULTS[line] in said
    assert not Brand.objects.exists()


def test_a_wrong_value_of_an_agents_brand_is_refused_too(operator: Operator) -> None:
    [said] = operator.faults('[[agent]]\nslug = "bot"\n\n[agent.brand]\nbrand = "#ffdd00"\n')
    assert said.startswith("4: brand: brand has a contrast of 1.24:1")
    [said] = operator.faults('[[agent]]\nslug = "bot"\nbrand = { colour = "#000000" }\n')
    assert said.startswith("3: brand: must be a table with keys of [brand]")


def test_a_brand_is_written_once(operator: Operator) -> None:
    assert operator.faults('[[brand]]\nname = "A"\n') == ["1: brand: write it once, under [brand]"]
