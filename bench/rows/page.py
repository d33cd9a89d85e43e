"""The connect page: what a phone on a slow network loads before its owner sees something."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, ViewportSize

from bench.findings import Finding, Goal, LeftOut
from bench.ground import Ground
from bench.plan import Plan
from bench.rounds import Sample, interleaved
from bench.rows.callback import Traveller
from tests.support.browser import PROGRAMS, chromium

TITLE = "Connect page"
# Slow 4G on a middling phone: what Lighthouse calls mobile.
NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}
CPU_SLOWDOWN = 4
PHONE: ViewportSize = {"width": 412, "height": 823}
PAINT = "() => performance.getEntriesByName('first-contentful-paint').at(-1)?.startTime ?? 0"


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    if not any(map(shutil.which, PROGRAMS)):
        raise LeftOut("Chromium: not found (Debian: apt-get install chromium)")
    box = ground.box()
    traveller = Traveller(box, ground.provider)
    traveller.trip()
    link = traveller.ask()
    cookies: list[Any] = [
        {"name": name, "value": value, "url": box.url} for name, value in traveller.user.http.cookies.items()
    ]
    with chromium() as started, started.in_use() as browser:
        found = interleaved(
            plan.rounds, consent=lambda: _visit(browser, link, cookies), signin=lambda: _visit(browser, link, [])
        )
    for page in ("consent", "signin"):
        spread = found.span(page, "paint", "s")
        yield Finding(f"{page}: bytes over the wire", found.median(page, "kB"), "kB", Goal("≤", 30))
        yield Finding(f"{page}: requests", found.median(page, "requests"), "", Goal("≤", 4))
        yield Finding(
            f"{page}: first paint, slow 4G, processor ÷ 4", found.median(page, "paint"), "s", Goal("≤", 1), spread
        )
    box.stop()


def _visit(browser: Browser, link: str, cookies: list[Any]) -> Sample:
    """A first visit, nothing cached: kilobytes as they came over the wire, requests, seconds to the first paint."""
    context = browser.new_context(viewport=PHONE, is_mobile=True, device_scale_factor=2)
    context.add_cookies(cookies)
    page = context.new_page()
    wire, asked, received = context.new_cdp_session(page), [], []
    wire.on("Network.requestWillBeSent", lambda event: asked.append(event["request"]["url"]))
    wire.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    wire.send("Network.enable")
    wire.send("Network.emulateNetworkConditions", NETWORK)
    wire.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWDOWN})
    page.goto(link, wait_until="networkidle")
    page.wait_for_function(f"({PAINT})() > 0")
    paint = float(page.evaluate(PAINT)) / 1000
    context.close()
    return {"kB": sum(received) / 1000, "requests": len(asked), "paint": paint}
