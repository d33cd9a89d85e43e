"""The buttons of the sign-in page: their names, their pictures and their order."""

from __future__ import annotations

import pytest

from elicit_flows.brands import pictures
from elicit_flows.models import IdentityProvider
from elicit_flows.web import pages
from tests.brands.files import SVG, png


@pytest.mark.django_db
def test_identity_providers_come_in_the_operators_order_under_their_names() -> None:
    large = SVG.replace("<title>", "<title>" + "x" * 4000)
    for slug, name, order, raw in (
        ("a", "", 3, None), ("b", "", 3, png()), ("corp", "Acme account", 1, large.encode()),
    ):  # fmt: skip
        icon = pictures.store(pictures.read(raw)) if raw else None
        IdentityProvider.objects.create(
            slug=slug, issuer=f"https://{slug}.example", name=name, order=order, icon=icon
        )  # fmt: skip
    corp, a, b = pages.choices()
    assert [one["label"] for one in (corp, a, b)] == ["Acme account", "a", "b"]
    assert corp["icon"].address.startswith("/brand/picture/"), "a large one is loaded once, and kept"
    assert a["icon"] is None
    assert b["icon"].address.startswith("data:image/png;base64,")
