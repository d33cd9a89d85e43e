"""What the context of every page has."""

from __future__ import annotations

from typing import Any

from elicit_flows.brands.page_brand import PageBrand

Context = dict[str, Any]


def everywhere() -> Context:
    languages = [
        {"code": "ar", "name": "العربيّة", "right_to_left": True, "current": False},
        {"code": "en", "name": "English", "right_to_left": False, "current": True},
    ]
    return {
        "brand": PageBrand("Elicit Flows"),
        "allow_loopback": False,
        "csrf_token": "t" * 64,
        "status": "",
        "languages": languages,
        "same_page": "/c/el_1",
        "timezone_cookie": "timezone",
    }
