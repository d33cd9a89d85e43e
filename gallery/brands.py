"""Brands to look at the pages with."""

from __future__ import annotations

from elicit_flows.brands import theme
from elicit_flows.brands.page_brand import PageBrand, PageImage

_LOGO = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 120 32'%3E"
    "%3Crect width='120' height='32' rx='8' fill='%235b2a86'/%3E"
    "%3Ccircle cx='16' cy='16' r='7' fill='%23fff'/%3E%3C/svg%3E"
)
PICTURE = PageImage(
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 40'%3E"
    "%3Crect width='40' height='40' rx='10' fill='%231f5fbf'/%3E%3C/svg%3E", 40, 40,
)  # fmt: skip
_SHEET = theme.sheet_name("#5b2a86", "", "0.5rem")
BRANDS = {
    "plain": PageBrand("Elicit Flows"),
    "violet": PageBrand(
        "Violet",
        legal_name="Violet Works GmbH",
        logo=PageImage(_LOGO, 120, 32),
        style_url=f"/brand/style/{_SHEET}/{theme.sheet_digest(_SHEET)}.css",
        support_url="https://violet.example/help",
        privacy_url="https://violet.example/privacy",
        terms_url="https://violet.example/terms",
        secured_by=True,
        said={"consent_footer": {"en": "Violet checks every assistant before it may ask you."}},
    ),
}
