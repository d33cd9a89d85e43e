"""Roughly which browser somebody uses, for their list of sessions. Versions and devices are nobody's business."""

from __future__ import annotations

import re
from collections.abc import Mapping

# The first that is found counts: most browsers also say that they are Chrome and Safari.
BROWSERS = {
    "Edge": r"\b(?:Edg|Edge|EdgA|EdgiOS)/",
    "Opera": r"\b(?:OPR|Opera|OPT)/",
    "Samsung Internet": r"\bSamsungBrowser/",
    "Firefox": r"\b(?:Firefox|FxiOS)/",
    "Chrome": r"\b(?:Chrome|Chromium|CriOS|HeadlessChrome)/",
    "Safari": r"\bSafari/",
}
SYSTEMS = {
    "iPhone": r"\biPhone\b",
    "iPad": r"\biPad\b",
    "Android": r"\bAndroid\b",
    "Windows": r"\bWindows\b",
    "ChromeOS": r"\bCrOS\b",
    "macOS": r"\bMacintosh\b",
    "Linux": r"\b(?:Linux|X11)\b",
}


def named(headers: Mapping[str, str]) -> tuple[str, str]:
    """The names of the browser and of its system, such as Firefox and Windows; "" for what is not known."""
    said = headers.get("User-Agent", "")[:1000]
    browser, system = (
        next((name for name, pattern in patterns.items() if re.search(pattern, said)), "")
        for patterns in (BROWSERS, SYSTEMS)
    )
    return browser, system
